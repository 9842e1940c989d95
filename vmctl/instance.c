#include "vmctl/instance.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define RETRY_MS 20

/* Only said to people: the lock itself is what counts. */
static int write_pid(int fd, struct err *e)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)len, 0) != len)
		return err_sys(e, "writing host.lock");
	return 0;
}

static void read_pid(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	text[strspn(text, "0123456789")] = '\0';
}

int instance_lock(const struct home *h, struct deadline d, struct err *e)
{
	autofree char *path = path_join(h->state, "host.lock");
	autoclose int fd =
		open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	char pid[16];

	if (fd < 0)
		return err_sys(e, "%s", path);
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_sys(e, "locking %s", path);
		/* with a socket it runs, without one it is ending */
		if (access(h->socket, F_OK) == 0 || deadline_passed(d)) {
			read_pid(fd, pid, sizeof(pid));
			return err_set(e, ERR_BUSY,
				       "the service runs already (pid %s)",
				       pid);
		}
		deadline_sleep_ms(RETRY_MS);
	}
	if (write_pid(fd, e) != 0)
		return -1;
	return TAKE_FD(fd);
}

int instance_listen(const struct home *h, struct err *e)
{
	autoclose int fd = -1;

	if (unlink(h->socket) != 0 && errno != ENOENT)
		return err_sys(e, "%s", h->socket);
	fd = fd_unix_listen(h->socket, e);
	if (fd < 0 || fd_set_nonblock(fd, e) != 0)
		return -1;
	return TAKE_FD(fd);
}
