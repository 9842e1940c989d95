/*
 * An ssh agent lent to a guest: the one thing that a guest may open to us.
 *
 * libssh hands us such a request in a session callback (all others still go to
 * guest_session.c's refusal), and wants a fresh channel back. The channel that
 * holds the session has a socket on which the stream's other end is sent to
 * whoever lends the agent; when that is full, or too many are open, the guest
 * is refused. From there on it is pumped like any other stream. It is put at the end of
 * the list of channels at once, which may be being walked: a session that dies
 * must find all that are its own.
 */
#include "vmctl/guest_ssh.h"

#include "base/alloc.h"
#include "base/fd.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* of one session, at once */
#define STREAMS_COUNT 16

static struct guest_chan *find_holder(struct guest_session *s)
{
	struct guest_chan *c = s->g->chans;

	while (c && (c->session != s || c->agent_fd < 0))
		c = c->next;
	return c;
}

static bool send_fd(int to, int fd)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(to, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

static void add_channel(struct guest *g, struct guest_chan *c)
{
	struct guest_chan **tail = &g->chans;

	while (*tail)
		tail = &(*tail)->next;
	*tail = c;
}

static struct guest_chan *new_stream(struct guest_session *s, int fd)
{
	struct guest_chan *c =
		guest_chan_new(s->g, GUEST_AGENT, s->role,
			       alloc_str("an ssh agent"),
			       deadline_in_ms(DEADLINE_MAX_MS));

	c->refs = 1; /* the thread's: nobody else knows of it */
	c->in_fd = c->out.fd = fd;
	c->session = s;
	c->phase = GUEST_LIVE;
	c->opened = true;
	if (guest_chan_attach(c)) {
		add_channel(s->g, c);
		return c;
	}
	c->session = NULL;
	guest_chan_finish(c);
	guest_chan_unref(c);
	return NULL;
}

/* For libssh: the channel, or NULL to refuse. */
static ssh_channel on_open(ssh_session ssh, void *session)
{
	struct guest_session *s = session;
	const struct guest_chan *holder = find_holder(s);
	struct guest_chan *c = NULL;
	int fds[2];

	(void)ssh;
	if (!holder || s->unix_count >= STREAMS_COUNT || fd_pair(fds, NULL))
		return NULL;
	if (fd_set_nonblock(fds[0], NULL) == 0 &&
	    fd_set_nonblock(fds[1], NULL) == 0 &&
	    send_fd(holder->agent_fd, fds[0]))
		c = new_stream(s, fds[1]);
	else
		close(fds[1]);
	close(fds[0]);
	return c ? c->ssh->channel : NULL;
}

void guest_agent_offer(struct guest_session *s)
{
	s->lending = ALLOC_NEW(struct ssh_callbacks_struct);
	s->lending->userdata = s;
	s->lending->channel_open_request_auth_agent_function = on_open;
	ssh_callbacks_init(s->lending);
	ssh_set_callbacks(s->ssh, s->lending);
}

void guest_agent_finish(struct guest_session *s)
{
	free(s->lending);
	s->lending = NULL;
}
