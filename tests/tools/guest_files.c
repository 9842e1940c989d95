/*
 * Drives the file operations of guest.c against a real sshd: guest_files DIR,
 * a folder that GUEST_USER may write. Checks itself.
 */
#include "tests/tools/guest_tool.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#define SOON deadline_in_ms(30000)
#define FILES 3000
#define BIG_LEN (3 * 1024 * 1024 + 11)

static const char *folder;

static char *in(const char *name)
{
	return alloc_printf("%s/%s", folder, name);
}

static char *say(struct guest *g, const char *command)
{
	const char *argv[] = {"sh", "-c", command, NULL};
	struct guest_exit x;
	struct buf out;
	struct guest_run r = {.argv = argv, .out = &out, .cancel_fd = -1};
	struct err e = {0};
	char *text;

	buf_init(&out, 1 << 20);
	CHECK_OK(guest_run(g, &r, SOON, &x, &e), &e);
	text = buf_take(&out);
	buf_finish(&out);
	return text;
}

static void shell(struct guest *g, const char *text)
{
	autofree char *command =
		alloc_printf("cd '%s' && { %s; } && echo done", folder, text);
	autofree char *out = say(g, command);

	CHECK(strcmp(out, "done\n") == 0);
}

/* ---- looking ---- */

static void attributes(struct guest *g)
{
	static const struct {
		const char *name;
		char type;
		uint32_t mode;
		uint64_t len;
	} cases[] = {
		{"file", 'f', 0640, 5},
		{"folder", 'd', 0750, 0},
		{"fifo", '?', 0600, 0},
		{"link", 'l', 0777, 4},
		{"it's \"a\" name\n", 'f', 0600, 0},
		{"caf\xc3\xa9", 'f', 0600, 0},
		{"\xff\xfe", 'f', 0600, 0},
	};
	struct guest_stat st;
	struct err e = {0};

	shell(g, "umask 077; printf 12345 >file; chmod 640 file; "
		 "touch -d @1000000000 file; mkdir folder; chmod 750 folder; "
		 "mkfifo fifo; ln -s file link; ln -s nowhere dangling; "
		 ": >\"it's \\\"a\\\" name\n\"; : >$(printf 'caf\\303\\251'); "
		 ": >$(printf '\\377\\376')");
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		autofree char *path = in(cases[i].name);

		CHECK_OK(guest_lstat(g, path, SOON, &st, &e), &e);
		CHECK(st.type == cases[i].type && st.mode == cases[i].mode);
		CHECK(st.type == 'd' || st.len == cases[i].len);
	}
	autofree char *file = in("file"), *link = in("link"),
		      *dangling = in("dangling");
	CHECK_OK(guest_lstat(g, file, SOON, &st, &e), &e);
	CHECK(st.mtime_s == 1000000000);
	CHECK_OK(guest_stat_follow(g, link, SOON, &st, &e), &e);
	CHECK(st.type == 'f' && st.len == 5);
	CHECK_FAILS(guest_stat_follow(g, dangling, SOON, &st, &e), &e,
		    ERR_NOT_FOUND, "dangling: no such file");
	CHECK_FAILS(guest_lstat(g, "/no/such", SOON, &st, &e), &e,
		    ERR_NOT_FOUND, "/no/such: no such file");
}

static void links(struct guest *g)
{
	autofree char *link = in("link"), *file = in("file"), *target = NULL;
	char *none = NULL;
	struct err e = {0};

	CHECK_OK(guest_read_link(g, link, SOON, &target, &e), &e);
	CHECK(strcmp(target, "file") == 0);
	CHECK(guest_read_link(g, file, SOON, &none, &e) < 0 && !none);
}

struct listing {
	int count, stop_at;
	bool seen[FILES];
};

static int each(const char *name, const struct guest_stat *st, void *ctx,
		struct err *e)
{
	struct listing *l = ctx;
	unsigned long n;
	char *end;

	CHECK(st->type == 'f' && strncmp(name, "n-", 2) == 0);
	n = strtoul(name + 2, &end, 10);
	CHECK(*end == '\0' && n < FILES && !l->seen[n]);
	l->seen[n] = true;
	if (++l->count == l->stop_at)
		return err_set(e, ERR_CANCELLED, "enough");
	return 0;
}

static void listings(struct guest *g)
{
	autofree char *many = in("many"), *file = in("file"),
		      *empty = in("empty");
	static struct listing all, some = {.stop_at = 10};
	struct err e = {0};

	shell(g, "mkdir many empty; cd many; i=0; while [ $i -lt 3000 ]; do "
		 ": >n-$i; i=$((i+1)); done");
	CHECK_OK(guest_read_dir(g, many, SOON, each, &all, &e), &e);
	CHECK(all.count == FILES);
	CHECK_FAILS(guest_read_dir(g, many, SOON, each, &some, &e), &e,
		    ERR_CANCELLED, "enough");
	CHECK(some.count == 10);
	CHECK_OK(guest_read_dir(g, empty, SOON, each, &all, &e), &e);
	CHECK(all.count == FILES);
	CHECK(guest_read_dir(g, file, SOON, each, &all, &e) < 0);
}

/* ---- contents ---- */

static void reading(struct guest *g)
{
	static const struct {
		const char *name;
		enum err_code code;
		const char *says;
	} bad[] = {
		{"missing", ERR_NOT_FOUND, "no such file"},
		{"folder", ERR_INVALID, "is a directory"},
		{"fifo", ERR_INVALID, "not a regular file"},
		{"secret", ERR_DENIED, "permission denied"},
	};
	autofree char *link = in("link"), *big = in("big");
	struct buf out;
	struct err e = {0};

	shell(g, ": >secret; chmod 0 secret; head -c 3145739 /dev/zero >big");
	buf_init(&out, BIG_LEN);
	CHECK_OK(guest_read_file(g, link, SOON, &out, &e), &e);
	CHECK(strcmp(out.data, "12345") == 0);
	CHECK_OK(guest_read_file(g, big, SOON, &out, &e), &e);
	CHECK(out.len == BIG_LEN);
	out.cap = BIG_LEN - 1;
	CHECK_FAILS(guest_read_file(g, big, SOON, &out, &e), &e, ERR_LIMIT,
		    "big");
	for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
		autofree char *path = in(bad[i].name);

		if (bad[i].code == ERR_DENIED &&
		    strcmp(tool_env("GUEST_USER"), "root") == 0)
			continue;
		CHECK_FAILS(guest_read_file(g, path, SOON, &out, &e), &e,
			    bad[i].code, bad[i].says);
	}
	buf_finish(&out);
}

static void check_file(struct guest *g, const char *path, const char *p,
		       size_t len, uint32_t mode)
{
	struct guest_stat st;
	struct buf out;
	struct err e = {0};

	buf_init(&out, BIG_LEN);
	CHECK_OK(guest_read_file(g, path, SOON, &out, &e), &e);
	CHECK(out.len == len && memcmp(out.data, p, len) == 0);
	buf_finish(&out);
	CHECK_OK(guest_stat_follow(g, path, SOON, &st, &e), &e);
	CHECK(st.mode == mode);
}

static void writing(struct guest *g)
{
	autofree char *fresh = in("fresh"), *script = in("script"),
		      *link = in("script-link"), *dir = in("folder"),
		      *nowhere = in("none/x"), *fifo = in("fifo"),
		      *big = alloc_zero(BIG_LEN), *left = NULL, *ls = NULL;
	struct guest_stat st;
	struct err e = {0};

	CHECK_OK(guest_write_file(g, fresh, "one", 3, SOON, &e), &e);
	check_file(g, fresh, "one", 3, 0644);
	CHECK_OK(guest_write_file(g, fresh, "", 0, SOON, &e), &e);
	check_file(g, fresh, "", 0, 0644);
	for (size_t i = 0; i < BIG_LEN; i++)
		big[i] = (char)(i * 31 >> 3);
	CHECK_OK(guest_write_file(g, fresh, big, BIG_LEN, SOON, &e), &e);
	check_file(g, fresh, big, BIG_LEN, 0644);

	/* a script stays one, a link goes on to name it */
	shell(g, "echo old >script; chmod 755 script; "
		 "ln -s script script-link");
	CHECK_OK(guest_write_file(g, link, "new\n", 4, SOON, &e), &e);
	check_file(g, script, "new\n", 4, 0755);
	CHECK_OK(guest_lstat(g, link, SOON, &st, &e), &e);
	CHECK(st.type == 'l');

	CHECK_FAILS(guest_write_file(g, nowhere, "x", 1, SOON, &e), &e,
		    ERR_NOT_FOUND, "none/x");
	CHECK_FAILS(guest_write_file(g, dir, "x", 1, SOON, &e), &e, ERR_INVALID,
		    "directory");
	CHECK_FAILS(guest_write_file(g, fifo, "x", 1, SOON, &e), &e,
		    ERR_INVALID, "regular");
	if (strcmp(tool_env("GUEST_USER"), "root") != 0)
		CHECK_FAILS(guest_write_file(g, "/etc/x", "x", 1, SOON, &e), &e,
			    ERR_DENIED, "/etc/x");
	ls = alloc_printf("find '%s' -name '.boxery*'", folder);
	left = say(g, ls);
	CHECK(left[0] == '\0');
}

/* Readers see one writer's content or another's, whole. */
static void *rewrite(void *guest)
{
	autofree char *path = in("contended");
	char text[4096];
	struct buf out;
	struct err e = {0};

	buf_init(&out, sizeof(text));
	for (int i = 0; i < 10; i++) {
		memset(text, 'a' + i, sizeof(text));
		CHECK_OK(guest_write_file(guest, path, text, sizeof(text), SOON,
					  &e),
			 &e);
		buf_reset(&out);
		CHECK_OK(guest_read_file(guest, path, SOON, &out, &e), &e);
		CHECK(out.len == sizeof(text));
		for (size_t n = 1; n < out.len; n++)
			CHECK(out.data[n] == out.data[0]);
	}
	buf_finish(&out);
	return NULL;
}

static void side_by_side(struct guest *g)
{
	pthread_t threads[6];

	for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
		CHECK(pthread_create(&threads[i], NULL, rewrite, g) == 0);
	for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
		pthread_join(threads[i], NULL);
}

/* The connection that was kept is dead: nobody notices. */
static void after_a_loss(struct guest *g)
{
	struct guest_stat st;
	struct err e = {0};

	for (int i = 0; i < 5; i++) {
		autofree char *pid = say(g, "echo $PPID");

		CHECK_OK(guest_lstat(g, folder, SOON, &st, &e), &e);
		CHECK(kill((pid_t)strtol(pid, NULL, 10), SIGKILL) == 0);
		if (i % 2)
			deadline_sleep_ms(50);
		CHECK_OK(guest_lstat(g, folder, SOON, &st, &e), &e);
	}
	guest_drop(g);
	CHECK_OK(guest_lstat(g, folder, SOON, &st, &e), &e);
}

int main(int argc, char *argv[])
{
	static void (*const parts[])(struct guest * g) = {
		attributes, links,	  listings,    reading,
		writing,    side_by_side, after_a_loss};
	struct guest *g = tool_guest();

	CHECK(argc == 2);
	folder = argv[1];
	for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
		parts[i](g);
	guest_free(g);
	return 0;
}
