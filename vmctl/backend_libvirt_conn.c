/*
 * The connection to libvirt's daemon: one for all threads, made when it is first
 * needed, and again when the daemon was restarted.
 *
 * A daemon may hang. On a connection that stands, libvirt asks every few seconds
 * whether the other end still lives, and without an answer all that wait on it
 * fail. To opening one that does not apply, so a thread of its own does that:
 * calls wait for it, but for one that takes too long nobody waits any more.
 *
 *   closed   conn NULL, !opening: the next caller starts an opener
 *   opening  one opener is at work, whoever needs the connection waits
 *   open     conn
 */
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/log.h"
#include "vmctl/backend_libvirt_impl.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <string.h>

/* a daemon that answers nothing for so long is as good as gone */
#define KEEPALIVE_S 5
#define KEEPALIVE_COUNT 4
#define OPEN_MS 20000

void bl_connection_init(struct backend_libvirt *l)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&l->lock, NULL);
	pthread_mutex_init(&l->lost_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&l->opened, &attr);
	pthread_condattr_destroy(&attr);
}

static int fail_connect(struct err *e)
{
	const virError *last = virGetLastError();
	const char *text = last && last->message ? last->message : "";
	int code = last ? last->code : 0;

	if (strstr(text, "Permission denied") || code == VIR_ERR_AUTH_FAILED ||
	    code == VIR_ERR_AUTH_UNAVAILABLE ||
	    code == VIR_ERR_AUTH_CANCELLED || code == VIR_ERR_ACCESS_DENIED)
		return err_set(e, ERR_DENIED,
			       "libvirt does not let you in: sudo adduser "
			       "\"$USER\" libvirt, log in again, then boxery "
			       "service restart (%s)",
			       text);
	return err_set(e, ERR_UNAVAILABLE,
		       "libvirt does not answer: sudo systemctl start "
		       "libvirtd, or install it: sudo apt-get install "
		       "libvirt-daemon-system; it said: %s",
		       text);
}

/* -- that it broke ----------------------------------------------------------- */

static void tell_lost(struct backend_libvirt *l)
{
	log_warn("the connection to libvirt broke");
	pthread_mutex_lock(&l->lost_lock);
	if (l->lost)
		l->lost(l->lost_ctx);
	pthread_mutex_unlock(&l->lost_lock);
}

static void on_close(virConnectPtr c, int reason, void *ctx)
{
	(void)c;
	if (reason != VIR_CONNECT_CLOSE_REASON_CLIENT)
		tell_lost(ctx);
}

void bl_on_lost(struct backend *b, void (*lost)(void *ctx), void *ctx)
{
	struct backend_libvirt *l = bl_of(b);

	pthread_mutex_lock(&l->lost_lock);
	l->lost = lost;
	l->lost_ctx = ctx;
	pthread_mutex_unlock(&l->lost_lock);
}

/* Asked with a call: virConnectIsAlive() may not have noticed yet that the
 * daemon was restarted. */
static bool alive(virConnectPtr c)
{
	unsigned long version;

	return virConnectGetLibVersion(c, &version) == 0;
}

static void close_connection(struct backend_libvirt *l)
{
	if (!l->conn)
		return;
	virConnectUnregisterCloseCallback(l->conn, on_close);
	virConnectClose(l->conn);
	l->conn = NULL;
}

/* -- opening ----------------------------------------------------------------- */

static void look_after(virConnectPtr c, struct backend_libvirt *l)
{
	if (virConnectSetKeepAlive(c, KEEPALIVE_S, KEEPALIVE_COUNT) < 0 ||
	    virConnectRegisterCloseCallback(c, on_close, l, NULL) < 0)
		log_warn("libvirt's connection is not looked after: %s",
			 virGetLastErrorMessage());
}

static void *open_one(void *arg)
{
	struct backend_libvirt *l = arg;
	virConnectPtr c = virConnectOpen(BL_URI);
	struct err e = {0};

	if (c)
		look_after(c, l);
	else
		(void)!fail_connect(&e);
	pthread_mutex_lock(&l->lock);
	l->conn = c;
	l->open_err = e;
	l->opening = false;
	pthread_cond_broadcast(&l->opened);
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* Lock held. */
static int begin_open(struct backend_libvirt *l, struct err *e)
{
	pthread_t thread;
	int rc;

	if (!l->loops) {
		if (bl_loop_start(e))
			return -1;
		l->loops = true;
	}
	rc = pthread_create(&thread, NULL, open_one, l);
	if (rc != 0) {
		errno = rc;
		return err_sys(e, "a thread to reach libvirt");
	}
	pthread_detach(thread);
	l->opening = true;
	l->open_until = deadline_in_ms(OPEN_MS);
	return 0;
}

/* Lock held. */
static int wait_open(struct backend_libvirt *l, struct err *e)
{
	struct timespec until;

	if (!l->opening && begin_open(l, e))
		return -1;
	until = deadline_timespec(l->open_until);
	while (l->opening && !deadline_passed(l->open_until))
		pthread_cond_timedwait(&l->opened, &l->lock, &until);
	if (l->conn)
		return 0;
	if (l->opening)
		return err_set(e, ERR_UNAVAILABLE,
			       "libvirt hangs, it has not answered for %d s: "
			       "sudo systemctl restart libvirtd (VMs run on)",
			       OPEN_MS / 1000);
	if (e)
		*e = l->open_err;
	return -1;
}

virConnectPtr bl_connect(struct backend_libvirt *l, struct err *e)
{
	virConnectPtr c = NULL;

	pthread_mutex_lock(&l->lock);
	if (l->conn && !alive(l->conn)) {
		close_connection(l);
		tell_lost(l);
	}
	if ((l->conn || wait_open(l, e) == 0) && virConnectRef(l->conn) == 0)
		c = l->conn;
	pthread_mutex_unlock(&l->lock);
	return c;
}

int bl_disconnect(struct backend_libvirt *l)
{
	bool opening;

	pthread_mutex_lock(&l->lock);
	opening = l->opening;
	close_connection(l);
	pthread_mutex_unlock(&l->lock);
	if (opening)
		return -1;
	if (l->loops)
		bl_loop_stop();
	pthread_mutex_destroy(&l->lock);
	pthread_mutex_destroy(&l->lost_lock);
	pthread_cond_destroy(&l->opened);
	return 0;
}
