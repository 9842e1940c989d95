/* K02, K03: what an agent may name on the person's computer. */
#include "base/alloc.h"
#include "base/path.h"
#include "ops/copyroot.h"
#include "ops/localtree.h"
#include "ops/treesink.h"
#include "ops/treesource.h"

#include "tests/support/tree.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct home home;

/*
 *	T/home			$HOME: .ssh, .pi, but no .gnupg
 *	T/home/project		a good copy root: file, sub/file, and links
 *	T/home/project/bx	BOXERY_HOME: config and state, run not made yet
 *	T/other			outside
 */
static int set_up(void **state)
{
	(void)state;
	tree_dir(unit_path("home"), 0755);
	tree_dir(unit_path("home/.ssh"), 0700);
	tree_dir(unit_path("home/.ssh/keys"), 0700);
	tree_text(unit_path("home/.ssh/id"), "private");
	tree_text(unit_path("home/.ssh/keys/id"), "private");
	tree_dir(unit_path("home/.pi"), 0700);
	tree_dir(unit_path("home/project"), 0755);
	tree_text(unit_path("home/project/file"), "f");
	tree_dir(unit_path("home/project/sub"), 0755);
	tree_text(unit_path("home/project/sub/file"), "f");
	tree_dir(unit_path("home/project/bx"), 0755);
	tree_dir(unit_path("home/project/bx/config"), 0700);
	tree_text(unit_path("home/project/bx/config/tokens.json"), "token");
	tree_dir(unit_path("home/project/bx/state"), 0700);
	tree_dir(unit_path("other"), 0755);
	tree_text(unit_path("other/file"), "o");
	tree_link(unit_path("home/project/out"), "../../other");
	tree_link(unit_path("home/project/outfile"), "../../other/file");
	tree_link(unit_path("home/project/in"), "sub");
	tree_link(unit_path("home/project/ssh"), "../.ssh");
	tree_link(unit_path("home/project/cfg"), "bx/config");
	tree_link(unit_path("tohome"), "home");
	tree_link(unit_path("toproject"), "home/project");
	home = (struct home){
		.config = alloc_str(unit_path("home/project/bx/config")),
		.state = alloc_str(unit_path("home/project/bx/state")),
		.data = alloc_str(unit_path("home/project/bx/data")),
		.run = alloc_str(unit_path("home/project/bx/run")),
	};
	return setenv("HOME", unit_path("home"), 1);
}

static int tear_down(void **state)
{
	(void)state;
	free(home.config);
	free(home.state);
	free(home.data);
	free(home.run);
	return chdir("/");
}

static void roots(void **state)
{
	static const struct {
		const char *dir;
		enum err_code code;
	} rows[] = {
		{"home/project", 0},
		{"toproject", 0},
		{"other", 0},
		{"home", ERR_DENIED},
		{"home/", ERR_DENIED},
		{"home/project/..", ERR_DENIED},
		{"tohome", ERR_DENIED},
		{"", ERR_DENIED},
		{"../..", ERR_DENIED},
		{"none", ERR_NOT_FOUND},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		auto_copyroot struct copyroot *c = NULL;
		autofree char *dir = path_join(unit_dir(), rows[i].dir);
		struct err e = {0};
		int rc = copyroot_new(dir, &home, &c, &e);

		if (rows[i].code)
			assert_fails(rc, &e, rows[i].code, "cop");
		else
			assert_ok(rc, &e);
	}
	/* relative: the current directory is what an agent's program has */
	auto_copyroot struct copyroot *c = NULL;
	struct err e = {0};
	assert_int_equal(chdir(unit_path("home")), 0);
	assert_fails(copyroot_new(".", &home, &c, &e), &e, ERR_DENIED,
		     "--copy-root");
	assert_int_equal(chdir("project"), 0);
	assert_ok(copyroot_new(".", &home, &c, &e), &e);
}

/* A path is relative to T/home/project, or absolute with @ for T. */
struct path_row {
	const char *path;
	char kind; /* 0: refused */
	enum err_code code;
};

static void check_paths(const char *dir, bool follow,
			const struct path_row *rows, size_t count)
{
	auto_copyroot struct copyroot *c = NULL;
	struct err e = {0};

	assert_ok(copyroot_new(unit_path(dir), &home, &c, &e), &e);
	for (size_t i = 0; i < count; i++) {
		const char *p = rows[i].path;
		autofree char *path = *p == '@' ? path_join(unit_dir(), p + 1)
						: alloc_str(p);
		struct copyroot_place place = {.dir_fd = -1};
		int rc;

		e = (struct err){0};
		rc = copyroot_find(c, path, follow, &place, &e);
		if (!rows[i].kind && rc == 0)
			fail_msg("%s is not refused", path);
		if (!rows[i].kind) {
			assert_fails(rc, &e, rows[i].code, "");
			continue;
		}
		assert_ok(rc, &e);
		if (place.kind != rows[i].kind)
			fail_msg("%s: %c", path, place.kind);
		assert_int_equal(place.name[0] == '\0', place.kind == 'd');
		close(place.dir_fd);
	}
}

static void paths(void **state)
{
	static const struct path_row both[] = {
		{"file", 'f', 0},
		{"./sub/../file", 'f', 0},
		{"sub", 'd', 0},
		{"sub/", 'd', 0},
		{".", 'd', 0},
		{"", 'd', 0},
		{"sub/..", 'd', 0},
		{"in/file", 'f', 0},
		{"in/", 'd', 0},
		{"new", '-', 0},
		{"sub/new", '-', 0},
		{"@home/project/sub/file", 'f', 0},
		{"@tohome/project/sub", 'd', 0},
		{"@toproject/file", 'f', 0},
		{"@home/project", 'd', 0},
		{"new/x", 0, ERR_NOT_FOUND},
		{"./new/x", 0, ERR_NOT_FOUND},
		{"new/", 0, ERR_NOT_FOUND},
		{"@home/project/new/x", 0, ERR_NOT_FOUND},
		/* whether it is there is not told */
		{"@home/none/x", 0, ERR_DENIED},
		{"@none/", 0, ERR_DENIED},
		{"../none/x", 0, ERR_DENIED},
		{"out/none/x", 0, ERR_DENIED},
		{"out/none/", 0, ERR_DENIED},
		{"/nowhere/at/all", 0, ERR_DENIED},
		{"..", 0, ERR_DENIED},
		{"../", 0, ERR_DENIED},
		{"../project/../.ssh/id", 0, ERR_DENIED},
		{"sub/../../project/../../other/file", 0, ERR_DENIED},
		{"@other/file", 0, ERR_DENIED},
		{"@home/project2", 0, ERR_DENIED},
		{"@home", 0, ERR_DENIED},
		{"/etc/passwd", 0, ERR_DENIED},
		{"/", 0, ERR_DENIED},
		{"out/", 0, ERR_DENIED},
		{"out/file", 0, ERR_DENIED},
		{"out/new", 0, ERR_DENIED},
		{"ssh/", 0, ERR_DENIED},
		{"ssh/id", 0, ERR_DENIED},
		{"ssh/new", 0, ERR_DENIED},
		{"@home/.ssh/id", 0, ERR_DENIED},
		{"@home/.gnupg", 0, ERR_DENIED},
		{"/proc/self/cwd/x", 0, ERR_DENIED},
		{"/proc/self/root/etc/passwd", 0, ERR_DENIED},
		/* boxery's own, inside the root */
		{"bx", 'd', 0},
		{"bx/config", 0, ERR_DENIED},
		{"bx/config/", 0, ERR_DENIED},
		{"bx/config/tokens.json", 0, ERR_DENIED},
		{"bx/config/new", 0, ERR_DENIED},
		{"bx/state", 0, ERR_DENIED},
		{"bx/state/new", 0, ERR_DENIED},
		{"cfg/", 0, ERR_DENIED},
		{"cfg/tokens.json", 0, ERR_DENIED},
		{"sub/../bx/./config/tokens.json", 0, ERR_DENIED},
	};
	static const struct path_row source[] = {
		{"out", 'l', 0}, {"outfile", 'l', 0}, {"ssh", 'l', 0}};
	static const struct path_row sink[] = {
		{"out", 0, ERR_DENIED},
		{"ssh", 0, ERR_DENIED},
		{"cfg", 0, ERR_DENIED},
		{"outfile", 'l', 0}, /* the link is replaced */
		{"in", 'd', 0},
	};

	(void)state;
	check_paths("home/project", false, both, ARRAY_COUNT(both));
	check_paths("home/project", true, both, ARRAY_COUNT(both));
	check_paths("home/project", false, source, ARRAY_COUNT(source));
	check_paths("home/project", true, sink, ARRAY_COUNT(sink));
}

/* A root that lies in a refused directory lends nothing. */
static void root_inside_refused(void **state)
{
	static const struct path_row rows[] = {
		{".", 0, ERR_DENIED},
		{"id", 0, ERR_DENIED},
		{"new", 0, ERR_DENIED},
	};

	(void)state;
	check_paths("home/.ssh", true, rows, ARRAY_COUNT(rows));
	check_paths("home/.ssh/keys", true, rows, ARRAY_COUNT(rows));
	check_paths("home/project/bx/config", true, rows, ARRAY_COUNT(rows));
}

/* A person names what they like. */
static void person(void **state)
{
	auto_copyroot struct copyroot *c = NULL;
	struct copyroot_place place;
	struct err e = {0};

	(void)state;
	assert_ok(copyroot_new(NULL, &home, &c, &e), &e);
	assert_int_equal(chdir(unit_path("other")), 0);
	assert_ok(copyroot_find(c, "../home/.ssh/id", false, &place, &e), &e);
	assert_int_equal(place.kind, 'f');
	assert_ok(copyroot_check_dir(c, place.dir_fd, &e), &e);
	assert_ok(copyroot_check_name(c, place.dir_fd, ".gnupg", &e), &e);
	close(place.dir_fd);
	assert_ok(copyroot_find(c, "file", false, &place, &e), &e);
	close(place.dir_fd);
	assert_ok(copyroot_find(c, "/", false, &place, &e), &e);
	assert_int_equal(place.kind, 'd');
	close(place.dir_fd);
}

static void copy(const char *from_root, const char *from, const char *to_root,
		 const char *to, struct tree_copy *c)
{
	auto_copyroot struct copyroot *a = NULL, *b = NULL;
	struct treesource *source = NULL;
	struct treesink *sink = NULL;
	struct err e = {0};

	assert_ok(copyroot_new(from_root, &home, &a, &e), &e);
	assert_ok(copyroot_new(to_root, &home, &b, &e), &e);
	assert_ok(treesource_new(a, from, &source, &e), &e);
	assert_ok(treesink_new(b, to, &sink, &e), &e);
	tree_pump(source, sink, c);
}

/* Refused directories below the root are left out of a walk, and told. */
static void walk_leaves_out(void **state)
{
	struct tree_copy c = {0};
	autofree char *text = NULL;

	(void)state;
	copy(unit_path("home/project"), ".", NULL, unit_path("got"), &c);
	assert_int_equal(c.err.code, ERR_NONE);
	assert_int_equal(c.warn_count, 2);
	assert_non_null(strstr(c.warn, "never copied"));
	text = tree_describe(unit_path("got"));
	assert_non_null(strstr(text, "sub/file"));
	assert_non_null(strstr(text, "bx "));
	assert_null(strstr(text, "\nbx/"));
	assert_null(strstr(text, "tokens"));
	assert_int_equal(access(unit_path("got/ssh"), F_OK), -1);
}

/* What comes from a guest may not land in them, nor make them. */
static void sink_refuses(void **state)
{
	static const char *const dirs[] = {"bx/config", "bx/state", "bx/run",
					   "bx/data"};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(dirs); i++) {
		autofree char *src = alloc_printf("src%u", i);
		autofree char *bx = alloc_printf("src%u/bx", i);
		autofree char *dir = alloc_printf("src%u/%s", i, dirs[i]);
		autofree char *file = alloc_printf("src%u/%s/f", i, dirs[i]);
		autofree char *all = alloc_printf("%s/.", src);
		struct tree_copy c = {0};

		assert_int_equal(chdir(unit_dir()), 0);
		tree_dir(src, 0755);
		tree_dir(bx, 0755);
		tree_dir(dir, 0755);
		tree_text(file, "planted");
		copy(NULL, all, "home/project", ".", &c);
		assert_int_equal(c.err.code, ERR_DENIED);
		/* also when the target says it */
		c = (struct tree_copy){0};
		copy(NULL, dir, "home/project", "bx", &c);
		assert_int_equal(c.err.code, ERR_DENIED);
	}
	assert_int_equal(access("home/project/bx/config/f", F_OK), -1);
	assert_int_equal(access("home/project/bx/run", F_OK), -1);
}

/* Through the door that the client program uses. */
static void for_call(void **state)
{
	static const struct {
		const char *from, *to;
		bool good;
	} rows[] = {
		{"local:file", "demo:x", true},
		{"demo:x", "local:sub", true},
		{"local:../.ssh/id", "demo:x", false},
		{"demo:x", "local:../.ssh/authorized_keys", false},
		{"local:/etc/passwd", "demo:x", false},
		{"demo:x", "local:/etc/cron.d/x", false},
		{"local:bx/config/tokens.json", "demo:x", false},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		json_t *args = json_pack("{s:s, s:s}", "from", rows[i].from,
					 "to", rows[i].to);
		auto_localtree struct localtree *t = NULL;
		struct err e = {0};
		int rc = localtree_for_call("vm_copy", args,
					    unit_path("home/project"), &home,
					    &t, &e);

		json_decref(args);
		if (rows[i].good)
			assert_ok(rc, &e);
		else
			assert_fails(rc, &e, ERR_DENIED, "");
	}
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static const struct CMUnitTest tests[] = {
	CASE(roots),	       CASE(paths),	   CASE(root_inside_refused),
	CASE(person),	       CASE(walk_leaves_out), CASE(sink_refuses),
	CASE(for_call),
};

UNIT_MAIN(tests)
