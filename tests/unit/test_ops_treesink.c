/*
 * A sink that is told what no honest source says, or finds what somebody put
 * in its way. Whatever happens, nothing outside the target changes.
 */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/path.h"
#include "ops/copyroot.h"
#include "ops/manifest.h"
#include "ops/treesink.h"
#include "ops/treesource.h"
#include "ops/treewire.h"

#include "tests/support/tree.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define T0 1700000000

/* ---- scripts: what a source says, as words ------------------------------- */

/*
 *	n NAME		HEAD			e COUNT		MANIFEST_END
 *	d f l PATH	ENTRY (a file has 5 bytes)
 *	F INDEX		FILE			. TEXT		DATA
 *	E		FILE_END		C		CONFIRM
 *	D		DROP			T		TROUBLE
 *	X		DONE			W		WANT
 *	R		RESULT			! 		FAIL
 */
static int64_t file_time = T0;

static struct treewire_record record_of(const char *word)
{
	const char *arg = word + 1;
	struct treewire_str str = treewire_str(arg, strlen(arg));
	struct treewire_record r = {.type = TREE_ENTRY};
	static const struct {
		char letter;
		enum treewire_type type;
	} types[] = {
		{'n', TREE_HEAD}, {'e', TREE_MANIFEST_END}, {'F', TREE_FILE},
		{'.', TREE_DATA}, {'E', TREE_FILE_END},	    {'C', TREE_CONFIRM},
		{'D', TREE_DROP}, {'T', TREE_TROUBLE},	    {'X', TREE_DONE},
		{'W', TREE_WANT}, {'R', TREE_RESULT},	    {'!', TREE_FAIL},
	};

	for (unsigned i = 0; i < ARRAY_COUNT(types); i++) {
		if (types[i].letter == word[0])
			r.type = types[i].type;
	}
	r.version = TREEWIRE_VERSION;
	r.name = str;
	r.bytes = str;
	r.index = (uint32_t)strtoul(arg, NULL, 10);
	r.count = r.index;
	r.code = ERR_STATE;
	r.text = treewire_str("it broke", 8);
	if (r.type == TREE_ENTRY) {
		r.entry.type = word[0];
		r.entry.mode = word[0] == 'd' ? 0755 : 0644;
		r.entry.mtime_s = file_time;
		r.entry.len = word[0] == 'f' ? 5 : 0;
		r.entry.path = str;
		if (word[0] == 'l')
			r.entry.target = treewire_str("/etc/passwd", 11);
	}
	return r;
}

struct ending {
	struct err err; /* NONE: RESULT without trouble */
	bool ended, failed;
	struct treewire_result result;
	unsigned want_count;
	uint64_t offset; /* of the last WANT */
};

static int take(const struct treewire_record *r, void *ctx, struct err *e)
{
	struct ending *x = ctx;

	(void)e;
	if (r->type == TREE_WANT) {
		x->want_count++;
		x->offset = r->offset;
	}
	if (r->type == TREE_RESULT || r->type == TREE_FAIL) {
		x->failed = r->type == TREE_FAIL;
		x->result = r->result;
		if (r->code != ERR_NONE)
			treewire_to_err(r, &x->err);
	}
	return 0;
}

static void listen_to(struct treesink *t, struct ending *x)
{
	char bytes[4096];
	struct err e = {0};
	struct buf in;
	size_t n;

	buf_init(&in, TREEWIRE_RECORD_LEN);
	while ((n = treesink_produce(t, bytes, sizeof(bytes))) > 0)
		assert_ok(treewire_feed(&in, bytes, n, take, x, &e), &e);
	buf_finish(&in);
	x->ended = treesink_ended(t);
}

/* Say all of words (NULL-terminated) to a sink for path. */
static struct ending play(const char *path, const char *const *words)
{
	auto_copyroot struct copyroot *root = NULL;
	struct treesink *t = NULL;
	struct ending x = {0};
	struct err e = {0};
	struct buf b;

	assert_ok(copyroot_new(NULL, NULL, &root, &e), &e);
	assert_ok(treesink_new(root, path, &t, &e), &e);
	buf_init(&b, 1 << 20);
	for (; *words && !x.ended; words++) {
		struct treewire_record r = record_of(*words);

		buf_reset(&b);
		assert_ok(treewire_encode(&b, &r, &e), &e);
		treesink_feed(t, b.data, b.len);
		listen_to(t, &x);
	}
	buf_finish(&b);
	treesink_free(t);
	return x;
}

#define PLAY(path, ...)                                                        \
	play((path), (const char *const[]){__VA_ARGS__, NULL})

/* ---- order -------------------------------------------------------------- */

static void speaks_in_turn(void **state)
{
	static const struct {
		const char *words[16];
		const char *text;
	} rows[] = {
		{{"d"}, "out of turn"},
		{{"e0"}, "out of turn"},
		{{"ns", "ns"}, "out of turn"},
		{{"n..", "d"}, "not a file's name"},
		{{"na/b", "d"}, "not a file's name"},
		{{"ns", "e0"}, "should have"},
		{{"ns", "d", "e2"}, "should have"},
		{{"ns", "d", "F0"}, "out of turn"},
		{{"ns", "d", "X"}, "out of turn"},
		{{"ns", "d", "W0"}, "out of turn"},
		{{"ns", "d", "R"}, "out of turn"},
		{{"n", "f", "e1"}, "without a name"},
		{{"ns", "d", "e1", "d"}, "out of turn"},
		{{"ns", "d", "e1", "e1"}, "out of turn"},
		{{"ns", "d", "e1", "F0"}, "out of turn"},
		{{"ns", "d", "e1", "."}, "out of turn"},
		{{"ns", "d", "e1", "E"}, "out of turn"},
		{{"ns", "f", "e1", "F1"}, "not asked for"},
		{{"ns", "f", "e1", ".x"}, "out of turn"},
		{{"ns", "f", "e1", "X"}, "not all files"},
		{{"ns", "f", "e1", "F0", "F0"}, "out of turn"},
		{{"ns", "f", "e1", "F0", ".123456"}, "longer"},
		{{"ns", "f", "e1", "F0", ".1234", "E"}, "1 bytes shorter"},
		{{"ns", "f", "e1", "F0", ".12345", "C"}, "out of turn"},
		{{"ns", "f", "e1", "F0", ".12345", "X"}, "not all files"},
		{{"ns", "f", "e1", "F0", ".12345", "E", "X"}, "not all files"},
		{{"ns", "f", "e1", "F0", ".12345", "E", ".x"}, "out of turn"},
		{{"ns", "f", "e1", "F0", ".12345", "E", "C", "F0"},
		 "out of turn"},
		{{"ns", "f", "e1", "F0", ".12345", "E", "D", "X"},
		 "not all files"},
		{{"ns", "d", "fa", "fb", "e3", "F1", ".12345", "E", "F1"},
		 "not asked for"},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		autofree char *name = alloc_printf("dst%u", i);
		autofree char *path = path_join(unit_dir(), name);
		struct ending x = play(path, rows[i].words);

		assert_true(x.failed);
		assert_int_equal(x.err.code, ERR_PROTOCOL);
		if (!strstr(x.err.msg, rows[i].text))
			fail_msg("row %u: %s", i, x.err.msg);
	}
}

static void drops_and_trouble(void **state)
{
	const char *path = unit_path("dst");
	autofree char *text = NULL;
	struct ending x;

	(void)state;
	/* withdrawn twice, once in the middle of a file, then sent again */
	x = PLAY(path, "ns", "d", "fa", "fb", "e3", "F1", ".12345", "E", "F2",
		 ".123", "D", "F1", ".abcde", "E", "D", "F1", ".ABCDE", "E",
		 "C", "F2", ".fghij", "E", "C", "X");
	assert_int_equal(x.err.code, ERR_NONE);
	assert_true(x.ended);
	assert_int_equal(x.result.file_count, 2);
	text = tree_read(unit_path("dst/a"));
	assert_string_equal(text, "ABCDE");

	/* the source lost one: the other is there, the copy failed */
	path = unit_path("dst2");
	x = PLAY(path, "ns", "d", "fa", "fb", "e3", "F1", ".12", "T", "F2",
		 ".fghij", "E", "C", "X");
	assert_true(x.ended);
	assert_false(x.failed);
	assert_int_equal(x.err.code, ERR_STATE);
	assert_string_equal(x.err.msg, "it broke");
	assert_int_equal(x.result.file_count, 1);
	assert_int_equal(access(unit_path("dst2/a"), F_OK), -1);
	assert_int_equal(access(unit_path("dst2/b"), F_OK), 0);

	/* what failed stays failed when others are withdrawn */
	path = unit_path("dst3");
	x = PLAY(path, "ns", "d", "fa", "fb", "e3", "F1", "T", "F2", ".fghij",
		 "E", "D", "F2", ".fghij", "E", "C", "T", "X");
	assert_int_equal(x.result.trouble_count, 2);
	assert_non_null(strstr(x.err.msg, "1 more"));

	/* the source gives up */
	x = PLAY(unit_path("dst4"), "ns", "f", "e1", "F0", ".12", "!");
	assert_true(x.ended);
}

/* ---- what lies in the way ------------------------------------------------ */

/* A folder outside, with a file that must stay what it is. */
static void make_outside(void)
{
	tree_dir(unit_path("outside"), 0755);
	tree_text(unit_path("outside/secret"), "kept");
	tree_dir(unit_path("dst"), 0755);
}

static void assert_outside_kept(void)
{
	autofree char *text = tree_read(unit_path("outside/secret"));
	autofree char *tree = tree_describe(unit_path("outside"));
	unsigned lines = 0;

	assert_string_equal(text, "kept");
	for (const char *p = tree; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, 2);
}

#define FILE_OK "F2", ".12345", "E", "C", "X"

static void planted_links(void **state)
{
	struct ending x;

	(void)state;
	make_outside();
	/* a directory of the copy is a link here: refused */
	tree_link(unit_path("dst/sub"), "../outside");
	x = PLAY(unit_path("dst"), "n", "d", "dsub", "fsub/secret", "e3",
		 FILE_OK);
	assert_int_equal(x.err.code, ERR_DENIED);
	assert_outside_kept();

	/* deeper, and below a root that gets its own name */
	tree_dir(unit_path("dst/root"), 0755);
	tree_link(unit_path("dst/root/sub"), "../../outside");
	x = PLAY(unit_path("dst"), "nroot", "d", "dsub", "fsub/secret", "e3",
		 FILE_OK);
	assert_int_equal(x.err.code, ERR_DENIED);
	assert_outside_kept();

	/* the root itself */
	x = PLAY(unit_path("dst"), "nsub", "d", "dx", "fsecret", "e3", FILE_OK);
	assert_int_equal(x.err.code, ERR_DENIED);
	assert_outside_kept();

	/* a file is a link here: the link is replaced, not what it names */
	tree_link(unit_path("dst/secret"), "../outside/secret");
	x = PLAY(unit_path("dst"), "n", "d", "dy", "fsecret", "e3", FILE_OK);
	assert_int_equal(x.err.code, ERR_NONE);
	assert_outside_kept();

	/* a link of the copy is made last, and nothing goes through it */
	x = PLAY(unit_path("dst"), "n", "d", "lz", "fw", "e3", FILE_OK);
	assert_int_equal(x.err.code, ERR_NONE);
	x = PLAY(unit_path("dst"), "n", "d", "dz", "fz/shadow", "e3", FILE_OK);
	assert_int_equal(x.err.code, ERR_DENIED);
}

/* The partial name can be foretold. */
static void planted_parts(void **state)
{
	const struct manifest_entry n = {
		.path = "f", .len = 5, .mtime_s = T0};
	char part[MANIFEST_PART_SIZE];
	autofree char *path = NULL, *text = NULL;
	struct stat st;
	struct ending x;

	(void)state;
	make_outside();
	manifest_part_name("f", &n, part);
	path = alloc_printf("%s/dst/%s", unit_dir(), part);

	tree_link(path, "../outside/secret");
	x = PLAY(unit_path("dst"), "n", "d", "dx", "ff", "e3", FILE_OK);
	assert_int_equal(x.err.code, ERR_NONE);
	assert_outside_kept();

	/* a hard link of fitting length is not continued */
	unlink(unit_path("dst/f"));
	assert_int_equal(link(unit_path("outside/secret"), path), 0);
	x = PLAY(unit_path("dst"), "n", "d", "dx", "ff", "e3", FILE_OK);
	assert_int_equal(x.err.code, ERR_NONE);
	assert_int_equal(x.offset, 0);
	assert_outside_kept();

	unlink(unit_path("dst/f"));
	assert_int_equal(mkfifo(path, 0600), 0);
	x = PLAY(unit_path("dst"), "n", "d", "dx", "ff", "e3", FILE_OK);
	assert_int_equal(x.err.code, ERR_NONE);

	unlink(unit_path("dst/f"));
	assert_int_equal(mkdir(path, 0700), 0);
	x = PLAY(unit_path("dst"), "n", "d", "dx", "ff", "e3", FILE_OK);
	assert_int_equal(x.err.code, ERR_SYSTEM);
	assert_int_equal(rmdir(path), 0);

	/* ours: continued */
	tree_text(path, "abc");
	x = PLAY(unit_path("dst"), "n", "d", "dx", "ff", "e3");
	assert_int_equal(x.want_count, 1);
	assert_int_equal(x.offset, 3);
	/* longer than the file: from the start */
	tree_text(path, "abcdefgh");
	x = PLAY(unit_path("dst"), "n", "d", "dx", "ff", "e3", FILE_OK);
	assert_int_equal(x.err.code, ERR_NONE);
	assert_int_equal(x.offset, 0);
	text = tree_read(unit_path("dst/f"));
	assert_string_equal(text, "12345");
	assert_int_equal(stat(unit_path("dst/f"), &st), 0);
	assert_int_equal(st.st_nlink, 1);
}

static void hard_links_and_devices(void **state)
{
	struct ending x;
	struct stat st;

	(void)state;
	make_outside();
	assert_int_equal(link(unit_path("outside/secret"), unit_path("dst/f")),
			 0);
	x = PLAY(unit_path("dst"), "n", "d", "dx", "ff", "e3", FILE_OK);
	assert_int_equal(x.err.code, ERR_NONE);
	assert_outside_kept();

	unlink(unit_path("dst/f"));
	assert_int_equal(mkfifo(unit_path("dst/f"), 0600), 0);
	x = PLAY(unit_path("dst"), "n", "d", "dx", "ff", "e3", FILE_OK);
	assert_int_equal(x.err.code, ERR_EXISTS);
	if (geteuid() == 0) {
		unlink(unit_path("dst/f"));
		/* /dev/null's number: harmless if it were written to */
		assert_int_equal(mknod(unit_path("dst/f"), S_IFCHR | 0600,
				       (dev_t)0x103),
				 0);
		x = PLAY(unit_path("dst"), "n", "d", "dx", "ff", "e3", FILE_OK);
		assert_int_equal(x.err.code, ERR_EXISTS);
		assert_int_equal(lstat(unit_path("dst/f"), &st), 0);
		assert_true(S_ISCHR(st.st_mode));
	}
	/* directory over file, file over directory, link over directory */
	tree_text(unit_path("dst/g"), "mine");
	x = PLAY(unit_path("dst"), "n", "d", "dg", "e2", "X");
	assert_int_equal(x.err.code, ERR_EXISTS);
	x = PLAY(unit_path("dst"), "n", "d", "fx", "e2", "X");
	assert_int_equal(x.err.code, ERR_EXISTS);
	x = PLAY(unit_path("dst"), "n", "d", "lx", "e2", "X");
	assert_int_equal(x.err.code, ERR_EXISTS);
}

/* A full disk, as far as a test can make one: the part stays for later. */
static void write_fails(void **state)
{
	struct rlimit old, small = {3, RLIM_INFINITY};
	struct ending x;

	(void)state;
	tree_dir(unit_path("dst"), 0755);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small.rlim_max = old.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	x = PLAY(unit_path("dst"), "n", "d", "dx", "ff", "e3", FILE_OK);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_true(x.failed);
	assert_int_equal(access(unit_path("dst/f"), F_OK), -1);
	x = PLAY(unit_path("dst"), "n", "d", "dx", "ff", "e3");
	assert_int_equal(x.offset, 3);
}

/* ---- races -------------------------------------------------------------- */

#define ROUNDS 2000

struct racer {
	const char *dir, *link;
	atomic_bool stop;
	atomic_uint swaps;
};

/* Exchanges a directory and a link to the outside, again and again. */
static void *race(void *p)
{
	struct racer *r = p;

	for (unsigned i = 1; !atomic_load(&r->stop); i++) {
		/* from in the middle of a copy to one in several */
		usleep(i * 7919 % 2000);
		if (renameat2(AT_FDCWD, r->dir, AT_FDCWD, r->link,
			      RENAME_EXCHANGE) == 0)
			atomic_fetch_add(&r->swaps, 1);
	}
	return NULL;
}

static void start_race(struct racer *r, pthread_t *thread, const char *dir,
		       const char *link)
{
	r->dir = dir;
	r->link = link;
	tree_link(link, unit_path("outside"));
	assert_int_equal(pthread_create(thread, NULL, race, r), 0);
}

static unsigned stop_race(struct racer *r, pthread_t thread)
{
	atomic_store(&r->stop, true);
	pthread_join(thread, NULL);
	return atomic_load(&r->swaps);
}

/* The sink writes into dst/sub while that is swapped for outside. */
static void sink_in_a_race(void **state)
{
	static const char *const words[] = {
		"n", "d", "dsub", "fsub/secret", "fsub/new", "lsub/link", "e5",
		"F2", ".12345", "E", "C", "F3", ".12345", "E", "C", "X", NULL};
	struct racer r = {0};
	unsigned good = 0, rounds = 0, swaps;
	pthread_t thread;
	const char *path;

	(void)state;
	make_outside();
	tree_dir(unit_path("dst/sub"), 0755);
	path = unit_path("dst");
	start_race(&r, &thread, unit_path("dst/sub"), unit_path("dst/other"));
	/* a round that is refused at once is short: count swaps as well */
	for (; rounds < ROUNDS || atomic_load(&r.swaps) < ROUNDS; rounds++) {
		struct ending x = play(path, words);

		good += x.ended && x.err.code == ERR_NONE;
		file_time++; /* the next round wants them again */
	}
	file_time = T0;
	swaps = stop_race(&r, thread);
	print_message("%u of %u copies succeeded, %u swaps\n", good, rounds,
		      swaps);
	assert_true(good > 0 && good < rounds);
	assert_outside_kept();
}

/* The source reads src/sub while that is swapped for outside. */
static void source_in_a_race(void **state)
{
	struct racer r = {0};
	pthread_t thread;
	unsigned good = 0;
	const char *src, *dst, *secret, *dst_sub;

	(void)state;
	make_outside();
	tree_dir(unit_path("src"), 0755);
	tree_dir(unit_path("src/sub"), 0755);
	tree_text(unit_path("src/sub/secret"), "mine");
	src = unit_path("src/.");
	dst = unit_path("dst");
	dst_sub = unit_path("dst/sub");
	secret = unit_path("dst/sub/secret");
	start_race(&r, &thread, unit_path("src/sub"), unit_path("src/other"));
	for (int i = 0; i < ROUNDS; i++) {
		struct tree_copy c = {0};
		struct stat st;
		struct err e = {0};

		tree_copy(src, dst, &c);
		good += c.err.code == ERR_NONE;
		/* a link where the directory was is copied as a link */
		if (lstat(dst_sub, &st) == 0 && S_ISDIR(st.st_mode) &&
		    access(secret, F_OK) == 0) {
			autofree char *text = tree_read(secret);

			assert_string_equal(text, "mine");
		}
		assert_ok(path_remove_tree(dst, &e), &e);
		tree_dir(dst, 0755);
	}
	print_message("%u of %d copies succeeded, %u swaps\n", good, ROUNDS,
		      stop_race(&r, thread));
	assert_true(good > 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(speaks_in_turn),
	cmocka_unit_test(drops_and_trouble),
	cmocka_unit_test(planted_links),
	cmocka_unit_test(planted_parts),
	cmocka_unit_test(hard_links_and_devices),
	cmocka_unit_test(write_fails),
	cmocka_unit_test(sink_in_a_race),
	cmocka_unit_test(source_in_a_race),
};

UNIT_MAIN(tests)
