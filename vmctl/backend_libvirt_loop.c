/*
 * libvirt's default event loop on a thread of its own. Without one, keepalive
 * is not possible, and a daemon that hangs would hold every call for ever.
 *
 * The loop belongs to the process (libvirt knows one implementation), so it is
 * registered once; a timer that never fires on its own is what wakes it for
 * its end.
 */
#include "vmctl/backend_libvirt_impl.h"

#include <errno.h>
#include <stdatomic.h>

static struct {
	pthread_once_t once;
	int registered; /* virEventRegisterDefaultImpl()'s result */
	int timer;
	pthread_t thread;
	atomic_bool ending;
} loop = {.once = PTHREAD_ONCE_INIT};

static void on_timer(int timer, void *ctx)
{
	(void)timer;
	(void)ctx;
	virEventUpdateTimeout(loop.timer, -1);
}

static void register_impl(void)
{
	loop.registered = virEventRegisterDefaultImpl();
	if (loop.registered == 0)
		loop.timer = virEventAddTimeout(-1, on_timer, NULL, NULL);
}

static void *run(void *arg)
{
	(void)arg;
	while (!atomic_load(&loop.ending) && virEventRunDefaultImpl() == 0)
		;
	return NULL;
}

int bl_loop_start(struct err *e)
{
	int rc;

	pthread_once(&loop.once, register_impl);
	if (loop.registered != 0 || loop.timer < 0)
		return bl_fail(e, "libvirt's events", "");
	atomic_store(&loop.ending, false);
	rc = pthread_create(&loop.thread, NULL, run, NULL);
	if (rc != 0) {
		errno = rc;
		return err_sys(e, "a thread for libvirt's events");
	}
	return 0;
}

void bl_loop_stop(void)
{
	atomic_store(&loop.ending, true);
	virEventUpdateTimeout(loop.timer, 0);
	pthread_join(loop.thread, NULL);
}
