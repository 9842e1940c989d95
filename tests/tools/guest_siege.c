/*
 * Drives guest.c against tests/integration/hostile_sshd.py: guest_siege MODE.
 * M17: whatever the server does, a call ends in time with an error that says
 * what is wrong, memory stays bounded, nothing spins, and the end is quick.
 */
#include "tests/tools/guest_tool.h"

#include <poll.h>

#define MIB (1 << 20)
#define SOON_MS 3000 /* where the deadline itself is what is waited for */
/* on a busy machine; a hang would be longer */
#define LATE_MS 20000
#define MEMORY_LEN (96 * MIB)

static const char *const words[] = {"true", NULL};
static int64_t wait_ms;

static int run_in_ms(struct guest *g, int64_t ms, struct err *e)
{
	const struct guest_run r = {.argv = words, .cancel_fd = -1};
	struct guest_exit x;

	return guest_run(g, &r, deadline_in_ms(ms), &x, e);
}

static int run(struct guest *g, struct err *e)
{
	return run_in_ms(g, wait_ms, e);
}

/* Wait for its end, reading nothing of it. */
static int unread(struct guest *g, struct err *e)
{
	const struct guest_exec_opts o = {.argv = words, .want_err = true};
	struct guest_exec *x;
	struct guest_exit ended;
	int rc;

	if (guest_exec_start(g, &o, deadline_in_ms(wait_ms), &x, e) < 0)
		return -1;
	rc = guest_exec_wait(x, deadline_in_ms(wait_ms), &ended, e);
	guest_exec_free(x);
	return rc;
}

/* The same, but stdout is read: it is stderr that nobody looks at. */
static int half_read(struct guest *g, struct err *e)
{
	const struct guest_exec_opts o = {.argv = words, .want_err = true};
	struct deadline d = deadline_in_ms(wait_ms);
	struct guest_exec *x;
	struct guest_exit ended;
	char bytes[4096];
	ssize_t n = 1;
	int rc;

	if (guest_exec_start(g, &o, d, &x, e) < 0)
		return -1;
	while (n != 0) {
		struct pollfd pf = {.fd = guest_exec_out_fd(x),
				    .events = POLLIN};

		if (deadline_poll(&pf, 1, d, "reading", NULL) < 0)
			break;
		n = read(pf.fd, bytes, sizeof(bytes));
	}
	rc = guest_exec_wait(x, d, &ended, e);
	guest_exec_free(x);
	return rc;
}

/* 64 MiB for its stdin. */
static int feed(struct guest *g, struct err *e)
{
	const size_t len = 64 * MIB;
	char *in = alloc_zero(len);
	const struct guest_run r = {
		.argv = words, .in = in, .in_len = len, .cancel_fd = -1};
	struct guest_exit x;
	int rc = guest_run(g, &r, deadline_in_ms(wait_ms), &x, e);

	free(in);
	return rc;
}

/* Free one that the server never lets go of, and go on. */
static int abandon(struct guest *g, struct err *e)
{
	const struct guest_exec_opts o = {.argv = words};
	struct guest_exec *x;

	if (guest_exec_start(g, &o, deadline_in_ms(wait_ms), &x, e) < 0)
		return -1;
	guest_exec_free(x);
	deadline_sleep_ms(wait_ms);
	return run(g, e);
}

/* Until no more may wait for an answer: all end by their deadlines. */
static int crowd(struct guest *g, struct err *e)
{
	for (int i = 0; i < 40; i++) {
		*e = (struct err){0};
		CHECK(run_in_ms(g, 50, e) < 0);
	}
	return run_in_ms(g, 500, e);
}

static int answer(struct guest *g, struct err *e)
{
	struct buf out;
	const struct guest_run r = {
		.argv = words, .out = &out, .cancel_fd = -1};
	struct guest_exit x = {.status = -2};
	int rc;

	buf_init(&out, MIB);
	rc = guest_run(g, &r, deadline_in_ms(wait_ms), &x, e);
	if (rc == 0) /* seen as an error, to be compared */
		rc = err_set(e, ERR_NONE, "%d %s %s", x.status, x.signal,
			     out.data);
	buf_finish(&out);
	return rc;
}

static int each(const char *name, const struct guest_stat *st, void *ctx,
		struct err *e)
{
	(void)name;
	(void)st;
	(void)ctx;
	(void)e;
	return 0;
}

static int list(struct guest *g, struct err *e)
{
	return guest_read_dir(g, "/", deadline_in_ms(wait_ms), each, NULL, e);
}

static int look(struct guest *g, struct err *e)
{
	struct guest_stat st;

	return guest_lstat(g, "/", deadline_in_ms(wait_ms), &st, e);
}

static int link_of(struct guest *g, struct err *e)
{
	char *target = NULL;

	return guest_read_link(g, "/", deadline_in_ms(wait_ms), &target, e);
}

static int contents(struct guest *g, struct err *e)
{
	struct buf out;
	int rc;

	buf_init(&out, 8 * MIB);
	rc = guest_read_file(g, "/f", deadline_in_ms(wait_ms), &out, e);
	buf_finish(&out);
	return rc;
}

static const struct siege {
	const char *mode;
	int (*attack)(struct guest *g, struct err *e);
	enum err_code code;
	const char *says;
} sieges[] = {
	{"mute", run, ERR_TIMEOUT, "timed out"},
	{"half-kex", run, ERR_TIMEOUT, "timed out"},
	{"no-login", run, ERR_TIMEOUT, "timed out"},
	{"lines", run, ERR_PROTOCOL, "does not let us in"},
	{"garbage", run, ERR_UNAVAILABLE, "does not answer ssh"},
	{"open-stall", crowd, ERR_BUSY, "too many"},
	{"no-answer", run, ERR_TIMEOUT, "timed out"},
	{"window-flood", unread, ERR_TIMEOUT, "timed out"},
	{"stderr-flood", half_read, ERR_TIMEOUT, "timed out"},
	{"no-close", abandon, ERR_NONE, NULL},
	{"tiny-packet", run, ERR_PROTOCOL, "no packets of a useful size"},
	{"huge-window", feed, ERR_TIMEOUT, "timed out"},
	{"no-window", feed, ERR_TIMEOUT, "timed out"},
	{"rekey-stall", feed, ERR_TIMEOUT, "timed out"},
	{"junk", run, ERR_PROTOCOL, "floods"},
	{"requests", run, ERR_PROTOCOL, "floods"},
	{"channel-requests", run, ERR_PROTOCOL, "floods"},
	{"opens", answer, ERR_NONE, "0  140 refused"},
	{"vanish", run, ERR_UNAVAILABLE, "was lost"},
	{"no-status", run, ERR_PROTOCOL, "without a status"},
	{"odd-signal", answer, ERR_NONE, "-1 UNKNOWN "},
	{"big-status", answer, ERR_NONE, "255  "},
	{"noise", run, ERR_NONE, NULL},
	{"sftp-version", look, ERR_PROTOCOL, "version 3"},
	{"sftp-silent", look, ERR_TIMEOUT, "timed out"},
	{"sftp-huge", look, ERR_LIMIT, "more than"},
	{"sftp-short", look, ERR_PROTOCOL, "malformed"},
	{"sftp-id", look, ERR_PROTOCOL, "not made"},
	{"sftp-type", look, ERR_PROTOCOL, "makes no sense"},
	{"sftp-cut", look, ERR_PROTOCOL, "malformed"},
	{"sftp-handle", contents, ERR_PROTOCOL, "handle is too long"},
	{"sftp-link", link_of, ERR_PROTOCOL, "cannot be one"},
	{"sftp-names", list, ERR_PROTOCOL, "no file can have"},
	{"sftp-count", list, ERR_PROTOCOL, "malformed"},
	{"sftp-nothing", list, ERR_PROTOCOL, "nothing for ever"},
	{"sftp-endless", list, ERR_LIMIT, "200000 files"},
	{"sftp-empty", contents, ERR_PROTOCOL, "with 0"},
	{"sftp-more", contents, ERR_PROTOCOL, "with 40000"},
	{"sftp-file", contents, ERR_LIMIT, "8388608"},
};

/* What is left of the session sleeps, once what was under way has ended. */
static void check_idle(void)
{
	double until_ms = tool_now_ms() + LATE_MS, cpu_ms;

	do {
		cpu_ms = tool_cpu_ms();
		deadline_sleep_ms(500);
		cpu_ms = tool_cpu_ms() - cpu_ms;
	} while (TOOL_COSTS_COUNT && cpu_ms > 50 && tool_now_ms() < until_ms);
	if (TOOL_COSTS_COUNT && cpu_ms > 50)
		fprintf(stderr, "spins: %.0f ms of processor time\n", cpu_ms);
	CHECK(!TOOL_COSTS_COUNT || cpu_ms <= 50);
}

static void lay(const struct siege *s)
{
	struct guest *g = tool_guest();
	size_t before = tool_memory_len();
	double begun_ms = tool_now_ms();
	struct err e = {0};
	size_t grown;
	int rc;

	wait_ms = s->code == ERR_TIMEOUT || !s->says ? SOON_MS : LATE_MS;
	rc = s->attack(g, &e);
	grown = tool_memory_len() - before;

	if (s->says &&
	    (rc == 0 || e.code != s->code || !strstr(err_msg(&e), s->says))) {
		fprintf(stderr, "%s: got %d %s \"%s\"\n", s->mode, rc,
			err_code_name(e.code), err_msg(&e));
		_exit(1);
	}
	CHECK(tool_now_ms() - begun_ms < 2 * LATE_MS);
	if (strcmp(s->mode, "no-close") != 0 && s->code != ERR_NONE)
		check_idle();
	printf("%s: %.1f s, %zu KiB, %s\n", s->mode,
	       (tool_now_ms() - begun_ms) / 1000, grown >> 10, err_msg(&e));
	CHECK(!TOOL_COSTS_COUNT || grown < MEMORY_LEN);
	begun_ms = tool_now_ms();
	guest_free(g);
	CHECK(tool_now_ms() - begun_ms < LATE_MS * 0.25);
}

int main(int argc, char *argv[])
{
	if (argc == 1) /* the list of modes */
		for (size_t i = 0; i < ARRAY_COUNT(sieges); i++)
			puts(sieges[i].mode);
	for (size_t i = 0; argc > 1 && i < ARRAY_COUNT(sieges); i++) {
		if (strcmp(sieges[i].mode, argv[1]) == 0) {
			lay(&sieges[i]);
			return 0;
		}
	}
	return argc == 1 ? 0 : 2;
}
