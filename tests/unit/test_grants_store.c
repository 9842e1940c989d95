/* What is held, what the proxy is shown, and what each change does to both. */
#include "tests/support/tree.h"
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/deadline.h"
#include "base/json.h"
#include "base/path.h"
#include "grants/store.h"
#include "grants/tables.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOW 1000000

static const char *const migrations[] = {tables_grants_1, NULL};
static struct db *db;
static struct home home;
static struct store *store;

static int set_up(void **state)
{
	struct err e = {0};

	(void)state;
	home.config = alloc_str(unit_path("config"));
	tree_dir(home.config, 0700);
	assert_ok(db_open(unit_path("boxery.db"), migrations, &db, &e), &e);
	store = store_new(db, &home);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	store_free(store);
	db_close(db);
	free(home.config);
	return 0;
}

/* Texts separated by blanks. */
static struct grantset set_of(const char *texts)
{
	auto_json json_t *list = json_array();
	struct grantset s = {0};
	struct err e = {0};

	while (*texts) {
		size_t len = strcspn(texts, " ");

		json_array_append_new(list, json_stringn(texts, len));
		texts += len + (texts[len] == ' ');
	}
	assert_ok(grantset_parse(list, &s, &e), &e);
	return s;
}

static int add(const char *vm, const char *texts, struct terms t, int64_t now_s,
	       struct err *e)
{
	struct grantset s = set_of(texts);
	struct store_add a = {vm, &s, t, "1000:cli", "terminal", now_s, 0};
	int rc = store_add(store, &a, e);

	grantset_finish(&s);
	return rc;
}

static void add_ok(const char *vm, const char *texts, struct terms t)
{
	struct err e = {0};

	assert_ok(add(vm, texts, t, NOW, &e), &e);
}

static void append(const struct store_grant *g, void *ctx)
{
	char **all = ctx;
	char *longer = alloc_printf("%s%s%s %s %lld %lld/%lld", *all,
				    **all ? "; " : "", g->vm, g->text,
				    (long long)g->end_s, (long long)g->used,
				    (long long)g->uses_left);

	free(*all);
	*all = longer;
}

#define assert_held(vm, now, want) check_held((vm), (now), (want), __LINE__)
static void check_held(const char *vm, int64_t now_s, const char *want,
		       int line)
{
	char *all = alloc_str("");
	struct err e = {0};

	assert_ok(store_list(store, vm, now_s, append, &all, &e), &e);
	if (strcmp(all, want) != 0)
		fail_msg("line %d: %s", line, all);
	free(all);
}

/* The providers that the proxy sees for a VM, each with its uses. */
#define assert_seen(vm, now, want) check_seen((vm), (now), (want), __LINE__)
static void check_seen(const char *vm, int64_t now_s, const char *want,
		       int line)
{
	struct edge x = {0};
	struct err e = {0};
	char all[1024] = "";
	size_t at = 0;

	assert_ok(edge_read(&home, vm, &x, &e), &e);
	for (size_t i = 0; i < x.count; i++) {
		const struct edge_grant *g = &x.grants[i];

		if (edge_find(&x, g->kind, g->provider, now_s))
			at += (size_t)snprintf(all + at, sizeof(all) - at,
					       "%s%s %lld", at ? "; " : "",
					       g->provider, (long long)g->uses);
	}
	edge_finish(&x);
	if (strcmp(all, want) != 0)
		fail_msg("line %d: %s", line, all);
}

static void adds_and_lists(void **state)
{
	(void)state;
	assert_held("demo", NOW, "");
	assert_seen("demo", NOW, "");
	add_ok("demo", "llm:openai env:A file:/a→/b ssh-agent",
	       (struct terms){.for_s = 60});
	add_ok("demo", "llm:ollama github:a/b:ro", (struct terms){.uses = 2});
	add_ok("x", "http:api", (struct terms){.until_s = NOW + 5});
	assert_held("demo", NOW,
		    "demo env:A 1000060 0/-1; "
		    "demo file:/a→/b 1000060 0/-1; "
		    "demo github:a/b:ro 0 0/2; "
		    "demo llm:ollama 0 0/2; "
		    "demo llm:openai 1000060 0/-1; "
		    "demo ssh-agent 1000060 0/-1");
	assert_held("x", NOW, "x http:api 1000005 0/-1");
	/* only what goes through the proxy, and only while it lasts */
	assert_seen("demo", NOW, "a/b:ro 2; ollama 2; openai -1");
	assert_seen("demo", NOW + 60, "a/b:ro 2; ollama 2");
	assert_held("demo", NOW + 60,
		    "demo github:a/b:ro 0 0/2; demo llm:ollama 0 0/2");
}

/* F12: what is held as asked needs no question, and is not changed by it. */
static void missing(void **state)
{
	static const struct {
		const char *asked;
		struct terms terms;
		int64_t now_s;
		const char *want; /* what a person is asked */
		int64_t again_s;
	} rows[] = {
		/* the same once more, a little later */
		{"env:A", {.for_s = 60}, NOW + 9, "[]", 10},
		{"env:A", {.for_s = 61}, NOW + 9, "[\"env:A\"]", 10},
		{"env:A", {.for_s = 60}, NOW + 11, "[\"env:A\"]", 10},
		{"env:A", {.for_s = 60}, NOW + 60, "[\"env:A\"]", 90},
		{"llm:openai", {0}, NOW, "[]", 0},
		{"llm:openai", {.for_s = 5}, NOW, "[]", 0},
		{"llm:openai llm:ollama", {0}, NOW, "[\"llm:ollama\"]", 0},
		{"env:A", {.for_s = 60}, NOW, "[]", 0},
		{"env:A", {.for_s = 61}, NOW, "[\"env:A\"]", 0},
		{"env:A", {0}, NOW, "[\"env:A\"]", 0},
		{"env:A", {.for_s = 1}, NOW + 60, "[\"env:A\"]", 0},
		{"github:a/b:ro", {0}, NOW, "[]", 0},
		{"github:a/b", {0}, NOW, "[\"github:a/b\"]", 0},
		{"file:/a", {0}, NOW, "[]", 0},
		{"file:/a→/b", {0}, NOW, "[\"file:/a→/b\"]", 0},
	};
	struct err e = {0};

	(void)state;
	add_ok("demo", "llm:openai github:a/b:ro file:/a", (struct terms){0});
	add_ok("demo", "env:A", (struct terms){.for_s = 60});
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		struct grantset s = set_of(rows[i].asked);
		struct grantset rest = {0};
		struct store_add a = {.vm = "demo",
				      .set = &s,
				      .terms = rows[i].terms,
				      .by = "x",
				      .how = "dialog",
				      .now_s = rows[i].now_s,
				      .again_s = rows[i].again_s};

		assert_ok(store_missing(store, &a, &rest, &e), &e);
		auto_json json_t *list = grantset_json(&rest);
		autofree char *text = json_print(list);
		assert_string_equal(text, rows[i].want);
		grantset_finish(&rest);
		/* another VM holds nothing */
		a.vm = "other";
		assert_ok(store_missing(store, &a, &rest, &e), &e);
		assert_int_equal(rest.count, s.count);
		grantset_finish(&rest);
		grantset_finish(&s);
	}
	assert_held("demo", NOW,
		    "demo env:A 1000060 0/-1; demo file:/a 0 0/-1; "
		    "demo github:a/b:ro 0 0/-1; demo llm:openai 0 0/-1");
}

static char *id_of(const char *vm, const char *provider)
{
	struct edge x = {0};
	struct err e = {0};
	const struct edge_grant *g;
	char *id;

	assert_ok(edge_read(&home, vm, &x, &e), &e);
	g = edge_find(&x, GRANT_LLM, provider, NOW);
	assert_non_null(g);
	id = alloc_str(g->id);
	edge_finish(&x);
	return id;
}

static void widening(void **state)
{
	struct err e = {0};

	(void)state;
	add_ok("demo", "llm:openai env:A", (struct terms){.for_s = 60});
	autofree char *id = id_of("demo", "openai");
	assert_ok(store_use(store, "demo", id, NOW, &e), &e);
	add_ok("demo", "llm:openai", (struct terms){.for_s = 90, .uses = 7});
	add_ok("demo", "env:A", (struct terms){0});
	/* its uses so far stay known */
	assert_held("demo", NOW,
		    "demo env:A 0 0/-1; demo llm:openai 1000090 1/7");
	autofree char *same = id_of("demo", "openai");
	assert_string_equal(same, id);
}

static void uses(void **state)
{
	struct err e = {0};

	(void)state;
	add_ok("demo", "llm:openai", (struct terms){.uses = 2});
	add_ok("demo", "llm:ollama", (struct terms){.for_s = 60});
	autofree char *id = id_of("demo", "openai");
	autofree char *timed = id_of("demo", "ollama");
	assert_fails(store_use(store, "x", id, NOW, &e), &e, ERR_DENIED, "");
	assert_fails(store_use(store, "demo", "x", NOW, &e), &e, ERR_DENIED,
		     "");
	assert_ok(store_use(store, "demo", id, NOW, &e), &e);
	assert_ok(store_use(store, "demo", id, NOW, &e), &e);
	assert_fails(store_use(store, "demo", id, NOW, &e), &e, ERR_DENIED,
		     "no use left");
	assert_ok(store_use(store, "demo", timed, NOW + 59, &e), &e);
	assert_fails(store_use(store, "demo", timed, NOW + 60, &e), &e,
		     ERR_DENIED, "has ended");
	assert_held("demo", NOW, "demo llm:ollama 1000060 1/-1");
}

static void *use_many(void *arg)
{
	atomic_int *taken = arg;
	autofree char *id = id_of("demo", "openai");

	for (int i = 0; i < 50; i++) {
		struct err e = {0};

		if (store_use(store, "demo", id, NOW, &e) == 0)
			(*taken)++;
	}
	return NULL;
}

/* Never one more than granted, whoever takes them at once. */
static void uses_at_once(void **state)
{
	pthread_t threads[4];
	atomic_int taken = 0;

	(void)state;
	add_ok("demo", "llm:openai", (struct terms){.uses = 100});
	for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, use_many, &taken), 0);
	for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(taken, 100);
}

static void revokes(void **state)
{
	char *gone = alloc_str("");
	struct err e = {0};

	(void)state;
	add_ok("demo", "llm:openai llm:ollama env:A ssh-agent",
	       (struct terms){0});
	add_ok("x", "llm:openai", (struct terms){0});
	assert_fails(store_revoke(store, "demo", "env:B", append, &gone, &e),
		     &e, ERR_NOT_FOUND, "demo has no grant env:B");
	assert_string_equal(gone, "");
	assert_ok(store_revoke(store, "demo", "env:A", append, &gone, &e), &e);
	assert_string_equal(gone, "demo env:A 0 0/-1");
	autofree char *id = id_of("demo", "ollama");
	assert_ok(store_revoke(store, "demo", id, NULL, NULL, &e), &e);
	assert_held("demo", NOW,
		    "demo llm:openai 0 0/-1; demo ssh-agent 0 "
		    "0/-1");
	assert_seen("demo", NOW, "openai -1");
	assert_fails(store_use(store, "demo", id, NOW, &e), &e, ERR_DENIED, "");
	assert_ok(store_revoke(store, "demo", NULL, NULL, NULL, &e), &e);
	assert_ok(store_revoke(store, "demo", NULL, NULL, NULL, &e), &e);
	assert_held("demo", NOW, "");
	assert_seen("demo", NOW, "");
	assert_seen("x", NOW, "openai -1");
	/* panic: of every VM */
	add_ok("demo", "llm:openai", (struct terms){0});
	assert_ok(store_revoke(store, NULL, NULL, NULL, NULL, &e), &e);
	assert_held(NULL, NOW, "");
	assert_seen("demo", NOW, "");
	assert_seen("x", NOW, "");
	free(gone);
}

static void expires(void **state)
{
	char *gone = alloc_str("");
	struct err e = {0};
	int64_t next = -1;

	(void)state;
	assert_ok(store_next_end(store, &next, &e), &e);
	assert_int_equal(next, 0);
	add_ok("demo", "llm:openai env:A", (struct terms){.for_s = 60});
	add_ok("demo", "llm:ollama", (struct terms){.uses = 1});
	add_ok("x", "env:A", (struct terms){.for_s = 30});
	add_ok("x", "ssh-agent", (struct terms){0});
	assert_ok(store_next_end(store, &next, &e), &e);
	assert_int_equal(next, NOW + 30);
	assert_ok(store_expire(store, NOW, append, &gone, &e), &e);
	assert_string_equal(gone, "");
	autofree char *id = id_of("demo", "ollama");
	assert_ok(store_use(store, "demo", id, NOW, &e), &e);
	assert_ok(store_expire(store, NOW + 59, append, &gone, &e), &e);
	assert_string_equal(gone, "demo llm:ollama 0 1/0; x env:A 1000030 "
				  "0/-1");
	assert_ok(store_expire(store, NOW + 60, NULL, NULL, &e), &e);
	assert_held(NULL, NOW, "x ssh-agent 0 0/-1");
	assert_seen("demo", 0, "");
	free(gone);
}

static void conflicts(void **state)
{
	struct err e = {0};

	(void)state;
	add_ok("demo", "file:/x/a file:/b→/t", (struct terms){0});
	assert_fails(
		add("demo", "llm:openai file:/y/a", (struct terms){0}, NOW, &e),
		&e, ERR_EXISTS, "file:a: another grant is in this place");
	assert_fails(add("demo", "file:/c→/t", (struct terms){0}, NOW, &e), &e,
		     ERR_EXISTS, "file:/t");
	assert_fails(add("demo", "env:A", (struct terms){.uses = 1}, NOW, &e),
		     &e, ERR_INVALID, "uses of env");
	/* all or nothing */
	assert_held("demo", NOW,
		    "demo file:/b→/t 0 0/-1; demo file:/x/a 0 0/-1");
	assert_seen("demo", NOW, "");
	add_ok("demo", "file:/x/a", (struct terms){.for_s = 5});
	/* what ended is in nobody's way */
	assert_ok(add("demo", "file:/y/a", (struct terms){0}, NOW + 5, &e), &e);
	/* another VM's place is another place */
	add_ok("x", "file:/x/a", (struct terms){0});
}

static void limit(void **state)
{
	struct err e = {0};

	(void)state;
	for (int i = 0; i < LIMIT_GRANTS_PER_VM_COUNT; i++) {
		char text[32];

		snprintf(text, sizeof(text), "env:A%d", i);
		add_ok("demo", text, (struct terms){0});
	}
	add_ok("demo", "env:A0", (struct terms){0});
	assert_fails(add("demo", "env:B", (struct terms){0}, NOW, &e), &e,
		     ERR_LIMIT, "may hold 64");
	add_ok("x", "env:B", (struct terms){0});
}

/* E25, and a name that is used again starts with nothing. */
static void forgets(void **state)
{
	struct err e = {0};
	struct stat st;

	(void)state;
	add_ok("demo", "llm:openai", (struct terms){0});
	assert_int_equal(stat(unit_path("config/edge/demo.json"), &st), 0);
	assert_ok(store_forget_vm(store, "demo", &e), &e);
	assert_ok(store_forget_vm(store, "demo", &e), &e);
	assert_int_not_equal(stat(unit_path("config/edge/demo.json"), &st), 0);
	assert_held("demo", NOW, "");
}

/* A projection that cannot be written: nothing that is taken away stays in
 * sight, and what could not be taken away is still held. */
static void failing_disk(void **state)
{
	struct err e = {0};

	(void)state;
	add_ok("demo", "llm:openai", (struct terms){0});
	/* in the way of the folder, as root may write everywhere */
	assert_int_equal(
		rename(unit_path("config/edge"), unit_path("config/aside")), 0);
	tree_text(unit_path("config/edge"), "");
	assert_fails(store_revoke(store, "demo", NULL, NULL, NULL, &e), &e,
		     ERR_SYSTEM, "edge");
	assert_held("demo", NOW, "demo llm:openai 0 0/-1");
	assert_fails(add("demo", "llm:ollama", (struct terms){0}, NOW, &e), &e,
		     ERR_SYSTEM, "the proxy could not be told");
	assert_int_equal(unlink(unit_path("config/edge")), 0);
	assert_ok(store_revoke(store, "demo", NULL, NULL, NULL, &e), &e);
	assert_held("demo", NOW, "");
	assert_seen("demo", NOW, "");
}

/* A service that starts shows the proxy what the database holds. */
static void reconciles(void **state)
{
	struct edge none = {0};
	struct err e = {0};
	struct stat st;

	(void)state;
	assert_ok(store_reconcile(store, &e), &e);
	add_ok("demo", "llm:openai", (struct terms){0});
	add_ok("x", "llm:openai", (struct terms){0});
	assert_ok(edge_write(&home, "demo", &none, &e), &e);
	assert_ok(db_exec(db, &e, "DELETE FROM vm_grant WHERE vm = 'x'", ""),
		  &e);
	tree_text(unit_path("config/edge/gone.json"), "{}");
	assert_ok(store_reconcile(store, &e), &e);
	assert_seen("demo", NOW, "openai -1");
	assert_int_not_equal(stat(unit_path("config/edge/x.json"), &st), 0);
	assert_int_not_equal(stat(unit_path("config/edge/gone.json"), &st), 0);
}

static void *change_many(void *arg)
{
	const char *text = arg;

	for (int i = 0; i < 40; i++) {
		struct err e = {0};

		add_ok("demo", text, (struct terms){0});
		assert_ok(store_revoke(store, "demo", text, NULL, NULL, &e),
			  &e);
	}
	add_ok("demo", text, (struct terms){0});
	return NULL;
}

/* Whoever changes at once: the last projection is what the database holds. */
static void changes_at_once(void **state)
{
	static char texts[][16] = {"llm:openai", "llm:ollama", "http:a"};
	pthread_t threads[ARRAY_COUNT(texts)];

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, change_many,
						texts[i]),
				 0);
	for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	assert_seen("demo", NOW, "a -1; ollama -1; openai -1");
}

/* Adds and revokes until it is killed. */
static void change_until_killed(void)
{
	struct db *own = NULL;
	struct store *st;
	struct grantset s = set_of("llm:openai llm:ollama");
	struct store_add a = {"demo", &s, {0}, "x", "terminal", NOW, 0};
	struct err e = {0};

	if (db_open(unit_path("boxery.db"), migrations, &own, &e) < 0)
		_exit(1);
	st = store_new(own, &home);
	for (;;) {
		if (store_add(st, &a, &e) < 0 ||
		    store_revoke(st, "demo", NULL, NULL, NULL, &e) < 0)
			_exit(1);
	}
}

static void note_id(const struct store_grant *g, void *ctx)
{
	json_object_set_new(ctx, g->id, json_true());
}

/* Cut off anywhere, the proxy sees no more than the database holds. */
static void killed(void **state)
{
	unsigned both = 0;

	(void)state;
	for (int i = 0; i < 40; i++) {
		auto_json json_t *held = json_object();
		struct edge x = {0};
		struct err e = {0};
		int status = 0;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			change_until_killed();
		deadline_sleep_ms(10 + i);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_ok(store_list(store, "demo", NOW, note_id, held, &e),
			  &e);
		assert_ok(edge_read(&home, "demo", &x, &e), &e);
		for (size_t n = 0; n < x.count; n++)
			assert_non_null(json_object_get(held, x.grants[n].id));
		both += x.count > 0;
		edge_finish(&x);
	}
	printf("killed 40 times, %u times with grants in sight\n", both);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
static const struct CMUnitTest tests[] = {
	TEST(adds_and_lists),  TEST(missing),
	TEST(widening),	       TEST(uses),
	TEST(uses_at_once),    TEST(revokes),
	TEST(expires),	       TEST(conflicts),
	TEST(limit),	       TEST(forgets),
	TEST(failing_disk),    TEST(reconciles),
	TEST(changes_at_once), TEST(killed),
};
UNIT_MAIN(tests)
