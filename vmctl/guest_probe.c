#include "vmctl/guest_probe.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "vmctl/guest_dial.h"

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

/* libssh wants one; it is not sent before a login */
#define USER "nobody"

static int wait_for(const struct guest_probe *p, int fd, short events,
		    struct deadline d, struct err *e)
{
	struct pollfd fds[] = {{.fd = fd, .events = events},
			       {.fd = p->cancel_fd, .events = POLLIN}};

	if (deadline_poll(fds, 2, d, "waiting for its host key", e) < 0 ||
	    deadline_check(d, "waiting for its host key", e))
		return -1;
	return fds[1].revents ? err_set(e, ERR_CANCELLED, "cancelled") : 0;
}

static int exchange(const struct guest_probe *p, ssh_session ssh,
		    struct deadline d, struct err *e)
{
	struct ssh_counter_struct counter = {0};
	int rc;

	ssh_set_counters(ssh, &counter, NULL);
	while ((rc = guest_dial_step(p->name, ssh, e)) == 0) {
		short events = POLLIN;

		if (counter.in_bytes > LIMIT_GUEST_HELLO_LEN)
			rc = err_set(e, ERR_PROTOCOL,
				     "%s broke the ssh protocol: it talks and "
				     "talks, but does not say its key",
				     p->name);
		else if (ssh_get_poll_flags(ssh) & SSH_WRITE_PENDING)
			events |= POLLOUT;
		if (rc || wait_for(p, ssh_get_fd(ssh), events, d, e)) {
			rc = -1;
			break;
		}
	}
	ssh_set_counters(ssh, NULL, NULL);
	return rc < 0 ? -1 : 0;
}

int guest_probe_key(const struct guest_probe *p, struct deadline d,
		    char **ret_line, struct err *e)
{
	autoclose int fd = guest_dial(p->name, p->address, p->port, e);
	autofree char *key = NULL;
	ssh_session ssh;
	int rc;

	if (fd < 0 || wait_for(p, fd, POLLOUT, d, e))
		return -1;
	ssh = guest_dial_ssh(p->name, USER, fd, e);
	if (!ssh)
		return -1;
	(void)TAKE_FD(fd);
	rc = exchange(p, ssh, d, e);
	if (rc == 0) {
		key = guest_dial_key(ssh);
		if (key)
			*ret_line = alloc_printf("ssh-ed25519 %s", key);
		else
			rc = err_set(e, ERR_PROTOCOL, "%s shows no host key",
				     p->name);
	}
	ssh_free(ssh); /* closes the socket, without a farewell */
	return rc;
}
