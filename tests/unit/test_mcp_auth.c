/* Who a token is, what it may, and when it no longer is anybody. */
#include "mcp/auth.h"

#include "tests/support/tree.h"
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/secret.h"
#include "ops/mcptoken.h"

#include <string.h>

static struct home home;
static const struct protocol_server server = {
	.name = "boxery",
	.title = "boxery",
	.version = "1",
	.instructions = "",
};

static int set_up(void **state)
{
	(void)state;
	home = (struct home){.config = alloc_str(unit_path("config")),
			     .state = alloc_str(unit_path("state")),
			     .run = alloc_str(unit_path("run"))};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(home.config);
	free(home.state);
	free(home.run);
	return 0;
}

/* The Authorization header of a new token; free(). */
static char *add(const char *name, bool read_only, const char *vms)
{
	auto_json json_t *list = vms ? json_loads(vms, 0, NULL) : NULL;
	struct mcptoken_scope scope = {read_only, list};
	auto_secret struct secret *text = NULL;
	struct err e = {0};

	assert_ok(mcptoken_add(&home, name, &scope, &text, &e), &e);
	return alloc_printf("Bearer %.*s", (int)secret_len(text),
			    (const char *)secret_const_bytes(text));
}

static struct auth *open_auth(const char *const *vms)
{
	struct auth_opts o = {.home = &home,
			      .server = &server,
			      .vms = vms,
			      .copy_root_refusal = "no"};
	struct auth *a;
	struct err e = {0};

	assert_ok(auth_new(&o, &a, &e), &e);
	return a;
}

static struct principal *ask(struct auth *a, const char *authorization)
{
	struct principal *p;
	struct err e = {0};

	assert_ok(auth_check(a, authorization, &p, &e), &e);
	return p;
}

static void refused(struct auth *a, const char *authorization,
		    enum err_code code)
{
	struct principal *p = NULL;
	struct err e = {0};

	assert_fails(auth_check(a, authorization, &p, &e), &e, code, "");
	assert_null(p);
}

static bool has_tool(const struct principal *p, const char *name)
{
	return p->tools.find(p->tools.ctx, name) != NULL;
}

static void one_token_is_one_principal(void **state)
{
	struct auth *a = open_auth(NULL);
	/* made after the server began */
	autofree char *one = add("one", false, NULL);
	autofree char *two = add("two", true, NULL);
	struct principal *p = ask(a, one), *again = ask(a, one);
	struct principal *q = ask(a, two);

	(void)state;
	assert_ptr_equal(p, again);
	assert_ptr_not_equal(p, q);
	assert_string_equal(p->opts.name, "one");
	assert_true(p->opts.agent);
	assert_true(has_tool(p, "vm_click"));
	assert_false(has_tool(p, "service_stop"));
	assert_true(has_tool(q, "vm_screenshot"));
	assert_false(has_tool(q, "vm_click"));
	assert_null(strstr(q->tools.list(q->tools.ctx), "vm_click"));
	refused(a, NULL, ERR_NOT_FOUND);
	refused(a, "Bearer x", ERR_NOT_FOUND);
	refused(a, one + strlen("Bearer "), ERR_NOT_FOUND);
	auth_unref(p);
	auth_unref(again);
	auth_unref(q);
	assert_true(auth_free(a));
}

static void scopes_are_joined(void **state)
{
	static const char *const vms[] = {"a", "b", NULL};
	autofree char *all = add("all", false, NULL);
	autofree char *some = add("some", false, "[\"b\",\"c\"]");
	autofree char *none = add("none", false, "[\"c\"]");
	struct auth *a = open_auth(vms);
	struct principal *p = ask(a, all), *q = ask(a, some);

	(void)state;
	assert_string_equal(p->opts.vms[1], "b");
	assert_null(p->opts.vms[2]);
	assert_string_equal(q->opts.vms[0], "b");
	assert_null(q->opts.vms[1]);
	assert_non_null(strstr(q->server.instructions, "VMs only: b."));
	refused(a, none, ERR_DENIED);
	auth_unref(p);
	auth_unref(q);
	assert_true(auth_free(a));
}

static void a_change_is_seen_at_once(void **state)
{
	autofree char *one = add("one", false, NULL);
	autofree char *two = add("two", false, NULL);
	struct auth *a = open_auth(NULL);
	struct principal *p = ask(a, one), *q = ask(a, two), *later;
	autofree char *anew = NULL;
	struct err e = {0};

	(void)state;
	assert_ok(mcptoken_revoke(&home, "one", &e), &e);
	refused(a, one, ERR_NOT_FOUND);
	assert_true(atomic_load(&p->revoked));
	assert_false(atomic_load(&q->revoked));
	/* the same name is another principal */
	anew = add("one", true, NULL);
	later = ask(a, anew);
	assert_ptr_not_equal(p, later);
	assert_string_equal(p->name, "one"); /* still there for its user */
	auth_unref(later);
	/* a store that cannot be read lets nobody in */
	tree_text(unit_path("config/mcp-tokens.json"), "{");
	auth_tick(a);
	assert_true(atomic_load(&q->revoked));
	refused(a, two, ERR_NOT_FOUND);
	auth_unref(p);
	auth_unref(q);
	assert_true(auth_free(a));
}

static void who_is_in_use_is_not_freed(void **state)
{
	autofree char *one = add("one", false, NULL);
	struct auth *a = open_auth(NULL);
	struct principal *p = ask(a, one);

	(void)state;
	assert_false(auth_free(a));
	auth_unref(p);
	assert_true(auth_free(a));
}

static void uses_are_recorded(void **state)
{
	autofree char *one = add("one", false, NULL);
	struct auth *a = open_auth(NULL);
	struct principal *p = ask(a, one);
	autofree char *text = NULL;

	(void)state;
	auth_record(a);
	text = tree_read(unit_path("state/mcp-token-use.json"));
	assert_non_null(strstr(text, "{\"one\":1"));
	auth_unref(p);
	assert_true(auth_free(a));
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

static const struct CMUnitTest tests[] = {
	CASE(one_token_is_one_principal),
	CASE(scopes_are_joined),
	CASE(a_change_is_seen_at_once),
	CASE(who_is_in_use_is_not_freed),
	CASE(uses_are_recorded),
};
UNIT_MAIN(tests)
