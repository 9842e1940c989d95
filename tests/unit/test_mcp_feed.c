#include "mcp/feed.h"

#include "tests/support/unit.h"

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/json.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct ear {
	atomic_uint topics; /* all that it was told of */
	atomic_uint count;
	char uri[64];
};

static void on_tell(void *ctx, enum feed_topic topic, const char *uri)
{
	struct ear *e = ctx;

	atomic_fetch_or(&e->topics, (unsigned)topic);
	atomic_fetch_add(&e->count, 1);
	if (uri)
		snprintf(e->uri, sizeof(e->uri), "%s", uri);
}

static struct feed_listener *hear(struct feed *f, struct ear *e,
				  unsigned topics, const json_t *uris)
{
	struct feed_want want = {
		.topics = topics, .uris = uris, .tell = on_tell, .ctx = e};

	return feed_listen(f, &want);
}

static void each_hears_what_it_asked_for(void **state)
{
	struct feed *f = feed_new(NULL);
	auto_json json_t *uris = json_pack("[s, s]", "a:1", "a:2");
	struct ear tools = {0}, all = {0}, some = {0};
	struct feed_listener *t = hear(f, &tools, FEED_TOOLS, NULL);
	struct feed_listener *a =
		hear(f, &all, FEED_TOOLS | FEED_PROMPTS | FEED_RESOURCES, NULL);
	struct feed_listener *s = hear(f, &some, FEED_UPDATED, uris);

	(void)state;
	feed_tell(f, FEED_PROMPTS, NULL);
	feed_tell(f, FEED_UPDATED, "a:2");
	feed_tell(f, FEED_UPDATED, "a:3");
	assert_int_equal(tools.topics, 0);
	assert_int_equal(all.topics, FEED_PROMPTS);
	assert_int_equal(some.count, 1);
	assert_string_equal(some.uri, "a:2");
	feed_tell(f, FEED_TOOLS, NULL);
	assert_int_equal(tools.topics, FEED_TOOLS);
	feed_leave(t);
	feed_tell(f, FEED_TOOLS, NULL);
	assert_int_equal(tools.count, 1);
	assert_int_equal(all.count, 3);
	feed_leave(a);
	feed_leave(s);
	feed_leave(NULL);
	feed_free(f);
}

struct source {
	atomic_uint looks, lists;
	atomic_bool blocks;
	char uris[128];
};

static void on_look(void *ctx, struct feed *f, bool list, const json_t *uris,
		    int stop_fd)
{
	struct source *s = ctx;
	autofree char *text = json_print(uris);
	struct pollfd p = {.fd = stop_fd, .events = POLLIN};

	if (json_array_size(uris) > 1)
		snprintf(s->uris, sizeof(s->uris), "%s", text);
	if (atomic_load(&s->blocks))
		(void)poll(&p, 1, 20000);
	if (list) {
		atomic_fetch_add(&s->lists, 1);
		feed_tell(f, FEED_RESOURCES, NULL);
	}
	atomic_fetch_add(&s->looks, 1);
}

static void wait_for(atomic_uint *n, unsigned value)
{
	struct deadline d = deadline_in_ms(20000);

	while (atomic_load(n) < value) {
		if (deadline_passed(d))
			fail_msg("waited for too long");
		deadline_sleep_ms(1);
	}
}

static void a_source_looks_while_somebody_listens(void **state)
{
	struct source s = {0};
	struct feed_source source = {.ctx = &s, .look = on_look, .every_ms = 5};
	struct feed *f = feed_new(&source);
	auto_json json_t *one = json_pack("[s]", "a:1");
	auto_json json_t *two = json_pack("[s, s]", "a:2", "a:1");
	struct ear list = {0}, first = {0}, second = {0};
	struct feed_listener *l, *a, *b;
	unsigned looks;

	(void)state;
	/* what is only told needs no look */
	l = hear(f, &list, FEED_TOOLS, NULL);
	deadline_sleep_ms(30);
	assert_int_equal(s.looks, 0);
	feed_leave(l);

	a = hear(f, &first, FEED_UPDATED, one);
	b = hear(f, &second, FEED_UPDATED, two);
	looks = atomic_load(&s.looks);
	wait_for(&s.looks, looks + 2);
	assert_int_equal(s.lists, 0);
	l = hear(f, &list, FEED_RESOURCES, NULL);
	wait_for(&list.count, 3);
	feed_leave(l);
	feed_leave(a);
	feed_leave(b);
	deadline_sleep_ms(20);
	looks = atomic_load(&s.looks);
	deadline_sleep_ms(50);
	assert_int_equal(s.looks, looks);
	l = hear(f, &list, FEED_RESOURCES, NULL);
	wait_for(&s.looks, looks + 1);
	feed_leave(l);
	feed_free(f);
	/* each URI once, whoever wants it */
	assert_true(strcmp(s.uris, "[\"a:2\",\"a:1\"]") == 0 ||
		    strcmp(s.uris, "[\"a:1\",\"a:2\"]") == 0);
}

static void a_look_does_not_hold_up_the_end(void **state)
{
	struct source s = {.blocks = true};
	struct feed_source source = {.ctx = &s, .look = on_look, .every_ms = 5};
	struct feed *f = feed_new(&source);
	struct ear e = {0};
	struct feed_listener *l = hear(f, &e, FEED_RESOURCES, NULL);
	int64_t begun = deadline_now_ms();

	(void)state;
	deadline_sleep_ms(20);
	feed_leave(l);
	feed_free(f);
	assert_true(deadline_now_ms() - begun < 10000);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_hears_what_it_asked_for),
	cmocka_unit_test(a_source_looks_while_somebody_listens),
	cmocka_unit_test(a_look_does_not_hold_up_the_end),
};
UNIT_MAIN(tests)
