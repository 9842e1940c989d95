/* Sessions of HTTP clients: found, idle, too many, ended, and their streams. */
#include "mcp/httpsession.h"

#include "tests/support/unit.h"

#include "base/deadline.h"
#include "base/limits.h"

#include <string.h>

static const char *no_tools(void *ctx)
{
	(void)ctx;
	return "[]";
}

static const struct protocol_server server = {
	.name = "t",
	.title = "t",
	.version = "1",
	.instructions = "Look.",
};
static const struct toolset tools = {.list = no_tools};

static struct auth *open_auth(struct principal **ret_who)
{
	struct auth_opts o = {.server = &server, .everybody = &tools};
	struct auth *a;
	struct err e = {0};

	assert_ok(auth_new(&o, &a, &e), &e);
	assert_ok(auth_check(a, NULL, ret_who, &e), &e);
	return a;
}

static struct httpsession *open_one(struct httpsessions *t,
				    struct principal *who, bool listed)
{
	struct httpsession *s;
	struct err e = {0};

	assert_ok(httpsession_open(t, who, listed, &s, &e), &e);
	return s;
}

static bool is_found(struct httpsessions *t, const char *id,
		     const struct principal *who)
{
	struct httpsession *s = httpsession_find(t, id, who);

	httpsession_unref(s);
	return s != NULL;
}

static void found_by_id_and_owner(void **state)
{
	struct httpsessions *t = httpsessions_new(9, 60000);
	struct principal *who, other = {.name = NULL};
	struct auth *a = open_auth(&who);
	struct httpsession *one = open_one(t, who, true);
	struct httpsession *two = open_one(t, who, true);
	struct httpsession *own = open_one(t, who, false);

	(void)state;
	assert_true(httphead_is_session_id(one->id));
	assert_string_not_equal(one->id, two->id);
	assert_string_equal(own->id, "");
	assert_true(is_found(t, one->id, who));
	assert_false(is_found(t, one->id, &other));
	assert_false(is_found(t, "", who));
	httpsession_end(one);
	assert_false(is_found(t, one->id, who));
	assert_true(is_found(t, two->id, who));
	httpsession_end(one); /* twice is no matter */
	httpsessions_end_all(t);
	httpsession_unref(one);
	httpsession_unref(two);
	httpsession_unref(own);
	httpsessions_free(t);
	auth_unref(who);
	assert_true(auth_free(a));
}

static void idle_ones_expire(void **state)
{
	struct httpsessions *t = httpsessions_new(9, 100);
	struct principal *who;
	struct auth *a = open_auth(&who);
	struct httpsession *idle = open_one(t, who, true);
	struct httpsession *used = open_one(t, who, true);
	struct httpsession *listening = open_one(t, who, true);
	struct ssestream *stream = httpsession_general(listening);
	struct ssereader_opts o = {.comment_ms = 1000};
	struct ssereader *r = ssereader_new(stream, &o);

	(void)state;
	deadline_sleep_ms(120);
	assert_true(is_found(t, used->id, who)); /* which is a use */
	httpsessions_tick(t);
	assert_false(is_found(t, idle->id, who));
	assert_true(is_found(t, used->id, who));
	/* somebody waits for it */
	assert_true(is_found(t, listening->id, who));
	ssereader_free(r);
	deadline_sleep_ms(120);
	httpsessions_tick(t);
	assert_false(is_found(t, listening->id, who));
	ssestream_unref(stream);
	httpsession_unref(idle);
	httpsession_unref(used);
	httpsession_unref(listening);
	httpsessions_end_all(t);
	httpsessions_free(t);
	auth_unref(who);
	assert_true(auth_free(a));
}

static void there_is_a_limit(void **state)
{
	struct httpsessions *t = httpsessions_new(2, 60000);
	struct principal *who;
	struct auth *a = open_auth(&who);
	struct httpsession *one = open_one(t, who, true);
	struct httpsession *two = open_one(t, who, true);
	struct httpsession *own, *third = NULL;
	struct err e = {0};

	(void)state;
	assert_fails(httpsession_open(t, who, true, &third, &e), &e, ERR_LIMIT,
		     "2 sessions");
	/* these are counted by their connections */
	own = open_one(t, who, false);
	/* one that has been silent for long makes room */
	atomic_store(&one->seen_ms, deadline_now_ms() - 3600000);
	third = open_one(t, who, true);
	assert_false(is_found(t, one->id, who));
	assert_true(is_found(t, two->id, who));
	httpsession_end(third);
	httpsession_unref(third);
	third = open_one(t, who, true);
	httpsessions_end_all(t);
	httpsession_unref(one);
	httpsession_unref(two);
	httpsession_unref(third);
	httpsession_unref(own);
	httpsessions_free(t);
	auth_unref(who);
	assert_true(auth_free(a));
}

static void a_revoked_token_takes_them_along(void **state)
{
	struct httpsessions *t = httpsessions_new(9, 60000);
	struct principal *who;
	struct auth *a = open_auth(&who);
	struct httpsession *s = open_one(t, who, true);

	(void)state;
	httpsessions_tick(t);
	assert_true(is_found(t, s->id, who));
	atomic_store(&who->revoked, true);
	httpsessions_tick(t);
	assert_false(is_found(t, s->id, who));
	assert_true(atomic_load(&s->ended));
	httpsession_unref(s);
	httpsessions_free(t);
	auth_unref(who);
	assert_true(auth_free(a));
}

/* An ended stream of so many bytes; its number. */
static uint64_t add_stream(struct httpsession *s, size_t len)
{
	struct ssestream *stream = httpsession_stream(s);
	uint64_t number = ssestream_number(stream);
	autofree char *text = calloc(1, len + 1);

	memset(text, 'x', len);
	ssestream_add(stream, text, len, false);
	ssestream_end(stream);
	ssestream_unref(stream);
	return number;
}

static bool has_stream(struct httpsession *s, uint64_t number)
{
	struct ssestream *stream = httpsession_find_stream(s, number);

	ssestream_unref(stream);
	return stream != NULL;
}

static void few_ended_streams_are_kept(void **state)
{
	struct httpsessions *t = httpsessions_new(9, 60000);
	struct principal *who;
	struct auth *a = open_auth(&who);
	struct httpsession *s = open_one(t, who, true);
	struct ssestream *going_on = httpsession_stream(s);
	uint64_t numbers[LIMIT_HTTP_KEPT_COUNT + 2], big;

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(numbers); i++)
		numbers[i] = add_stream(s, 10);
	httpsessions_tick(t);
	assert_false(has_stream(s, numbers[0]));
	assert_false(has_stream(s, numbers[1]));
	assert_true(has_stream(s, numbers[2]));
	/* one that goes on is not counted */
	assert_true(has_stream(s, ssestream_number(going_on)));
	/* a large one stays alone */
	big = add_stream(s, LIMIT_HTTP_KEPT_LEN + 1);
	httpsessions_tick(t);
	assert_true(has_stream(s, big));
	assert_false(has_stream(s, numbers[ARRAY_COUNT(numbers) - 1]));
	assert_false(has_stream(s, 12345));
	ssestream_unref(going_on);
	httpsessions_end_all(t);
	httpsession_unref(s);
	httpsessions_free(t);
	auth_unref(who);
	assert_true(auth_free(a));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(found_by_id_and_owner),
	cmocka_unit_test(idle_ones_expire),
	cmocka_unit_test(there_is_a_limit),
	cmocka_unit_test(a_revoked_token_takes_them_along),
	cmocka_unit_test(few_ended_streams_are_kept),
};
UNIT_MAIN(tests)
