#include "vmctl/copysh.h"

#include "base/alloc.h"
#include "base/crypto.h"
#include "base/limits.h"
#include "vmctl/guest.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * The loop. $1 is the directory, $2 the key, which is K from then on (lines
 * may `set --`). E is set by the last line: a
 * lost connection looks like the end of the input, and must not look like
 * success. C locale: names are bytes. noclobber: ">" makes a file, never
 * opens one that is there.
 */
static const char loop[] =
	"export LC_ALL=C; umask 077; set -C\n"
	"N='\n'\n"
	"E= K=$2\n"
	"cd \"$1\" || exit 1\n"
	"while IFS= read -r L; do\n"
	"case $L in \"$K \"*) ;; *) echo 'out of step' >&2; exit 9 ;; esac\n"
	"eval \"${L#\"$K \"}\" || exit $?\n"
	"done\n"
	"[ \"$E\" ] || exit 8\n";
#define CUT_STATUS 8

/* lines wait here while the guest is busy with what came before */
#define QUEUE_LEN ((size_t)4 * 1024 * 1024)
/* flushed when there is more than this, so that the guest is never idle */
#define QUEUE_FLUSH_LEN ((size_t)256 * 1024)
#define STDERR_LEN 4096
/* lines by which commands say something, not yet asked for */
#define SAID_LEN ((size_t)512 * 1024)
/* what else it prints: tar may warn of each file */
#define JUNK_LEN (512LL * LIMIT_TREE_COUNT)
#define KEY_LEN 24
/* a guest that ends gets this long to say how */
#define EXIT_MS 10000

struct copysh {
	struct guest_exec *x;
	const char *vm;
	struct deadline deadline;
	int cancel_fd, peer_fd;
	char key[KEY_LEN + 1];
	struct buf queue;
	size_t queue_at;
	/* stderr: [said_at, tail_at) are said lines not yet looked at, behind
	 * them is the start of a line */
	struct buf said;
	size_t said_at, tail_at;
	long long junk_len; /* printed by the guest, asked for by nobody */
	char telling[STDERR_LEN + 1]; /* a line of it that is no said one */
	enum err_code telling_code;
	bool out_ended, err_ended;
};

/* ---- quoting ------------------------------------------------------------ */

int copysh_word(struct buf *out, const char *word, struct err *e)
{
	const char *p = word;

	if (buf_add_str(out, " '", e) != 0)
		return -1;
	while (*p) {
		size_t n = strcspn(p, "'\n");
		const char *quoted = "";

		if (p[n] == '\'')
			quoted = "'\\''";
		else if (p[n] == '\n')
			quoted = "'\"$N\"'";
		if (buf_add(out, p, n, e) != 0 ||
		    buf_add_str(out, quoted, e) != 0)
			return -1;
		p += n + (p[n] != '\0');
	}
	return buf_add_str(out, "'", e);
}

int copysh_path(struct buf *out, const char *path, struct err *e)
{
	autofree char *safe = alloc_printf("%s%s", *path == '/' ? "" : "./",
					   path);

	return copysh_word(out, safe, e);
}

char *copysh_home_path(const char *path)
{
	if (path[0] == '~' && (path[1] == '\0' || path[1] == '/')) {
		path++;
		path += strspn(path, "/");
	}
	return alloc_str(*path ? path : ".");
}

/* ---- what went wrong ---------------------------------------------------- */

/* What a line of stderr means; ERR_SYSTEM: nothing that we know. */
static enum err_code cause_of(const char *line)
{
	static const struct {
		const char *text;
		enum err_code code;
	} causes[] = {
		{"No space left on device", ERR_NOSPACE},
		{"Disk quota exceeded", ERR_NOSPACE},
		{"Permission denied", ERR_DENIED},
		{"Read-only file system", ERR_DENIED},
	};

	for (size_t i = 0; i < ARRAY_COUNT(causes); i++) {
		if (strstr(line, causes[i].text))
			return causes[i].code;
	}
	return ERR_SYSTEM;
}

/* Keep what is worth telling: a line, without its newline, that names a common
 * cause (tar says more after it), else the last. */
static void keep_line(struct copysh *s, const char *line, size_t len)
{
	char text[STDERR_LEN + 1];
	enum err_code code;

	if (len == 0)
		return;
	if (len > STDERR_LEN) {
		line += len - STDERR_LEN;
		len = STDERR_LEN;
	}
	memcpy(text, line, len);
	text[len] = '\0';
	code = cause_of(text);
	if (code == ERR_SYSTEM && s->telling[0] &&
	    s->telling_code != ERR_SYSTEM)
		return;
	memcpy(s->telling, text, len + 1);
	s->telling_code = code;
}

static bool is_again(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static bool is_said(const struct copysh *s, const char *line, size_t len)
{
	return len > KEY_LEN && line[KEY_LEN] == ' ' &&
	       memcmp(line, s->key, KEY_LEN) == 0;
}

/* Of the lines that are whole by now, said ones stay; the last of the others
 * is kept for messages. */
static void sift(struct copysh *s)
{
	char *text = s->said.data, *nl;
	size_t from = s->tail_at, to = s->tail_at;

	while ((nl = memchr(text + from, '\n', s->said.len - from))) {
		size_t len = (size_t)(nl + 1 - (text + from));

		if (is_said(s, text + from, len)) {
			memmove(text + to, text + from, len);
			to += len;
		} else {
			keep_line(s, text + from, len - 1);
			s->junk_len += (long long)len;
		}
		from += len;
	}
	memmove(text + to, text + from, s->said.len - from);
	s->said.len -= from - to;
	text[s->said.len] = '\0';
	s->tail_at = to;
}

/* Whatever is on stderr now. */
static int drain_stderr(struct copysh *s, struct err *e)
{
	char text[4096];
	int fd = guest_exec_err_fd(s->x);

	while (!s->err_ended && fd >= 0 && s->junk_len <= JUNK_LEN) {
		ssize_t n = read(fd, text, sizeof(text));

		if (n < 0 && is_again())
			return 0;
		if (n <= 0) {
			s->err_ended = true;
			return 0;
		}
		if (buf_add(&s->said, text, (size_t)n, e) != 0)
			return err_wrap(e, "%s: the guest says", s->vm);
		sift(s);
	}
	return 0;
}

/* The next said line, without our key: 1, or 0. */
static int next_said(struct copysh *s, char *ret, size_t max)
{
	const char *line;
	size_t len;

	if (s->said_at == s->tail_at) {
		buf_consume(&s->said, s->said_at);
		s->said_at = s->tail_at = 0;
		return 0;
	}
	line = s->said.data + s->said_at;
	len = (size_t)((const char *)rawmemchr(line, '\n') - line);
	s->said_at += len + 1;
	line += KEY_LEN + 1;
	len -= KEY_LEN + 1;
	if (len >= max)
		len = max - 1;
	memcpy(ret, line, len);
	ret[len] = '\0';
	return 1;
}

/* The shell ended before it should: say why, in the guest's words. */
static int say_end(struct copysh *s, struct err *e)
{
	struct deadline d = deadline_min(s->deadline, deadline_in_ms(EXIT_MS));
	char words[ERR_QUOTE_SIZE];
	struct guest_exit how = {0};

	guest_exec_close_in(s->x);
	if (guest_exec_wait(s->x, d, &how, e) != 0)
		return err_wrap(e, "%s", s->vm);
	if (drain_stderr(s, e) != 0)
		return -1;
	/* the last may have been cut off */
	if (s->said.len > s->tail_at)
		keep_line(s, s->said.data + s->tail_at,
			  s->said.len - s->tail_at);
	if (s->telling[0])
		return err_set(e, s->telling_code, "%s says %s", s->vm,
			       err_quote(words, s->telling,
					 strlen(s->telling)));
	if (how.status < 0)
		return err_set(e, ERR_SYSTEM,
			       "%s: the copy was killed there by SIG%s", s->vm,
			       how.signal);
	return err_set(e, ERR_PROTOCOL,
		       "%s: the copy's shell ended there with status %d",
		       s->vm, how.status);
}

/* ---- moving bytes ------------------------------------------------------- */

/* What a guest that prints without end would keep us from noticing: its fds
 * are always ready. */
static int check(const struct copysh *s, struct err *e)
{
	struct pollfd p = {.fd = s->cancel_fd, .events = POLLIN};

	if (s->junk_len > JUNK_LEN)
		return err_set(e, ERR_PROTOCOL,
			       "%s: the guest prints what nobody asked for",
			       s->vm);
	if (poll(&p, 1, 0) > 0)
		return err_set(e, ERR_CANCELLED, "the copy was cancelled");
	if (deadline_check(s->deadline, "waiting for the guest in a copy", e))
		return err_wrap(e, "%s", s->vm);
	return 0;
}

/* Send of the queue what the channel takes; -1 when the shell is gone. */
static int send_queue(struct copysh *s)
{
	int fd = guest_exec_in_fd(s->x);

	while (fd >= 0 && s->queue_at < s->queue.len) {
		ssize_t n = send(fd, s->queue.data + s->queue_at,
				 s->queue.len - s->queue_at,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0)
			return is_again() ? 0 : -1;
		s->queue_at += (size_t)n;
	}
	buf_reset(&s->queue);
	s->queue_at = 0;
	return 0;
}

/*
 * Wait until the channel takes (want_write) or gives something, or `until`
 * has come. *ret_readable: there is output; NULL: output may wait.
 */
static int wait_channel(struct copysh *s, bool want_write, bool *ret_readable,
			struct deadline until, struct err *e)
{
	bool want_out = ret_readable && !s->out_ended;
	struct pollfd p[5] = {
		{.fd = s->cancel_fd, .events = POLLIN},
		{.fd = want_out ? guest_exec_out_fd(s->x) : -1,
		 .events = POLLIN},
		{.fd = s->err_ended ? -1 : guest_exec_err_fd(s->x),
		 .events = POLLIN},
		{.fd = want_write ? guest_exec_in_fd(s->x) : -1,
		 .events = POLLOUT},
		{.fd = s->peer_fd, .events = POLLIN},
	};

	struct deadline last = deadline_min(
		s->deadline, deadline_in_ms(LIMIT_COPY_STALL_MS));
	bool may_pass = until.at_ms < last.at_ms;

	if (deadline_poll(p, 5, may_pass ? until : last,
			  "waiting for the guest in a copy", e) < 0) {
		if (!may_pass || !e || e->code != ERR_TIMEOUT)
			return err_wrap(e, "%s", s->vm);
		*e = (struct err){0};
		return 0;
	}
	if (check(s, e) != 0)
		return -1;
	if (p[4].revents)
		return err_set(e, ERR_CANCELLED,
			       "the other side ended the copy");
	if (p[2].revents && drain_stderr(s, e) != 0)
		return -1;
	if (ret_readable)
		*ret_readable = p[1].revents != 0;
	return 0;
}

/* Output that nobody asked for: commands of a sink print nothing. */
static void drop_output(struct copysh *s)
{
	char text[1024];
	ssize_t n = read(guest_exec_out_fd(s->x), text, sizeof(text));

	if (n == 0 || (n < 0 && !is_again()))
		s->out_ended = true;
	else if (n > 0)
		s->junk_len += n;
}

/* Until the queue is empty. */
static int flush_queue(struct copysh *s, struct err *e)
{
	for (;;) {
		bool readable = false;

		if (send_queue(s) != 0)
			return say_end(s, e);
		if (s->queue.len == 0)
			return 0;
		if (wait_channel(s, true, &readable, s->deadline, e) != 0)
			return -1;
		if (readable)
			drop_output(s);
	}
}

int copysh_line(struct copysh *s, const char *text, struct err *e)
{
	if (buf_printf(&s->queue, e, "%s %s\n", s->key, text) != 0)
		return -1;
	return 0;
}

int copysh_push(struct copysh *s, struct err *e)
{
	return s->queue.len > QUEUE_FLUSH_LEN ? flush_queue(s, e) : 0;
}

int copysh_write(struct copysh *s, const void *p, size_t len, struct err *e)
{
	const char *at = p;

	if (s->queue.len + len <= QUEUE_FLUSH_LEN)
		return buf_add(&s->queue, p, len, e);
	if (flush_queue(s, e) != 0)
		return -1;
	/* straight from the caller's memory */
	while (len > 0) {
		ssize_t n = send(guest_exec_in_fd(s->x), at, len,
				 MSG_DONTWAIT | MSG_NOSIGNAL);
		bool readable = false;

		if (n < 0 && !is_again())
			return say_end(s, e);
		if (n > 0) {
			at += n;
			len -= (size_t)n;
			continue;
		}
		if (wait_channel(s, true, &readable, s->deadline, e) != 0)
			return -1;
		if (readable)
			drop_output(s);
	}
	return 0;
}

int copysh_read(struct copysh *s, void *p, size_t max, bool or_said,
		size_t *ret_len, struct err *e)
{
	for (;;) {
		bool readable = false;
		ssize_t n;

		if (check(s, e) != 0)
			return -1;
		if (send_queue(s) != 0)
			return say_end(s, e);
		n = read(guest_exec_out_fd(s->x), p, max);
		if (n > 0) {
			*ret_len = (size_t)n;
			return 1;
		}
		if (n == 0 || !is_again())
			return say_end(s, e);
		if (or_said && s->said_at < s->tail_at)
			return 0;
		if (wait_channel(s, s->queue.len > 0, &readable, s->deadline,
				 e) != 0)
			return -1;
	}
}

int copysh_said(struct copysh *s, char *ret, size_t max, int64_t wait_ms,
		struct err *e)
{
	struct deadline until = deadline_in_ms(wait_ms);

	while (next_said(s, ret, max) == 0) {
		struct pollfd p = {.fd = guest_exec_err_fd(s->x),
				   .events = POLLIN};

		if (check(s, e) != 0)
			return -1;
		if (s->err_ended || send_queue(s) != 0)
			return say_end(s, e);
		if (poll(&p, 1, 0) > 0) {
			if (drain_stderr(s, e) != 0)
				return -1;
			continue;
		}
		if (deadline_passed(until))
			return 0;
		if (wait_channel(s, s->queue.len > 0, NULL, until, e) != 0)
			return -1;
	}
	return 1;
}

/* No more input; wait for the end. */
static int end_shell(struct copysh *s, struct guest_exit *ret, struct err *e)
{
	if (flush_queue(s, e) != 0)
		return -1;
	guest_exec_close_in(s->x);
	while (!s->out_ended || !s->err_ended) {
		bool readable = false;

		if (wait_channel(s, false, &readable, s->deadline, e) != 0)
			return -1;
		if (readable)
			drop_output(s);
	}
	if (guest_exec_wait(s->x, s->deadline, ret, e) != 0)
		return err_wrap(e, "%s", s->vm);
	return 0;
}

int copysh_finish(struct copysh *s, struct err *e)
{
	struct guest_exit how = {0};

	if (copysh_line(s, "E=1", e) != 0 || end_shell(s, &how, e) != 0)
		return -1;
	return how.status == 0 ? 0 : say_end(s, e);
}

int copysh_cut(struct copysh *s, struct err *e)
{
	struct guest_exit how = {0};

	if (end_shell(s, &how, e) != 0)
		return -1;
	return how.status == CUT_STATUS ? 0 : say_end(s, e);
}

/* ---- life --------------------------------------------------------------- */

int copysh_start(const struct copysh_opts *o, struct copysh **ret,
		 struct err *e)
{
	auto_copysh struct copysh *s = ALLOC_NEW(struct copysh);
	autofree char *dir = alloc_printf("%s%s", o->dir[0] == '/' ? "" : "./",
					  o->dir);
	const char *argv[] = {"sh", "-c", loop, "sh", dir, s->key, NULL};
	struct guest_exec_opts x = {.argv = argv, .bulk = true,
				    .want_err = true};

	buf_init(&s->queue, QUEUE_LEN);
	buf_init(&s->said, SAID_LEN);
	s->vm = o->vm;
	s->deadline = o->deadline;
	s->cancel_fd = o->cancel_fd;
	s->peer_fd = o->peer_fd;
	if (crypto_random_name(s->key, KEY_LEN, e) != 0 ||
	    guest_exec_start(o->guest, &x, o->deadline, &s->x, e) != 0)
		return -1;
	*ret = TAKE_PTR(s);
	return 0;
}

void copysh_free(struct copysh *s)
{
	if (!s)
		return;
	guest_exec_free(s->x);
	buf_finish(&s->queue);
	buf_finish(&s->said);
	free(s);
}
