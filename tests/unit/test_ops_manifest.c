#include "base/alloc.h"
#include "base/limits.h"
#include "ops/manifest.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct treewire_str str(const char *s)
{
	return treewire_str(s, strlen(s));
}

static int add(struct manifest *m, char type, const char *path, struct err *e)
{
	struct treewire_entry n = {.type = type, .mode = 0644,
				   .path = str(path)};

	if (type == 'l')
		n.target = str("anywhere");
	return manifest_add(m, &n, e);
}

/* Each row is a list "type path" that an honest source never sends; the last
 * one is where it is refused. */
static void hostile(void **state)
{
	static const struct {
		const char *entries[5];
		enum err_code code;
		const char *text;
	} rows[] = {
		{{"fa"}, ERR_PROTOCOL, "before the root"},
		{{"d", "d"}, ERR_PROTOCOL, "second root"},
		{{"d", "f/etc/passwd"}, ERR_PROTOCOL, "relative"},
		{{"d", "f.."}, ERR_PROTOCOL, "not allowed"},
		{{"d", "f../x"}, ERR_PROTOCOL, "not allowed"},
		{{"d", "da", "fa/../../x"}, ERR_PROTOCOL, "not allowed"},
		{{"d", "da", "fa/.."}, ERR_PROTOCOL, "not allowed"},
		{{"d", "f."}, ERR_PROTOCOL, "not allowed"},
		{{"d", "da", "fa//b"}, ERR_PROTOCOL, "not allowed"},
		{{"d", "da", "fa/"}, ERR_PROTOCOL, "not allowed"},
		{{"d", "d/"}, ERR_PROTOCOL, "relative"},
		{{"d", "fa/b"}, ERR_PROTOCOL, "before its directory"},
		{{"d", "la", "fa/b"}, ERR_PROTOCOL, "no directory"},
		{{"d", "la", "da/b"}, ERR_PROTOCOL, "no directory"},
		{{"d", "la", "da"}, ERR_PROTOCOL, "twice"},
		{{"d", "da", "la"}, ERR_PROTOCOL, "twice"},
		{{"d", "fa", "fa"}, ERR_PROTOCOL, "twice"},
		{{"d", "fa", "fa/b"}, ERR_PROTOCOL, "no directory"},
		{{"f", "fb"}, ERR_PROTOCOL, "no directory"},
		{{"l", "fb"}, ERR_PROTOCOL, "no directory"},
		{{"d", "f.boxery-part-0"}, ERR_PROTOCOL, "partial"},
		{{"d", "l.boxery-part-0123456789abcdef"}, ERR_PROTOCOL,
		 "partial"},
		{{"d", "da", "da/.boxery-part-x"}, ERR_PROTOCOL, "partial"},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		auto_manifest struct manifest *m = manifest_new();
		unsigned n = 0;
		uint32_t before;

		for (; rows[i].entries[n + 1]; n++) {
			struct err e = {0};
			const char *x = rows[i].entries[n];

			assert_ok(add(m, x[0], x + 1, &e), &e);
		}
		struct err e = {0};
		before = manifest_count(m);
		assert_fails(add(m, rows[i].entries[n][0],
				 rows[i].entries[n] + 1, &e),
			     &e, rows[i].code, rows[i].text);
		assert_int_equal(manifest_count(m), before);
	}
}

static void caps(void **state)
{
	auto_manifest struct manifest *m = manifest_new();
	struct treewire_entry n = {.type = 'f', .path = {"a\0b", 3}};
	static char longest[UINT16_MAX];
	char deep[3 * LIMIT_PATH_DEPTH + 8] = "";
	struct err e = {0};

	(void)state;
	assert_ok(add(m, 'd', "", &e), &e);
	assert_fails(manifest_add(m, &n, &e), &e, ERR_PROTOCOL, "NUL");
	n.path = str("big");
	n.len = (uint64_t)LIMIT_TREE_FILE_LEN + 1;
	assert_fails(manifest_add(m, &n, &e), &e, ERR_LIMIT, "larger");
	n.len = UINT64_MAX;
	assert_fails(manifest_add(m, &n, &e), &e, ERR_LIMIT, "larger");
	n.len = (uint64_t)LIMIT_TREE_FILE_LEN;
	assert_ok(manifest_add(m, &n, &e), &e);

	memset(longest, 'x', sizeof(longest));
	n = (struct treewire_entry){.type = 'f',
				    .path = {longest, LIMIT_PATH_LEN + 1}};
	assert_fails(manifest_add(m, &n, &e), &e, ERR_LIMIT, "longer");
	n.path.len = 256;
	assert_fails(manifest_add(m, &n, &e), &e, ERR_LIMIT, "longer");
	n = (struct treewire_entry){.type = 'l',
				    .path = {"l", 1},
				    .target = {longest, LIMIT_PATH_LEN + 1}};
	assert_fails(manifest_add(m, &n, &e), &e, ERR_LIMIT, "longer");

	for (int i = 0; i < LIMIT_PATH_DEPTH; i++) {
		memcpy(deep + strlen(deep), i ? "/d" : "d", i ? 3 : 2);
		assert_ok(add(m, 'd', deep, &e), &e);
	}
	memcpy(deep + strlen(deep), "/d", 3);
	assert_fails(add(m, 'd', deep, &e), &e, ERR_LIMIT, "deeper");
}

static void count_cap(void **state)
{
	auto_manifest struct manifest *m = manifest_new();
	struct err e = {0};
	char name[32];

	(void)state;
	assert_ok(add(m, 'd', "", &e), &e);
	for (int i = 1; i < LIMIT_TREE_COUNT; i++) {
		snprintf(name, sizeof(name), "%d", i);
		assert_ok(add(m, 'f', name, &e), &e);
	}
	assert_fails(add(m, 'f', "x", &e), &e, ERR_LIMIT, "more than");
	assert_ok(manifest_end(m, LIMIT_TREE_COUNT, &e), &e);
	assert_fails(manifest_end(m, 7, &e), &e, ERR_PROTOCOL, "should have");
}

static void names_cap(void **state)
{
	auto_manifest struct manifest *m = manifest_new();
	static char target[LIMIT_PATH_LEN + 1];
	struct treewire_entry n = {.type = 'l'};
	struct err e = {0};
	char name[32];
	int i, rc;

	(void)state;
	memset(target, 't', LIMIT_PATH_LEN);
	assert_ok(add(m, 'd', "", &e), &e);
	for (i = 0, rc = 0; rc == 0 && i < LIMIT_TREE_COUNT - 1; i++) {
		snprintf(name, sizeof(name), "%d", i);
		n.path = str(name);
		n.target = str(target);
		rc = manifest_add(m, &n, &e);
	}
	assert_fails(rc, &e, ERR_LIMIT, "names of more");
	assert_in_range(i, LIMIT_TREE_MANIFEST_LEN / LIMIT_PATH_LEN - 100,
			LIMIT_TREE_MANIFEST_LEN / LIMIT_PATH_LEN + 1);
}

static void keeps_what_it_is_given(void **state)
{
	auto_manifest struct manifest *m = manifest_new();
	struct treewire_entry n = {.type = 'l',
				   .mode = 0777,
				   .mtime_s = -5,
				   .mtime_ns = 7,
				   .path = str("a \xff\n"),
				   .target = str("../../etc")};
	const struct manifest_entry *x;
	struct treewire_record r;
	struct err e = {0};

	(void)state;
	assert_fails(manifest_end(m, 0, &e), &e, ERR_PROTOCOL, "");
	assert_ok(add(m, 'd', "", &e), &e);
	assert_ok(manifest_add(m, &n, &e), &e);
	x = manifest_at(m, 1);
	assert_string_equal(x->path, "a \xff\n");
	assert_string_equal(x->target, "../../etc");
	r = manifest_record(x);
	assert_int_equal(r.entry.mtime_s, -5);
	assert_int_equal(r.entry.mtime_ns, 7);
	assert_int_equal(r.entry.target.len, 9);
	assert_null(manifest_at(m, 0)->target);
}

/* A part is continued only with bytes of the same file. */
static void part_names(void **state)
{
	const struct manifest_entry a = {.path = "", .len = 5, .mtime_s = 1};
	struct manifest_entry b[] = {a, a, a, a};
	char first[MANIFEST_PART_SIZE], again[MANIFEST_PART_SIZE];

	(void)state;
	b[1].len = 6;
	b[2].mtime_s = 2;
	b[3].mtime_ns = 1;
	manifest_part_name("x/y", &a, first);
	assert_int_equal(strlen(first), MANIFEST_PART_SIZE - 1);
	assert_true(manifest_is_part(first));
	assert_false(manifest_is_part(".boxery"));
	for (unsigned i = 0; i < ARRAY_COUNT(b); i++) {
		manifest_part_name(i == 0 ? "x/z" : "x/y", &b[i], again);
		assert_string_not_equal(first, again);
	}
	manifest_part_name("x/y", &a, again);
	assert_string_equal(first, again);
}

static void root_names(void **state)
{
	static const struct {
		const char *path, *name;
	} rows[] = {
		{"a", "a"},	{"a/b", "b"}, {"/a/b///", "b"}, {"", ""},
		{".", ""},	{"..", ""},   {"/", ""},	{"a/.", ""},
		{"a/../..", ""}, {"...", "..."}, {"a/..b", "..b"},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		const char *name;
		size_t len = manifest_root_name(rows[i].path, &name);

		assert_int_equal(len, strlen(rows[i].name));
		assert_memory_equal(name, rows[i].name, len);
	}
}

static void head_names(void **state)
{
	static const struct {
		struct treewire_str name;
		bool good;
	} rows[] = {
		{{"", 0}, true},       {{"a b\n\xff", 5}, true},
		{{"..", 2}, false},    {{".", 1}, false},
		{{"a/b", 3}, false},   {{"/", 1}, false},
		{{"a\0b", 3}, false},  {{".boxery-part-1", 14}, false},
		{{"...", 3}, true},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		struct treewire_record r = {.type = TREE_HEAD,
					    .version = TREEWIRE_VERSION,
					    .name = rows[i].name};
		autofree char *name = NULL;
		struct err e = {0};

		if (!rows[i].good) {
			assert_fails(manifest_take_name(&r, &name, &e), &e,
				     ERR_PROTOCOL, "");
			continue;
		}
		assert_ok(manifest_take_name(&r, &name, &e), &e);
		assert_int_equal(strlen(name), rows[i].name.len);
		free(TAKE_PTR(name));
		r.version++;
		assert_fails(manifest_take_name(&r, &name, &e), &e,
			     ERR_PROTOCOL, "restart the service");
	}
}

/* As cp -R has it. */
static void places(void **state)
{
	static const struct {
		const char *name, *to;
		char type, kind;
		int where; /* -1: refused */
		enum err_code code;
	} rows[] = {
		{"a", "d", 'f', 'd', MANIFEST_UNDER, 0},
		{"a", "d/", 'f', 'd', MANIFEST_UNDER, 0},
		{"a", "d", 'd', 'd', MANIFEST_UNDER, 0},
		{"a", "d", 'l', 'd', MANIFEST_UNDER, 0},
		{"", "d", 'd', 'd', MANIFEST_MERGE, 0},
		{"a", "b", 'f', '-', MANIFEST_AS, 0},
		{"a", "b", 'd', '-', MANIFEST_AS, 0},
		{"", "b", 'd', '-', MANIFEST_AS, 0},
		{"a", "b", 'f', 'f', MANIFEST_AS, 0},
		{"a", "b", 'l', 'f', MANIFEST_AS, 0},
		{"a", "b/", 'f', '-', -1, ERR_NOT_FOUND},
		{"a", "b/", 'd', '-', -1, ERR_NOT_FOUND},
		{"a", "b/.", 'f', '-', -1, ERR_NOT_FOUND},
		{"a", "b/..", 'f', '-', -1, ERR_NOT_FOUND},
		{"a", "b", 'd', 'f', -1, ERR_EXISTS},
		{"a", "b/", 'f', 'f', -1, ERR_EXISTS},
		{"", "b", 'f', '-', -1, ERR_PROTOCOL},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		auto_manifest struct manifest *m = manifest_new();
		enum manifest_place where;
		struct err e = {0};
		int rc;

		assert_ok(add(m, rows[i].type, "", &e), &e);
		rc = manifest_place(m, rows[i].name, rows[i].to, rows[i].kind,
				    &where, &e);
		if (rows[i].where < 0) {
			assert_fails(rc, &e, rows[i].code, "");
			continue;
		}
		assert_ok(rc, &e);
		assert_int_equal(where, rows[i].where);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(hostile),    cmocka_unit_test(caps),
	cmocka_unit_test(count_cap),  cmocka_unit_test(names_cap),
	cmocka_unit_test(keeps_what_it_is_given),
	cmocka_unit_test(part_names), cmocka_unit_test(root_names),
	cmocka_unit_test(head_names), cmocka_unit_test(places),
};

UNIT_MAIN(tests)
