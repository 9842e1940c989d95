#include "mcp/callpool.h"

#include "tests/support/unit.h"

#include "base/deadline.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What ran, in the order in which it ended. */
struct journal {
	pthread_mutex_t lock;
	char text[256];
	int open_now, open_most;
};

struct piece {
	struct journal *journal;
	char name;
	int ms;
	int gate; /* read end of a pipe to wait for, or -1 */
};

static void run_piece(void *arg)
{
	struct piece *p = arg;
	struct journal *j = p->journal;
	size_t len;
	char c;

	pthread_mutex_lock(&j->lock);
	j->open_now++;
	if (j->open_now > j->open_most)
		j->open_most = j->open_now;
	pthread_mutex_unlock(&j->lock);
	if (p->gate >= 0 && read(p->gate, &c, 1) < 0)
		c = 0;
	if (p->ms > 0)
		deadline_sleep_ms(p->ms);
	pthread_mutex_lock(&j->lock);
	j->open_now--;
	len = strlen(j->text);
	j->text[len] = p->name;
	j->text[len + 1] = '\0';
	pthread_mutex_unlock(&j->lock);
}

/* Wait until so many pieces are at work and the journal says so. */
static void await(struct journal *j, int open_now, const char *text)
{
	struct deadline d = deadline_in_ms(10000);
	bool so = false;

	while (!so && !deadline_passed(d)) {
		pthread_mutex_lock(&j->lock);
		so = j->open_now == open_now && strcmp(j->text, text) == 0;
		pthread_mutex_unlock(&j->lock);
		if (!so)
			deadline_sleep_ms(1);
	}
	assert_true(so);
}

static void a_lane_keeps_its_order(void **state)
{
	struct journal j = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct callpool *p = callpool_new(8, 8);
	struct err e = {0};
	int gate[2];

	(void)state;
	assert_int_equal(pipe(gate), 0);

	struct piece pieces[] = {
		{&j, 'a', 0, gate[0]},
		{&j, 'b', 20, -1},
		{&j, 'c', 0, -1},
		{&j, 'x', 0, -1},
	};

	for (int i = 0; i < 3; i++)
		assert_ok(callpool_submit(p, "vm1", run_piece, &pieces[i], &e),
			  &e);
	await(&j, 1, "");
	/* another VM's input passes by while the first of this lane is at work */
	assert_ok(callpool_submit(p, "vm2", run_piece, &pieces[3], &e), &e);
	await(&j, 1, "x");
	assert_int_equal(write(gate[1], "1", 1), 1);
	callpool_free(p);
	assert_string_equal(j.text, "xabc");
	close(gate[0]);
	close(gate[1]);
}

static void threads_and_queue_are_bounded(void **state)
{
	struct journal j = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct piece pieces[8];
	struct callpool *p = callpool_new(2, 3);
	struct err e = {0};
	int gate[2];
	int taken = 0;

	(void)state;
	assert_int_equal(pipe(gate), 0);
	for (int i = 0; i < 8; i++) {
		pieces[i] = (struct piece){&j, 'a', 0, gate[0]};
		if (callpool_submit(p, NULL, run_piece, &pieces[i], &e) != 0) {
			assert_int_equal(e.code, ERR_LIMIT);
			break;
		}
		taken++;
		/* the queue's places are counted once both threads are busy */
		await(&j, taken < 2 ? taken : 2, "");
	}
	/* two run, three wait */
	assert_int_equal(taken, 5);
	assert_int_equal(write(gate[1], "12345", 5), 5);
	callpool_free(p);
	assert_string_equal(j.text, "aaaaa");
	assert_int_equal(j.open_most, 2);
	close(gate[0]);
	close(gate[1]);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_lane_keeps_its_order),
	cmocka_unit_test(threads_and_queue_are_bounded),
};
UNIT_MAIN(tests)
