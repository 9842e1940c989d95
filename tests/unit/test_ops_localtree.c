/* Local source joined to local sink: what a user sees of a copy. */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/path.h"
#include "ops/copyroot.h"
#include "ops/localtree.h"
#include "ops/manifest.h"
#include "ops/treesink.h"
#include "ops/treesource.h"

#include "tests/support/tree.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define T0 1700000000

static void assert_same_tree(const char *a, const char *b)
{
	autofree char *x = tree_describe(a);
	autofree char *y = tree_describe(b);

	assert_string_equal(x, y);
}

/* Everything that a tree may hold. */
static void make_tree(void)
{
	tree_dir(unit_path("src"), 0755);
	tree_dir(unit_path("src/empty"), 0700);
	tree_dir(unit_path("src/sub"), 0755);
	tree_dir(unit_path("src/sub/deep"), 0755);
	tree_file(unit_path("src/none"), 0, 1, 0600, T0 + 1);
	tree_file(unit_path("src/small"), 5, 2, 0644, T0 + 2);
	tree_file(unit_path("src/run me"), 4097, 3, 0755, -5);
	tree_file(unit_path("src/sub/big"), 700001, 4, 0640, T0 + 4);
	tree_file(unit_path("src/sub/deep/new\nline"), 70, 5, 0444, T0 + 5);
	tree_file(unit_path("src/sub/deep/\xff\xfe'\"$(x)`"), 70, 6, 0, T0);
	tree_link(unit_path("src/dangling"), "no/where");
	tree_link(unit_path("src/absolute"), "/etc/passwd");
	tree_link(unit_path("src/sub/up"), "../small");
	tree_time(unit_path("src/absolute"), T0 + 7);
	tree_time(unit_path("src/sub/deep"), T0 + 8);
	chmod(unit_path("src/sub/deep"), 0555);
	tree_time(unit_path("src/sub"), T0 + 9);
	tree_time(unit_path("src/empty"), T0 + 10);
	tree_time(unit_path("src"), T0 + 11);
}

static void trees(void **state)
{
	static const size_t pieces[] = {1, 7, 4096, 5000, 1 << 20};

	(void)state;
	make_tree();
	for (unsigned i = 0; i < ARRAY_COUNT(pieces); i++) {
		struct tree_copy c = {.piece = pieces[i]};
		autofree char *name = alloc_printf("dst%u", i);
		const char *to = unit_path(name);

		tree_copy(unit_path("src"), to, &c);
		assert_int_equal(c.err.code, ERR_NONE);
		assert_same_tree(unit_path("src"), to);
		assert_int_equal(c.result.file_count, 6);
		assert_int_equal(c.result.dir_count, 4);
		assert_int_equal(c.result.link_count, 3);
		assert_int_equal(c.result.byte_count, c.data_len);
		assert_int_equal(c.warn_count, 0);

		/* again: nothing crosses, nothing changes */
		c = (struct tree_copy){.piece = pieces[i]};
		tree_copy(unit_path("src/."), to, &c);
		assert_int_equal(c.err.code, ERR_NONE);
		assert_same_tree(unit_path("src"), to);
		assert_int_equal(c.result.file_count, 0);
		assert_int_equal(c.result.same_count, 6);
		assert_int_equal(c.data_len, 0);
	}
}

/* A change of length, time or mode is seen; a local extra file stays. */
static void reruns(void **state)
{
	struct tree_copy c = {0};
	autofree char *extra = NULL;

	(void)state;
	make_tree();
	tree_copy(unit_path("src"), unit_path("dst"), &c);
	tree_text(unit_path("dst/extra"), "mine");
	tree_file(unit_path("src/small"), 5, 9, 0644, T0 + 3);
	tree_file(unit_path("src/none"), 1, 9, 0600, T0 + 1);
	chmod(unit_path("src/run me"), 0700);
	c = (struct tree_copy){0};
	/* dst is there now: the copy goes into it, as with cp */
	tree_copy(unit_path("src"), unit_path("dst"), &c);
	assert_same_tree(unit_path("src"), unit_path("dst/src"));

	c = (struct tree_copy){0};
	tree_copy(unit_path("src/."), unit_path("dst"), &c);
	assert_int_equal(c.err.code, ERR_NONE);
	assert_int_equal(c.result.file_count, 3);
	assert_int_equal(c.result.same_count, 3);
	extra = tree_read(unit_path("dst/extra"));
	assert_string_equal(extra, "mine");
}

struct place_row {
	const char *from, *to, *lands; /* lands NULL: refused */
	enum err_code code;
};

static void places(void **state)
{
	static const struct place_row rows[] = {
		{"src/small", "d", "d/small", 0},
		{"src/small", "d/", "d/small", 0},
		{"src/small", "d/other", "d/other", 0},
		{"src/small", "file", "file", 0},
		{"src/small", "tolink", "tolink", 0},
		{"src/small", "todir", "d/small", 0},
		{"src/dangling", "d", "d/dangling", 0},
		{"src/dangling", "l", "l", 0},
		{"src/sub", "d", "d/sub", 0},
		{"src/sub/", "d", "d/sub", 0},
		{"src/sub", "d/as", "d/as", 0},
		{"src/small", "new/", NULL, ERR_NOT_FOUND},
		{"src/sub", "new/", NULL, ERR_NOT_FOUND},
		{"src/small", "no/such/dir", NULL, ERR_NOT_FOUND},
		{"src/sub", "file", NULL, ERR_EXISTS},
		{"src/sub", "tolink", NULL, ERR_EXISTS},
		{"src/small", "file/", NULL, ERR_SYSTEM},
		{"src/small", "file/x", NULL, ERR_SYSTEM},
		{"src/small", "full", NULL, ERR_EXISTS},
		{"src/sub", "full", NULL, ERR_EXISTS},
		{"src/small", "fifo", NULL, ERR_EXISTS},
		{"src/small", "dev", NULL, ERR_EXISTS},
	};

	(void)state;
	make_tree();
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		const struct place_row *r = &rows[i];
		autofree char *root = alloc_printf("p%u", i);
		autofree char *to = alloc_printf("%s/%s", root, r->to);
		autofree char *lands =
			alloc_printf("%s/%s", root, r->lands ? r->lands : "");
		auto_copyroot struct copyroot *cr = NULL;
		struct treesource *source = NULL;
		struct treesink *sink = NULL;
		struct tree_copy c = {0};
		struct err e = {0};
		const char *dir = unit_dir();

		assert_int_equal(chdir(dir), 0);
		tree_dir(root, 0755);
		assert_int_equal(chdir(root), 0);
		tree_dir("d", 0755);
		tree_text("file", "old");
		tree_text("kept", "kept");
		tree_link("tolink", "kept");
		tree_link("todir", "d");
		tree_dir("full", 0755);
		tree_dir("full/small", 0755);
		tree_text("full/sub", "in the way");
		assert_int_equal(mkfifo("fifo", 0600), 0);
		tree_link("dev", "/dev/null");
		assert_int_equal(unlink("dev"), 0);
		assert_int_equal(mkfifo("dev", 0600), 0);
		assert_int_equal(chdir(dir), 0);

		assert_ok(copyroot_new(NULL, NULL, &cr, &e), &e);
		assert_ok(treesource_new(cr, r->from, &source, &e), &e);
		if (treesink_new(cr, to, &sink, &e) == 0)
			tree_pump(source, sink, &c);
		else
			treesource_free(source);
		if (e.code == ERR_NONE)
			e = c.err;
		if (r->lands) {
			assert_int_equal(e.code, ERR_NONE);
			assert_same_tree(r->from, lands);
		} else {
			assert_int_equal(e.code, r->code);
			assert_true(strlen(e.msg) > 10);
		}
		autofree char *kept = alloc_printf("%s/kept", root);
		autofree char *text = tree_read(kept);
		assert_string_equal(text, "kept");
	}
	assert_int_equal(chdir("/"), 0);
}

/* Cut off in the middle of a file, then run again: only the rest crosses. */
static void resumes(void **state)
{
	struct tree_copy c = {.piece = 8192, .cut_len = 300000};
	autofree char *part = NULL;

	(void)state;
	make_tree();
	tree_dir(unit_path("dst"), 0755);
	tree_copy(unit_path("src/sub/big"), unit_path("dst"), &c);
	assert_in_range(c.data_len, 300000, 310000);
	assert_int_equal(access(unit_path("dst/big"), F_OK), -1);
	part = tree_describe(unit_path("dst"));
	assert_non_null(strstr(part, MANIFEST_PART_PREFIX));

	uint64_t had = c.data_len;
	c = (struct tree_copy){0};
	tree_copy(unit_path("src/sub/big"), unit_path("dst"), &c);
	assert_int_equal(c.err.code, ERR_NONE);
	assert_int_equal(c.data_len, 700001 - had);
	assert_same_tree(unit_path("src/sub/big"), unit_path("dst/big"));
	free(part);
	part = tree_describe(unit_path("dst"));
	assert_null(strstr(part, MANIFEST_PART_PREFIX));
}

/* A part of other bytes is not continued: the file changed in between. */
static void resumes_only_the_same(void **state)
{
	struct tree_copy c = {.piece = 8192, .cut_len = 300000};

	(void)state;
	make_tree();
	tree_dir(unit_path("dst"), 0755);
	tree_copy(unit_path("src/sub/big"), unit_path("dst"), &c);
	tree_file(unit_path("src/sub/big"), 700001, 44, 0640, T0 + 44);
	c = (struct tree_copy){0};
	tree_copy(unit_path("src/sub/big"), unit_path("dst"), &c);
	assert_int_equal(c.err.code, ERR_NONE);
	assert_int_equal(c.data_len, 700001);
	assert_same_tree(unit_path("src/sub/big"), unit_path("dst/big"));
}

enum change { SHRINK, GROW, TOUCH, VANISH, REPLACE, TO_FIFO, TO_LINK };

static void change(uint64_t data_len, void *ctx)
{
	enum change *how = ctx;
	const char *path = "src/m";

	if (data_len < 100000 || (int)*how < 0)
		return;
	if (*how == SHRINK)
		assert_int_equal(truncate(path, 500000), 0);
	if (*how == GROW)
		assert_int_equal(truncate(path, 700002), 0);
	if (*how == TOUCH)
		tree_time(path, T0 + 99);
	if (*how >= VANISH)
		assert_int_equal(unlink("src/z"), 0);
	if (*how == REPLACE)
		tree_file("src/z", 70, 9, 0600, T0 + 99);
	if (*how == TO_FIFO)
		assert_int_equal(mkfifo("src/z", 0600), 0);
	if (*how == TO_LINK)
		tree_link("src/z", "/etc/passwd");
	*how = (enum change)-1;
}

/* The copy fails, the other files are there, the changed one is not. */
static void source_changes(void **state)
{
	static const struct {
		enum change how;
		const char *lost, *text;
	} rows[] = {
		{SHRINK, "m", "shorter"},     {GROW, "m", "changed"},
		{TOUCH, "m", "changed"},      {VANISH, "z", "No such file"},
		{REPLACE, "z", "changed"},    {TO_FIFO, "z", "changed"},
		{TO_LINK, "z", "symbolic link"},
	};

	(void)state;
	assert_int_equal(chdir(unit_dir()), 0);
	tree_dir("src", 0755);
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		enum change how = rows[i].how;
		struct tree_copy c = {.piece = 8192, .meanwhile = change,
				      .ctx = &how};
		autofree char *dst = alloc_printf("dst%u", i);
		autofree char *lost = alloc_printf("dst%u/%s", i, rows[i].lost);
		autofree char *text = NULL;

		unlink("src/z");
		tree_file("src/a", 70, 1, 0600, T0);
		tree_file("src/m", 700001, 2, 0600, T0);
		tree_file("src/z", 70, 3, 0600, T0);
		tree_copy("src", dst, &c);
		assert_int_equal((int)how, -1);
		assert_int_not_equal(c.err.code, ERR_NONE);
		assert_non_null(strstr(c.err.msg, rows[i].text));
		assert_int_equal(c.result.trouble_count, 1);
		assert_int_equal(c.result.file_count, 2);
		assert_int_equal(access(lost, F_OK), -1);
		text = tree_describe(dst);
		assert_null(strstr(text, MANIFEST_PART_PREFIX));
	}
	assert_int_equal(chdir("/"), 0);
}

static void leaves_out(void **state)
{
	struct tree_copy c = {0};
	autofree char *text = NULL;

	(void)state;
	tree_dir(unit_path("src"), 0755);
	tree_file(unit_path("src/a"), 5, 1, 0600, T0);
	assert_int_equal(mkfifo(unit_path("src/fifo"), 0600), 0);
	assert_int_equal(mkfifo(unit_path("src/gifo"), 0600), 0);
	tree_text(unit_path("src/.boxery-part-0123456789abcdef"), "half");
	tree_copy(unit_path("src"), unit_path("dst"), &c);
	assert_int_equal(c.err.code, ERR_NONE);
	assert_int_equal(c.warn_count, 1);
	assert_string_equal(c.warn, "left out 2 special files (fifo)");
	text = tree_describe(unit_path("dst"));
	assert_null(strstr(text, "ifo"));
	assert_null(strstr(text, "part"));
}

/* A named link is copied as a link (cp -R -P); with a slash it is followed. */
static void named_links(void **state)
{
	struct tree_copy c = {0};
	char target[64] = "";

	(void)state;
	make_tree();
	tree_link(unit_path("src/tosub"), "sub");
	tree_copy(unit_path("src/tosub"), unit_path("l"), &c);
	assert_int_equal(readlink(unit_path("l"), target, sizeof(target)), 3);
	tree_copy(unit_path("src/tosub/"), unit_path("d"), &c);
	assert_same_tree(unit_path("src/sub"), unit_path("d"));
}

static void source_refuses(void **state)
{
	static const struct {
		const char *path;
		enum err_code code;
	} rows[] = {
		{"none", ERR_NOT_FOUND},
		{"no/dir", ERR_NOT_FOUND},
		{"fifo", ERR_INVALID},
		{".boxery-part-1", ERR_INVALID},
		{"file/", ERR_SYSTEM},
	};
	auto_copyroot struct copyroot *cr = NULL;
	struct err e = {0};

	(void)state;
	tree_text(unit_path("file"), "x");
	tree_text(unit_path(".boxery-part-1"), "x");
	assert_int_equal(mkfifo(unit_path("fifo"), 0600), 0);
	assert_ok(copyroot_new(NULL, NULL, &cr, &e), &e);
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		struct treesource *s = NULL;
		autofree char *path =
			alloc_printf("%s/%s", unit_dir(), rows[i].path);

		assert_fails(treesource_new(cr, path, &s, &e), &e, rows[i].code,
			     "local:");
	}
}

/* What a user without rights sees: the rest is copied, the copy fails. */
static void unreadable(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	make_tree();
	chmod(unit_path("src/sub/deep"), 0);
	chmod(unit_path("src/small"), 0);
	assert_int_equal(chmod(unit_dir(), 0777), 0);
	tree_dir(unit_path("out"), 0777);
	pid = fork();
	if (pid == 0) {
		struct tree_copy c = {0};

		if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
			_exit(2);
		tree_copy(unit_path("src"), unit_path("out"), &c);
		/* empty 0700, none 0600, run me, big 0640: root's own */
		_exit(c.err.code == ERR_DENIED && c.result.trouble_count >= 2 &&
				      access(unit_path("out/src/run me"),
					     F_OK) == 0
			      ? 0
			      : 1);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void for_call(void **state)
{
	static const struct {
		const char *op, *from, *to;
		int kind; /* 1 local, 0 none, -1 refused */
	} rows[] = {
		{"vm_run", "local:x", "demo:y", 0},
		{"vm_copy", "local:/etc/passwd", "demo:y", 1},
		{"vm_copy", "demo:y", "local:/tmp", 1},
		{"vm_copy", "demo:y", "other:y", 0},
		{"vm_copy", "local:/etc/passwd", "local:/tmp/y", -1},
		{"vm_copy", "local:/no/such", "demo:y", -1},
		{"vm_copy", "plain", "demo:y", -1},
		{"vm_copy", "demo:y", "local:/no/such/dir", -1},
		{"vm_copy", NULL, "demo:y", -1},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		json_t *args = json_pack("{s:s*, s:s}", "from", rows[i].from,
					 "to", rows[i].to);
		auto_localtree struct localtree *t = NULL;
		struct err e = {0};
		int rc = localtree_for_call(rows[i].op, args, NULL, NULL, &t,
					    &e);

		assert_int_equal(rc, rows[i].kind < 0 ? -1 : 0);
		assert_int_equal(t != NULL, rows[i].kind == 1);
		if (t)
			assert_false(localtree_ended(t));
		json_decref(args);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(trees),
	cmocka_unit_test(reruns),
	cmocka_unit_test(places),
	cmocka_unit_test(resumes),
	cmocka_unit_test(resumes_only_the_same),
	cmocka_unit_test(source_changes),
	cmocka_unit_test(leaves_out),
	cmocka_unit_test(named_links),
	cmocka_unit_test(source_refuses),
	cmocka_unit_test(unreadable),
	cmocka_unit_test(for_call),
};

UNIT_MAIN(tests)
