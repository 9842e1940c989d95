/* Streams of events: written and read at different speeds, cut and resumed. */
#include "mcp/ssestream.h"

#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/deadline.h"
#include "base/limits.h"

#include <pthread.h>
#include <string.h>

/* All that can be read without waiting long, in pieces of size; free(). */
static char *read_all(struct ssereader *r, size_t size)
{
	char *all = alloc_str("");
	char piece[4096];
	ssize_t n;

	while ((n = ssereader_read(r, piece, size)) > 0) {
		char *longer = alloc_printf("%s%.*s", all, (int)n, piece);

		free(all);
		all = longer;
	}
	assert_int_equal(n, -1);
	return all;
}

static char *read_from(struct ssestream *s, uint64_t after, bool prime)
{
	struct ssereader_opts o = {.after = after,
				   .prime = prime,
				   .comment_ms = LIMIT_HTTP_COMMENT_MS};
	struct ssereader *r = ssereader_new(s, &o);
	char *text = read_all(r, 3);

	assert_true(ssereader_is_done(r));
	ssereader_free(r);
	return text;
}

static void add(struct ssestream *s, const char *text, bool is_note)
{
	ssestream_add(s, text, strlen(text), is_note);
}

static void events_have_ids_and_can_be_read_again(void **state)
{
	struct ssestream *s = ssestream_new(7);
	autofree char *all = NULL, *rest = NULL, *nothing = NULL;

	(void)state;
	add(s, "{1}", true);
	add(s, "{2}", true);
	add(s, "{3}", false);
	ssestream_end(s);
	all = read_from(s, 0, true);
	assert_string_equal(all, "id: 7-0\nretry: 1000\ndata:\n\n"
				 "event: message\nid: 7-1\ndata: {1}\n\n"
				 "event: message\nid: 7-2\ndata: {2}\n\n"
				 "event: message\nid: 7-3\ndata: {3}\n\n");
	rest = read_from(s, 2, false);
	assert_string_equal(rest, ":\n\nevent: message\nid: 7-3\n"
				  "data: {3}\n\n");
	nothing = read_from(s, 99, false);
	assert_string_equal(nothing, ":\n\n");
	assert_int_equal(ssestream_len(s), 9);
	assert_int_equal(ssestream_taken(s), 3);
	ssestream_unref(s);
}

static void what_is_not_kept_is_forgotten(void **state)
{
	struct ssestream *s = ssestream_new(0);
	autofree char *all = NULL;

	(void)state;
	add(s, "{1}", false);
	ssestream_end(s);
	all = read_from(s, 0, false);
	assert_string_equal(all, ":\n\nevent: message\ndata: {1}\n\n");
	assert_int_equal(ssestream_len(s), 0);
	ssestream_unref(s);
}

static void notes_for_a_slow_reader_are_dropped(void **state)
{
	struct ssestream *s = ssestream_new(1);
	autofree char *all = NULL;

	(void)state;
	add(s, "{first answer}", false);
	for (int i = 0; i < 10 * LIMIT_HTTP_NOTES_COUNT; i++)
		add(s, "{note}", true);
	add(s, "{answer}", false);
	ssestream_end(s);
	assert_true(ssestream_len(s) < 10 * LIMIT_HTTP_NOTES_COUNT);
	all = read_from(s, 0, false);
	assert_non_null(strstr(all, "{first answer}"));
	assert_non_null(strstr(all, "{answer}"));
	assert_null(strstr(all, "id: 1-2\n"));
	assert_non_null(strstr(all, "id: 1-641\n"));
	ssestream_unref(s);
}

static void a_quiet_stream_shows_life(void **state)
{
	struct ssestream *s = ssestream_new(1);
	struct ssereader_opts o = {.comment_ms = 20};
	struct ssereader *r = ssereader_new(s, &o);
	int64_t begin = deadline_now_ms();
	char text[64];

	(void)state;
	for (int i = 0; i < 4; i++) {
		ssize_t n = ssereader_read(r, text, sizeof(text));

		assert_int_equal(n, 3);
		assert_memory_equal(text, ":\n\n", 3);
	}
	assert_true(deadline_now_ms() - begin >= 60);
	ssereader_free(r);
	ssestream_unref(s);
}

static void *read_until_sent_away(void *arg)
{
	free(read_all(arg, 100));
	return NULL;
}

static void a_reader_leaves_when_told(void **state)
{
	(void)state;
	for (int how = 0; how < 4; how++) {
		static atomic_bool cut;
		struct ssestream *s = ssestream_new(1);
		struct ssereader_opts o = {.comment_ms = 50, .cut = &cut};
		struct ssereader *r = ssereader_new(s, &o);
		struct ssereader *other = NULL;
		pthread_t thread;

		atomic_store(&cut, false);
		assert_int_equal(pthread_create(&thread, NULL,
						read_until_sent_away, r),
				 0);
		assert_true(ssestream_has_reader(s));
		if (how == 0)
			ssereader_leave(r);
		else if (how == 1)
			ssestream_send_away(s);
		else if (how == 2)
			atomic_store(&cut, true);
		else /* one stream has one reader */
			other = ssereader_new(s, &o);
		pthread_join(thread, NULL);
		assert_false(ssereader_is_done(r));
		ssereader_free(r);
		assert_int_equal(ssestream_has_reader(s), other != NULL);
		if (other)
			ssereader_free(other);
		ssestream_unref(s);
	}
}

static void *write_some(void *arg)
{
	for (int i = 0; i < 50; i++)
		add(arg, "{x}", false);
	ssestream_end(arg);
	ssestream_unref(arg);
	return NULL;
}

static void a_writer_and_a_reader_at_once(void **state)
{
	struct ssestream *s = ssestream_new(3);
	struct ssereader_opts o = {.comment_ms = 10000};
	struct ssereader *r = ssereader_new(s, &o);
	autofree char *all = NULL;
	pthread_t thread;
	int count = 0;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, write_some,
					ssestream_ref(s)),
			 0);
	all = read_all(r, 5);
	pthread_join(thread, NULL);
	for (const char *p = all; (p = strstr(p, "{x}")); p++)
		count++;
	assert_int_equal(count, 50);
	ssereader_free(r);
	ssestream_unref(s);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(events_have_ids_and_can_be_read_again),
	cmocka_unit_test(what_is_not_kept_is_forgotten),
	cmocka_unit_test(notes_for_a_slow_reader_are_dropped),
	cmocka_unit_test(a_quiet_stream_shows_life),
	cmocka_unit_test(a_reader_leaves_when_told),
	cmocka_unit_test(a_writer_and_a_reader_at_once),
};
UNIT_MAIN(tests)
