/*
 * Drives guest.c against a real sshd: guest_drive SCENARIO [ARG]. Each scenario
 * checks itself; tests/integration/guest.sh starts the server and looks at it.
 */
#include "tests/tools/guest_tool.h"
#include "vmctl/guest_probe.h"
#include "vmctl/hostkey.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

#define MIB (1 << 20)
#define SOON deadline_in_ms(30000)
/* what takes a moment may take this long on a busy machine, but not SOON */
#define LATE_MS 15000
#define SH(text) ((const char *[]){"sh", "-c", text, NULL})

/* Run, both streams collected (at most 64 MiB). */
static struct guest_exit run(struct guest *g, const char *const *argv,
			     struct buf *out, struct buf *errs)
{
	struct guest_run r = {
		.argv = argv, .out = out, .err = errs, .cancel_fd = -1};
	struct guest_exit x = {0};
	struct err e = {0};

	CHECK_OK(guest_run(g, &r, SOON, &x, &e), &e);
	return x;
}

/* The text that a shell command prints. Valid until the next call. */
static const char *say(struct guest *g, const char *command)
{
	static struct buf out;

	if (!out.data)
		buf_init(&out, MIB);
	buf_reset(&out);
	run(g, SH(command), &out, NULL);
	return out.data;
}

static long number(struct guest *g, const char *command)
{
	return strtol(say(g, command), NULL, 10);
}

/* ---- exits, streams, words ---- */

static void exits(struct guest *g)
{
	static const struct {
		const char *command;
		int status;
		const char *signal;
	} cases[] = {
		{"exit 0", 0, ""},
		{"exit 1", 1, ""},
		{"exit 255", 255, ""},
		{"kill -KILL $$", -1, "KILL"},
		{"kill -TERM $$", -1, "TERM"},
		{"kill -SEGV $$", -1, "SEGV"},
	};
	const char *missing[] = {"/no/such/program", NULL};
	struct guest_exit x;

	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		x = run(g, SH(cases[i].command), NULL, NULL);
		CHECK(x.status == cases[i].status);
		CHECK(strcmp(x.signal, cases[i].signal) == 0);
	}
	x = run(g, missing, NULL, NULL);
	CHECK(x.status == 127);
}

static void streams(struct guest *g)
{
	const size_t len = 5 * MIB + 7;
	autofree char *sent = alloc_zero(len);
	const char *cat[] = {"cat", NULL};
	struct guest_run r = {
		.argv = cat, .in = sent, .in_len = len, .cancel_fd = -1};
	struct guest_exit x;
	struct buf out, errs;
	struct err e = {0};

	buf_init(&out, 64 * MIB);
	buf_init(&errs, MIB);
	for (size_t i = 0; i < len; i++)
		sent[i] = (char)(i * 2654435761U >> 13);
	r.out = &out;
	CHECK_OK(guest_run(g, &r, SOON, &x, &e), &e);
	CHECK(out.len == len && memcmp(out.data, sent, len) == 0);

	buf_reset(&out);
	x = run(g, SH("echo out; echo err >&2; exit 3"), &out, &errs);
	CHECK(x.status == 3);
	CHECK(strcmp(out.data, "out\n") == 0);
	CHECK(strcmp(errs.data, "err\n") == 0);

	/* a command that does not read its input still ends */
	r.argv = SH("exit 7");
	CHECK_OK(guest_run(g, &r, SOON, &x, &e), &e);
	CHECK(x.status == 7);

	/* a cap ends the command */
	out.cap = 1000;
	buf_reset(&out);
	r = (struct guest_run){.argv = SH("yes"), .out = &out, .cancel_fd = -1};
	CHECK_FAILS(guest_run(g, &r, SOON, &x, &e), &e, ERR_LIMIT, "1000");
	buf_finish(&out);
	buf_finish(&errs);
}

static void words(struct guest *g)
{
	const char *argv[] = {
		"sh", "-c", "pwd; echo \"$A|$B\"; shift; echo \"$1\"",
		"sh", "x",  "it's $HOME \"*\"",
		NULL};
	const char *env[] = {"A=1 2", "B=it's", NULL};
	const struct guest_exec_opts o = {
		.argv = argv, .env = env, .cwd = "/usr"};
	const struct guest_exec_opts nowhere = {
		.argv = argv, .cwd = "/no/such", .want_err = true};
	struct guest_exec *x;
	struct guest_exit ended;
	struct buf out;
	struct err e = {0};

	buf_init(&out, MIB);
	CHECK_OK(guest_exec_start(g, &o, SOON, &x, &e), &e);
	CHECK(guest_exec_err_fd(x) < 0);
	guest_exec_close_in(x);
	for (;;) {
		struct pollfd pf = {.fd = guest_exec_out_fd(x),
				    .events = POLLIN};
		ssize_t n;

		CHECK_OK(deadline_poll(&pf, 1, SOON, "reading", &e), &e);
		n = buf_read_fd(&out, pf.fd, MIB / 2, &e);
		if (n == 0)
			break;
		CHECK_OK((int)n, &e);
	}
	CHECK_OK(guest_exec_wait(x, SOON, &ended, &e), &e);
	guest_exec_free(x);
	CHECK(strcmp(out.data, "/usr\n1 2|it's\nit's $HOME \"*\"\n") == 0);

	CHECK_OK(guest_exec_start(g, &nowhere, SOON, &x, &e), &e);
	CHECK_OK(guest_exec_wait(x, SOON, &ended, &e), &e);
	CHECK(ended.status > 0);
	guest_exec_free(x);
	buf_finish(&out);
}

/* ---- floods ---- */

static uint64_t drain(int fd, double slow_ms)
{
	static char bytes[256 * 1024];
	uint64_t total = 0;
	struct err e = {0};

	for (;;) {
		struct pollfd pf = {.fd = fd, .events = POLLIN};
		ssize_t n;

		CHECK_OK(deadline_poll(&pf, 1, SOON, "draining", &e), &e);
		n = read(fd, bytes, sizeof(bytes));
		CHECK(n >= 0);
		if (n == 0)
			return total;
		total += (uint64_t)n;
		if (slow_ms > 0)
			deadline_sleep_ms((int64_t)slow_ms);
	}
}

/* A reader that does not read holds up the guest, not our memory. */
static void flood(struct guest *g)
{
	const struct guest_exec_opts o = {
		.argv = SH("head -c 100000000 /dev/zero | tee /dev/stderr"),
		.want_err = true,
		.bulk = true};
	size_t before, peak = 0;
	struct guest_exec *x;
	struct guest_exit ended;
	static char bytes[256 * 1024];
	struct pollfd fds[2] = {{.events = POLLIN}, {.events = POLLIN}};
	uint64_t total_len = 0;
	struct err e = {0};

	say(g, "true");
	before = tool_memory_len();
	CHECK_OK(guest_exec_start(g, &o, SOON, &x, &e), &e);
	guest_exec_close_in(x);
	fds[0].fd = guest_exec_out_fd(x);
	fds[1].fd = guest_exec_err_fd(x);
	deadline_sleep_ms(1500);
	peak = tool_memory_len();
	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		CHECK_OK(deadline_poll(fds, 2, SOON, "reading", &e), &e);
		for (int i = 0; i < 2; i++) {
			ssize_t n = 0;

			if (!fds[i].revents)
				continue;
			n = read(fds[i].fd, bytes, sizeof(bytes));
			CHECK(n >= 0);
			if (n == 0)
				fds[i].fd = -1;
			total_len += (uint64_t)n;
		}
		if (tool_memory_len() > peak)
			peak = tool_memory_len();
	}
	CHECK_OK(guest_exec_wait(x, SOON, &ended, &e), &e);
	CHECK(ended.status == 0);
	CHECK(total_len == 200000000);
	guest_exec_free(x);
	printf("memory grew by %zu KiB\n", (peak - before) / 1024);
	CHECK(!TOOL_COSTS_COUNT || peak - before < 24 * MIB);
}

/* M17: output that nobody keeps is always ready to be read; the deadline counts
 * all the same. */
static void endless(struct guest *g)
{
	const struct guest_run r = {.argv = SH("exec cat /dev/zero"),
				    .cancel_fd = -1};
	int64_t begun_ms = deadline_now_ms();
	struct guest_exit x;
	struct err e = {0};

	CHECK_FAILS(guest_run(g, &r, deadline_in_ms(1000), &x, &e), &e,
		    ERR_TIMEOUT, "waiting for the command");
	CHECK(deadline_now_ms() - begun_ms < LATE_MS);
}

/* Who reads slowly gets everything, though the command is long gone. */
static void slow_reader(struct guest *g)
{
	const struct guest_exec_opts o = {
		.argv = SH("head -c 3000000 /dev/zero")};
	struct guest_exec *x;
	struct guest_exit ended;
	struct err e = {0};

	CHECK_OK(guest_exec_start(g, &o, SOON, &x, &e), &e);
	guest_exec_close_in(x);
	deadline_sleep_ms(500);
	CHECK(drain(guest_exec_out_fd(x), 20) == 3000000);
	CHECK_OK(guest_exec_wait(x, SOON, &ended, &e), &e);
	guest_exec_free(x);
}

/* ---- side by side ---- */

#define THREADS 20

struct worker {
	struct guest *g;
	int number;
	pthread_t thread;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	char command[128], want[64];
	struct buf out;

	buf_init(&out, MIB);
	for (int i = 0; i < 5; i++) {
		snprintf(command, sizeof(command), "sleep 0.%d; echo %d-%d",
			 (w->number + i) % 4, w->number, i);
		snprintf(want, sizeof(want), "%d-%d\n", w->number, i);
		buf_reset(&out);
		CHECK(run(w->g, SH(command), &out, NULL).status == 0);
		CHECK(strcmp(out.data, want) == 0);
	}
	buf_finish(&out);
	return NULL;
}

static void parallel(struct guest *g)
{
	struct worker workers[THREADS];
	struct guest_exec *held[33];
	const struct guest_exec_opts o = {.argv = SH("sleep 60")};
	struct err e = {0};
	int n;

	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.g = g, .number = i};
		CHECK(pthread_create(&workers[i].thread, NULL, work,
				     &workers[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);

	/* 32 at once, one more is told so */
	for (n = 0; n < 32; n++)
		CHECK_OK(guest_exec_start(g, &o, SOON, &held[n], &e), &e);
	CHECK_FAILS(guest_exec_start(g, &o, SOON, &held[32], &e), &e, ERR_BUSY,
		    "too many commands");
	while (n > 0)
		guest_exec_free(held[--n]);
	/* though sshd still holds places for what ends slowly */
	CHECK(strcmp(say(g, "echo again"), "again\n") == 0);
}

static void warm(struct guest *g)
{
	const char *from = "echo $SSH_CONNECTION";
	autofree char *first = alloc_str(say(g, from));

	CHECK(strlen(first) > 10);
	for (int i = 0; i < 20; i++)
		CHECK(strcmp(say(g, from), first) == 0);
}

static void idle(struct guest *g)
{
	const struct guest_exec_opts o = {.argv = SH("true"), .bulk = true};
	struct guest_stat st;
	struct guest_exec *x, *quiet;
	struct guest_exit ended;
	struct err e = {0};
	double cpu_ms;
	int fd;

	/* every kind of session and channel, one of each still open */
	say(g, "true");
	CHECK_OK(guest_lstat(g, "/", SOON, &st, &e), &e);
	CHECK_OK(guest_exec_start(g, &o, SOON, &x, &e), &e);
	CHECK_OK(guest_exec_wait(x, SOON, &ended, &e), &e);
	guest_exec_free(x);
	CHECK_OK(guest_exec_start(
			 g, &(struct guest_exec_opts){.argv = SH("sleep 60")},
			 SOON, &quiet, &e),
		 &e);
	CHECK(guest_open_unix(g, "/no/such/socket", SOON, &fd, &e) < 0);
	deadline_sleep_ms(300);
	cpu_ms = tool_cpu_ms();
	deadline_sleep_ms(3000);
	cpu_ms = tool_cpu_ms() - cpu_ms;
	printf("idle: %.2f ms of processor time in 3 s\n", cpu_ms);
	CHECK(!TOOL_COSTS_COUNT || cpu_ms < 5);
	guest_exec_free(quiet);
}

/* ---- losses ---- */

static void *kill_later(void *pid)
{
	deadline_sleep_ms(300);
	kill((pid_t)(intptr_t)pid, SIGKILL);
	return NULL;
}

/* The server's process for the session dies while a command runs. */
static void lost(struct guest *g)
{
	struct guest_run r = {.argv = SH("sleep 60"), .cancel_fd = -1};
	pthread_t killer;
	struct guest_exit x;
	struct err e = {0};
	double begun_ms;
	long pid = number(g, "echo $PPID");

	CHECK(pid > 1);
	begun_ms = tool_now_ms();
	CHECK(pthread_create(&killer, NULL, kill_later, (void *)pid) == 0);
	CHECK_FAILS(guest_run(g, &r, SOON, &x, &e), &e, ERR_UNAVAILABLE,
		    "connection to testvm was lost");
	CHECK(tool_now_ms() - begun_ms < LATE_MS);
	pthread_join(killer, NULL);
	CHECK(strcmp(say(g, "echo back"), "back\n") == 0);

	/* and while none does: the next one notices nothing */
	pid = number(g, "echo $PPID");
	kill((pid_t)pid, SIGKILL);
	/* a busy machine takes its time to end it, and we to hear of that */
	for (int i = 0; i < 1000 && kill((pid_t)pid, 0) == 0; i++)
		deadline_sleep_ms(5);
	deadline_sleep_ms(100);
	CHECK(strcmp(say(g, "echo back"), "back\n") == 0);
}

/* It is there, but does nothing. */
static void stopped(struct guest *g)
{
	struct guest_run r = {.argv = SH("true"), .cancel_fd = -1};
	struct guest_stat st;
	struct guest_exit x;
	struct err e = {0};
	double begun_ms;
	long pid = number(g, "echo $PPID");

	CHECK_OK(guest_lstat(g, "/", SOON, &st, &e), &e);
	CHECK(kill((pid_t)pid, SIGSTOP) == 0);
	begun_ms = tool_now_ms();
	CHECK_FAILS(guest_run(g, &r, deadline_in_ms(1000), &x, &e), &e,
		    ERR_TIMEOUT, "testvm: timed out after 1 s");
	CHECK_FAILS(guest_lstat(g, "/", deadline_in_ms(1000), &st, &e), &e,
		    ERR_TIMEOUT, "timed out");
	CHECK(tool_now_ms() - begun_ms < LATE_MS);
	CHECK(kill((pid_t)pid, SIGCONT) == 0);
	CHECK(strcmp(say(g, "echo back"), "back\n") == 0);
	CHECK_OK(guest_lstat(g, "/", SOON, &st, &e), &e);
}

/* GUEST_PORT has a listener that never answers. */
static void silent(struct guest *g)
{
	struct guest_run r = {.argv = SH("true"), .cancel_fd = -1};
	struct guest_exit x;
	struct err e = {0};
	double begun_ms = tool_now_ms();
	int cancel_fd = eventfd(1, EFD_CLOEXEC);

	CHECK_FAILS(guest_connect(g, deadline_in_ms(1000), &e), &e, ERR_TIMEOUT,
		    "timed out after 1 s");
	CHECK_FAILS(guest_run(g, &r, deadline_in_ms(1000), &x, &e), &e,
		    ERR_TIMEOUT, "timed out");
	r.cancel_fd = cancel_fd;
	CHECK_FAILS(guest_run(g, &r, SOON, &x, &e), &e, ERR_CANCELLED, "");
	CHECK(tool_now_ms() - begun_ms < LATE_MS);
	close(cancel_fd);
}

static void moved(struct guest *g)
{
	unsigned port = (unsigned)strtoul(tool_env("GUEST_PORT"), NULL, 10);
	const struct guest_exec_opts o = {.argv = SH("sleep 60")};
	struct guest_exec *x;
	struct guest_exit ended;
	struct err e = {0};

	CHECK_OK(guest_exec_start(g, &o, SOON, &x, &e), &e);
	guest_drop(g);
	CHECK_FAILS(guest_exec_wait(x, SOON, &ended, &e), &e, ERR_UNAVAILABLE,
		    "dropped");
	guest_exec_free(x);
	CHECK(strcmp(say(g, "echo back"), "back\n") == 0);
	guest_set_address(g, "127.0.0.1", 1);
	CHECK_FAILS(guest_connect(g, SOON, &e), &e, ERR_UNAVAILABLE,
		    "does not answer");
	guest_set_address(g, "", 22);
	CHECK_FAILS(guest_connect(g, SOON, &e), &e, ERR_STATE, "no address");
	guest_set_address(g, "127.0.0.1", port);
	CHECK_OK(guest_connect(g, SOON, &e), &e);
	CHECK(strcmp(say(g, "echo back"), "back\n") == 0);
}

/* ---- ending commands ---- */

/* Processes of the guest whose command line has this word. */
static int count_processes(const char *word)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	int count = 0;

	CHECK(dir);
	while ((d = readdir(dir))) {
		char path[300], text[256] = "";
		ssize_t n;
		int fd;

		snprintf(path, sizeof(path), "/proc/%s/cmdline", d->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
		for (ssize_t i = 0; i < n; i++)
			if (text[i] == '\0')
				text[i] = ' ';
		count += strstr(text, word) != NULL;
	}
	closedir(dir);
	return count;
}

static bool all_gone(const char *word)
{
	for (int i = 0; i < 50; i++) {
		if (count_processes(word) == 0)
			return true;
		deadline_sleep_ms(100);
	}
	return false;
}

static void *cancel_later(void *fd)
{
	deadline_sleep_ms(500);
	CHECK(eventfd_write((int)(intptr_t)fd, 1) == 0);
	return NULL;
}

static void ending(struct guest *g)
{
	/* a child in the foreground, one in the background, and one that
	 * has to be killed */
	const char *stubborn = "trap '' TERM; sleep 31.2501 & sleep 31.2502";
	struct guest_run r = {.argv = SH("sleep 31.2503 & sleep 31.2504"),
			      .cancel_fd = eventfd(0, EFD_CLOEXEC)};
	const struct guest_exec_opts o = {.argv = SH("sleep 31.2505")};
	struct guest_exec *x;
	struct guest_exit ended;
	pthread_t canceller;
	struct err e = {0};

	CHECK(pthread_create(&canceller, NULL, cancel_later,
			     (void *)(intptr_t)r.cancel_fd) == 0);
	CHECK_FAILS(guest_run(g, &r, SOON, &ended, &e), &e, ERR_CANCELLED, "");
	pthread_join(canceller, NULL);
	CHECK(all_gone("31.250"));
	close(r.cancel_fd);

	r = (struct guest_run){.argv = SH(stubborn), .cancel_fd = -1};
	CHECK_FAILS(guest_run(g, &r, deadline_in_ms(700), &ended, &e), &e,
		    ERR_TIMEOUT, "");
	CHECK(all_gone("31.250"));

	CHECK_OK(guest_exec_start(g, &o, SOON, &x, &e), &e);
	guest_exec_free(x);
	CHECK(all_gone("31.250"));

	/* left to itself, also one that does not listen to TERM */
	CHECK_OK(guest_exec_start(
			 g, &(struct guest_exec_opts){.argv = SH(stubborn)},
			 SOON, &x, &e),
		 &e);
	guest_exec_free(x);
	CHECK(all_gone("31.250"));

	CHECK_OK(guest_exec_start(g, &o, SOON, &x, &e), &e);
	CHECK_FAILS(guest_exec_signal(x, "NONE", &e), &e, ERR_INVALID, "NONE");
	deadline_sleep_ms(300);
	CHECK_OK(guest_exec_signal(x, "USR1", &e), &e);
	CHECK_OK(guest_exec_wait(x, SOON, &ended, &e), &e);
	CHECK(strcmp(ended.signal, "USR1") == 0);
	guest_exec_free(x);
}

/* What a command leaves running keeps its stdout, but not us, and goes on. */
static void background(struct guest *g)
{
	const struct guest_exec_opts o = {
		.argv = SH("sleep 31.2506 & echo started")};
	struct guest_exec *x;
	struct guest_exit ended;
	struct err e = {0};
	char text[32] = "";

	CHECK_OK(guest_exec_start(g, &o, SOON, &x, &e), &e);
	CHECK_OK(guest_exec_wait(x, deadline_in_ms(3000), &ended, &e), &e);
	CHECK(ended.status == 0);
	CHECK(read(guest_exec_out_fd(x), text, sizeof(text)) == 8);
	guest_exec_free(x);
	deadline_sleep_ms(300);
	CHECK(count_processes("31.2506") == 1);
	say(g, "pkill -f 31.2506; true");
}

/* ---- who may talk to whom ---- */

static void wrong_host(const char *other_key)
{
	struct guest *g = tool_guest_with(tool_env("GUEST_KEY"), other_key);
	struct guest_run r = {.argv = SH("true"), .cancel_fd = -1};
	struct guest_exit x;
	struct err e = {0};
	int fd;

	CHECK_FAILS(guest_connect(g, SOON, &e), &e, ERR_DENIED,
		    "Host key verification failed: ");
	CHECK_FAILS(guest_run(g, &r, SOON, &x, &e), &e, ERR_DENIED,
		    "Host key verification failed: ");
	CHECK_FAILS(guest_open_unix(g, "/x", SOON, &fd, &e), &e, ERR_DENIED,
		    "Host key verification failed: ");
	guest_free(g);
}

/* Its key as it says, "refused" when it has none that we take, or "silent". */
static void probe(const char *want)
{
	struct guest_probe p = {
		.name = "testvm", .address = "127.0.0.1", .cancel_fd = -1};
	bool silent = strcmp(want, "silent") == 0;
	struct deadline d = deadline_in_ms(silent ? 1500 : 30000);
	autofree char *line = NULL, *pin = NULL;
	int spare = dup(0), after;
	struct err e = {0};
	size_t len;

	p.port = (unsigned)strtoul(tool_env("GUEST_PORT"), NULL, 10);
	close(spare);
	if (silent) {
		CHECK_FAILS(guest_probe_key(&p, d, &line, &e), &e, ERR_TIMEOUT,
			    "host key");
		p.cancel_fd = eventfd(1, EFD_CLOEXEC);
		d = deadline_in_ms(30000);
		CHECK_FAILS(guest_probe_key(&p, d, &line, &e), &e,
			    ERR_CANCELLED, "");
		close(p.cancel_fd);
	} else if (strcmp(want, "refused") == 0) {
		CHECK_FAILS(guest_probe_key(&p, d, &line, &e), &e, ERR_DENIED,
			    "no ssh-ed25519 key");
	} else if (strcmp(want, "closed") == 0) {
		CHECK_FAILS(guest_probe_key(&p, d, &line, &e), &e,
			    ERR_UNAVAILABLE, "does not answer");
	} else {
		CHECK_OK(path_read_file(want, 4096, &pin, &len, &e), &e);
		CHECK_OK(guest_probe_key(&p, d, &line, &e), &e);
		CHECK(hostkey_same(line, pin));
	}
	after = dup(0); /* no fd is left open */
	CHECK(after == spare);
	close(after);
}

static void wrong_client(const char *other_key)
{
	struct guest *g =
		tool_guest_with(other_key, tool_env("GUEST_HOST_KEY"));
	struct err e = {0};

	CHECK_FAILS(guest_connect(g, SOON, &e), &e, ERR_DENIED,
		    "does not accept our key");
	guest_free(g);
	g = tool_guest_with("/no/such/key", tool_env("GUEST_HOST_KEY"));
	CHECK_FAILS(guest_connect(g, SOON, &e), &e, ERR_STATE, "/no/such/key");
	guest_free(g);
}

int main(int argc, char *argv[])
{
	static const struct {
		const char *name;
		void (*with_guest)(struct guest *g);
		void (*with_arg)(const char *arg);
	} scenarios[] = {
		{.name = "exits", .with_guest = exits},
		{.name = "streams", .with_guest = streams},
		{.name = "words", .with_guest = words},
		{.name = "flood", .with_guest = flood},
		{.name = "endless", .with_guest = endless},
		{.name = "slow-reader", .with_guest = slow_reader},
		{.name = "parallel", .with_guest = parallel},
		{.name = "warm", .with_guest = warm},
		{.name = "idle", .with_guest = idle},
		{.name = "lost", .with_guest = lost},
		{.name = "stopped", .with_guest = stopped},
		{.name = "silent", .with_guest = silent},
		{.name = "moved", .with_guest = moved},
		{.name = "ending", .with_guest = ending},
		{.name = "background", .with_guest = background},
		{.name = "wrong-host", .with_arg = wrong_host},
		{.name = "wrong-client", .with_arg = wrong_client},
		{.name = "probe", .with_arg = probe},
	};
	const char *name = argc > 1 ? argv[1] : "",
		   *arg = argc > 2 ? argv[2] : "";
	struct guest *g;

	for (size_t i = 0; i < ARRAY_COUNT(scenarios); i++) {
		if (strcmp(scenarios[i].name, name) != 0)
			continue;
		if (scenarios[i].with_arg) {
			scenarios[i].with_arg(arg);
			return 0;
		}
		g = tool_guest();
		scenarios[i].with_guest(g);
		guest_free(g);
		return 0;
	}
	fprintf(stderr, "usage: guest_drive SCENARIO [ARG]\n");
	return 2;
}
