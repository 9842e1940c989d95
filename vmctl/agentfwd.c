/*
 * The thread polls: its own wake-up, the command that holds the session, the
 * socket on which new streams arrive as fds, and the streams. A stream is, at
 * any time, in one of
 *
 *   ASKING     bytes of a request come from the guest
 *   WAITING    the agent has it (its connection is made for each request, so
 *              that an agent which was restarted is found)
 *   ANSWERING  the answer goes to the guest
 *
 * so a guest that does not read, or an agent that asks its person first, holds
 * up its own stream alone. Freeing wakes the thread, which closes everything:
 * with the command's channel goes the session, and sshd removes the socket.
 */
#include "vmctl/agentfwd.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/path.h"
#include "grants/event.h"
#include "grants/store.h"
#include "vmctl/agentproto.h"
#include "vmctl/apply.h"
#include "vmctl/audit.h"
#include "vmctl/guest.h"
#include "vmctl/machines.h"
#include "vmctl/service.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define START_MS 60000
#define RETRY_FIRST_MS 1000
#define RETRY_MAX_MS 60000
/* a person may have to touch a key, or say yes to the agent */
#define AGENT_MS 120000
#define STREAMS_COUNT 16
#define KEYS_CAP ((size_t)256 * 1024)
#define READ_LEN ((size_t)4096)

/* A link where programs of the guest look (guest/layers/base), for as long as
 * the session lasts. */
static const char holder[] =
	"umask 077; r=/run/user/$(id -u); d=$r/boxery-grants\n"
	"[ -S \"$SSH_AUTH_SOCK\" ] || exit 3\n"
	"[ ! -L \"$d\" ] && mkdir -p \"$d\" && [ -O \"$d\" ] || exit 4\n"
	"rm -rf \"$d/agent\"; ln -s \"$SSH_AUTH_SOCK\" \"$d/agent\" || exit 4\n"
	"trap 'rm -f \"$d/agent\"' EXIT; trap 'exit 0' TERM HUP INT\n"
	"echo up; cat >/dev/null\n";

enum phase { ASKING, WAITING, ANSWERING };

struct stream {
	int fd; /* the guest's, non-blocking; -1: free */
	int up; /* the agent's, -1 */
	enum phase phase;
	enum agentproto_what what;
	struct buf in, out;
	size_t out_at;
	struct deadline by;
};

struct agentfwd {
	struct service *service;
	char vm[LIMIT_NAME_LEN + 1];
	char id[EDGE_ID_LEN + 1];
	char *socket;
	int wake_fd;
	pthread_t thread;
	pthread_mutex_t lock;
	/* lock */
	bool ending, retry, up;
	char why[256];
	/* the thread's */
	struct guest_exec *x;
	struct stream streams[STREAMS_COUNT];
};

/* -- the person's agent -------------------------------------------------------- */

int agentfwd_check_socket(const char *path, struct err *e)
{
	struct stat st;

	if (path[0] != '/')
		return err_set(e, ERR_INVALID,
			       "SSH_AUTH_SOCK: must be a whole path");
	if (stat(path, &st))
		return err_sys(e, "the ssh agent's socket %s", path);
	if (!S_ISSOCK(st.st_mode))
		return err_set(e, ERR_INVALID, "%s: is no socket", path);
	if (st.st_uid != getuid())
		return err_set(e, ERR_DENIED,
			       "%s: is the socket of another user", path);
	return 0;
}

static int connect_agent(const struct agentfwd *f, struct err *e)
{
	autoclose int fd = -1;
	uid_t uid;

	if (agentfwd_check_socket(f->socket, e))
		return -1;
	fd = fd_unix_connect(f->socket, e);
	if (fd < 0 || fd_peer_uid(fd, &uid, e) || fd_set_nonblock(fd, e))
		return -1;
	if (uid != getuid())
		return err_set(e, ERR_DENIED,
			       "%s: another user listens there", f->socket);
	return TAKE_FD(fd);
}

/* NULL: every key. An agent-keys that cannot be read allows none. */
static char *read_keys(const struct agentfwd *f)
{
	autofree char *path =
		path_join(f->service->home.config, "agent-keys");
	struct err e = {0};
	char *text = NULL;
	size_t len;

	if (access(path, F_OK) && errno == ENOENT)
		return NULL;
	if (path_read_file(path, KEYS_CAP, &text, &len, &e)) {
		log_warn("%s", err_msg(&e));
		return alloc_str("");
	}
	return text;
}

/* -- one stream ---------------------------------------------------------------- */

static void close_stream(struct stream *s)
{
	if (s->fd >= 0)
		close(s->fd);
	if (s->up >= 0)
		close(s->up);
	buf_finish(&s->in);
	buf_finish(&s->out);
	*s = (struct stream){.fd = -1, .up = -1};
}

static void open_stream(struct agentfwd *f, int fd)
{
	for (int i = 0; i < STREAMS_COUNT; i++) {
		struct stream *s = &f->streams[i];

		if (s->fd >= 0)
			continue;
		*s = (struct stream){
			.fd = fd, .up = -1, .by = deadline_in_ms(AGENT_MS)};
		buf_init(&s->in, AGENTPROTO_LEN + READ_LEN);
		buf_init(&s->out, AGENTPROTO_LEN + READ_LEN);
		return;
	}
	close(fd); /* a guest that opens more waits for its own */
}

static void note_use(const struct agentfwd *f, bool ok)
{
	const struct event ev = {
		.what = EVENT_USED,
		.vm = f->vm,
		.text = "ssh-agent",
		.outcome = ok ? "ok" : "denied",
	};

	audit_event(f->service->audit, event_json(&ev));
}

/* May this go to the agent? A signature is one of the grant's uses. */
static bool may_pass(struct agentfwd *f, const struct agentproto_request *r)
{
	autofree char *keys = NULL;
	bool ok;

	if (r->what == AGENTPROTO_OTHER)
		return false;
	if (r->what == AGENTPROTO_LIST)
		return true;
	keys = read_keys(f);
	ok = agentproto_allows(keys, r->key, r->key_len) &&
	     store_use(f->service->grants, f->vm, f->id, time(NULL), NULL) ==
		     0;
	note_use(f, ok);
	apply_poke(f->service->apply); /* it may have been the last */
	return ok;
}

static int refuse(struct stream *s, struct err *e)
{
	s->phase = ANSWERING;
	return agentproto_failure(&s->out, e);
}

static int begin_request(struct agentfwd *f, struct stream *s, size_t len,
			 struct err *e)
{
	const uint8_t *message = (const uint8_t *)s->in.data;
	struct agentproto_request r;
	struct err why = {0};

	if (agentproto_parse(message, len, &r, e))
		return -1;
	s->what = r.what;
	s->by = deadline_in_ms(AGENT_MS);
	if (!may_pass(f, &r)) {
		buf_consume(&s->in, len);
		return refuse(s, e);
	}
	s->up = connect_agent(f, &why);
	if (s->up < 0 || fd_write_all(s->up, message, len, s->by, &why)) {
		log_info("%s: ssh agent: %s", f->vm, err_msg(&why));
		buf_consume(&s->in, len);
		return refuse(s, e);
	}
	buf_consume(&s->in, len);
	s->phase = WAITING;
	return 0;
}

/* What came from the guest, if it is a whole request. */
static int look_at_request(struct agentfwd *f, struct stream *s, struct err *e)
{
	size_t len;

	if (s->phase != ASKING || s->in.len == 0)
		return 0;
	if (agentproto_frame((const uint8_t *)s->in.data, s->in.len, &len, e))
		return -1;
	return len ? begin_request(f, s, len, e) : 0;
}

static int read_more(int fd, struct buf *to, struct err *e)
{
	struct err why = {0};
	ssize_t n = buf_read_fd(to, fd, READ_LEN, &why);

	if (n > 0 || (n < 0 && (why.errnum == EAGAIN || why.errnum == EINTR)))
		return 0;
	return err_set(e, ERR_UNAVAILABLE, "closed");
}

static int take_answer(struct agentfwd *f, struct stream *s, struct err *e)
{
	autofree char *keys = NULL;
	struct buf all;
	size_t len;
	int rc;

	if (read_more(s->up, &s->out, e) ||
	    agentproto_frame((const uint8_t *)s->out.data, s->out.len, &len,
			     e))
		return -1;
	if (!len)
		return 0;
	close(s->up);
	s->up = -1;
	s->phase = ANSWERING;
	if (s->what != AGENTPROTO_LIST)
		return 0;
	all = s->out;
	buf_init(&s->out, AGENTPROTO_LEN + READ_LEN);
	keys = read_keys(f);
	rc = agentproto_filter((const uint8_t *)all.data, len, keys, &s->out,
			       e);
	buf_finish(&all);
	return rc;
}

static int give_answer(struct stream *s, struct err *e)
{
	ssize_t n = fd_write_some(s->fd, s->out.data + s->out_at,
				  s->out.len - s->out_at);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0)
		return err_sys(e, "answering");
	s->out_at += (size_t)n;
	if (s->out_at < s->out.len)
		return 0;
	buf_reset(&s->out);
	s->out_at = 0;
	s->phase = ASKING;
	return 0;
}

static void serve_stream(struct agentfwd *f, struct stream *s, short revents)
{
	struct err e = {0};
	int rc = 0;

	if (s->phase == ASKING && revents)
		rc = read_more(s->fd, &s->in, &e);
	else if (s->phase == WAITING && revents)
		rc = take_answer(f, s, &e);
	else if (s->phase == ANSWERING && revents)
		rc = give_answer(s, &e);
	if (rc == 0)
		rc = look_at_request(f, s, &e);
	/* an idle client may stay; one whose turn takes too long may not */
	if (rc || (s->phase != ASKING && deadline_passed(s->by)))
		close_stream(s);
}

/* -- the session --------------------------------------------------------------- */

static void say(struct agentfwd *f, bool up, const char *why)
{
	pthread_mutex_lock(&f->lock);
	f->up = up;
	snprintf(f->why, sizeof(f->why), "%s", why);
	pthread_mutex_unlock(&f->lock);
}

static bool is_ending(struct agentfwd *f)
{
	bool ending;

	pthread_mutex_lock(&f->lock);
	ending = f->ending;
	pthread_mutex_unlock(&f->lock);
	return ending;
}

enum { FD_WAKE, FD_EVENT, FD_OUT, FD_NEW, FD_FIXED };

static void fill_fds(struct agentfwd *f, struct pollfd *fds)
{
	fds[FD_WAKE] = (struct pollfd){f->wake_fd, POLLIN, 0};
	fds[FD_EVENT] =
		(struct pollfd){guest_exec_event_fd(f->x), POLLIN, 0};
	fds[FD_OUT] = (struct pollfd){guest_exec_out_fd(f->x), POLLIN, 0};
	fds[FD_NEW] = (struct pollfd){guest_exec_agent_fd(f->x), POLLIN, 0};
	for (int i = 0; i < STREAMS_COUNT; i++) {
		const struct stream *s = &f->streams[i];

		fds[FD_FIXED + i] = (struct pollfd){
			.fd = s->phase == WAITING ? s->up : s->fd,
			.events = s->phase == ANSWERING ? POLLOUT : POLLIN,
		};
	}
}

/* False: the command has nothing more to say. */
static bool read_words(struct agentfwd *f)
{
	char words[64];
	ssize_t n = read(guest_exec_out_fd(f->x), words, sizeof(words));

	if (n >= 2 && memcmp(words, "up", 2) == 0)
		say(f, true, "");
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Until it is freed, or the session is lost. */
static void serve(struct agentfwd *f)
{
	struct pollfd fds[FD_FIXED + STREAMS_COUNT];
	eventfd_t ignored;
	int fd;

	for (;;) {
		fill_fds(f, fds);
		/* a second: streams have deadlines */
		if (poll(fds, ARRAY_COUNT(fds), 1000) < 0 && errno != EINTR)
			return;
		if (fds[FD_WAKE].revents)
			eventfd_read(f->wake_fd, &ignored);
		if (is_ending(f) || fds[FD_EVENT].revents ||
		    (fds[FD_OUT].revents && !read_words(f)))
			return;
		while (fds[FD_NEW].revents &&
		       (fd = guest_exec_take_agent(f->x)) >= 0)
			open_stream(f, fd);
		for (int i = 0; i < STREAMS_COUNT; i++) {
			/* the fd that was polled is still the stream's */
			if (f->streams[i].fd >= 0)
				serve_stream(f, &f->streams[i],
					     fds[FD_FIXED + i].fd < 0
						     ? 0
						     : fds[FD_FIXED + i]
							       .revents);
		}
	}
}

static void hold(struct agentfwd *f, struct guest *g)
{
	static const char *const argv[] = {"sh", "-c", holder, NULL};
	const struct guest_exec_opts o = {
		.argv = argv,
		.agent = true,
		.cancel_fd = f->wake_fd,
	};
	struct guest_exit how = {.status = 0};
	eventfd_t ignored;
	struct err e = {0};

	/* what was asked for before this attempt is served by it */
	eventfd_read(f->wake_fd, &ignored);
	if (is_ending(f))
		return;
	if (guest_exec_start(g, &o, deadline_in_ms(START_MS), &f->x, &e)) {
		say(f, false, err_msg(&e));
		return;
	}
	serve(f);
	for (int i = 0; i < STREAMS_COUNT; i++)
		close_stream(&f->streams[i]);
	if (guest_exec_wait(f->x, deadline_in_ms(0), &how, &e) == 0)
		say(f, false,
		    how.status == 3
			    ? "the guest's sshd forwards no agent "
			      "(AllowAgentForwarding)"
			    : "something else of the guest is where boxery "
			      "keeps what is granted");
	else
		say(f, false, "the connection to the guest was lost");
	guest_exec_cut(f->x);
	f->x = NULL;
}

/* -- the thread ---------------------------------------------------------------- */

static void attempt(struct agentfwd *f)
{
	struct machines *all = f->service->machines;
	struct err e = {0};
	struct machine *m;
	struct guest *g;

	if (machines_borrow(all, f, f->vm, &m, &e) == 0 &&
	    machine_guest(m, &g, &e) == 0)
		hold(f, g);
	else
		say(f, false, err_msg(&e));
	machines_return(all, f);
}

/* False: it ends. */
static bool rest(struct agentfwd *f, int64_t ms)
{
	struct deadline d = deadline_in_ms(ms);
	struct pollfd p = {f->wake_fd, POLLIN, 0};
	eventfd_t ignored;
	bool retry;

	while (!is_ending(f) && !deadline_passed(d)) {
		if (poll(&p, 1, deadline_poll_ms(d)) <= 0)
			continue;
		eventfd_read(f->wake_fd, &ignored);
		pthread_mutex_lock(&f->lock);
		retry = f->retry;
		f->retry = false;
		pthread_mutex_unlock(&f->lock);
		if (retry)
			break;
	}
	return !is_ending(f);
}

static void *run(void *arg)
{
	struct agentfwd *f = arg;
	int64_t pause_ms = RETRY_FIRST_MS;
	int64_t begun_ms;

	do {
		begun_ms = deadline_now_ms();
		attempt(f);
		/* one that lasted begins anew at once */
		if (deadline_now_ms() - begun_ms > RETRY_MAX_MS)
			pause_ms = RETRY_FIRST_MS;
		else
			pause_ms = pause_ms * 2 < RETRY_MAX_MS ? pause_ms * 2
							       : RETRY_MAX_MS;
	} while (rest(f, pause_ms));
	return NULL;
}

struct agentfwd *agentfwd_new(struct service *s, const char *vm,
			      const char *socket, const char *grant_id)
{
	struct agentfwd *f = ALLOC_NEW(struct agentfwd);
	sigset_t all, before;

	f->service = s;
	snprintf(f->vm, sizeof(f->vm), "%s", vm);
	snprintf(f->id, sizeof(f->id), "%s", grant_id);
	snprintf(f->why, sizeof(f->why), "%s", "it is being set up");
	f->socket = alloc_str(socket);
	for (int i = 0; i < STREAMS_COUNT; i++)
		f->streams[i].fd = f->streams[i].up = -1;
	pthread_mutex_init(&f->lock, NULL);
	f->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (f->wake_fd < 0 || pthread_create(&f->thread, NULL, run, f))
		alloc_fail("no thread for an ssh agent");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return f;
}

static void wake(struct agentfwd *f)
{
	eventfd_write(f->wake_fd, 1);
}

void agentfwd_free(struct agentfwd *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	f->ending = true;
	pthread_mutex_unlock(&f->lock);
	wake(f);
	pthread_join(f->thread, NULL);
	close(f->wake_fd);
	pthread_mutex_destroy(&f->lock);
	free(f->socket);
	free(f);
}

bool agentfwd_is_for(const struct agentfwd *f, const char *socket,
		     const char *grant_id)
{
	return strcmp(f->socket, socket) == 0 && strcmp(f->id, grant_id) == 0;
}

void agentfwd_retry(struct agentfwd *f)
{
	pthread_mutex_lock(&f->lock);
	f->retry = !f->up;
	pthread_mutex_unlock(&f->lock);
	wake(f);
}

bool agentfwd_state(struct agentfwd *f, char **ret_why)
{
	bool up;

	pthread_mutex_lock(&f->lock);
	up = f->up;
	*ret_why = up ? NULL : alloc_str(f->why);
	pthread_mutex_unlock(&f->lock);
	return up;
}
