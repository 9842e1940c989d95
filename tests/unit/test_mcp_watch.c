/* Connections that hang up, are too slow, or lost their token. */
#include "mcp/watch.h"

#include "tests/support/unit.h"

#include "base/deadline.h"
#include "base/fd.h"

#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>

#define SOON_MS 3000

static atomic_int ticks;

static void on_tick(void *ctx)
{
	(void)ctx;
	atomic_fetch_add(&ticks, 1);
}

static void on_gone(void *arg)
{
	atomic_store((atomic_bool *)arg, true);
}

struct rig {
	struct watch *w;
	struct watched *c;
	int fds[2]; /* ours, the client's */
	atomic_bool gone;
};

static void open_rig(struct rig *r)
{
	struct err e = {0};

	*r = (struct rig){.w = NULL};
	assert_ok(fd_pair(r->fds, &e), &e);
	assert_ok(watch_new(on_tick, NULL, &r->w, &e), &e);
	r->c = watch_add(r->w, r->fds[0]);
}

static void close_rig(struct rig *r)
{
	watch_remove(r->w, r->c);
	watch_free(r->w);
	close(r->fds[0]);
	if (r->fds[1] >= 0)
		close(r->fds[1]);
}

static bool becomes(const atomic_bool *what)
{
	struct deadline d = deadline_in_ms(SOON_MS);

	while (!atomic_load(what) && !deadline_passed(d))
		deadline_sleep_ms(5);
	return atomic_load(what);
}

/* Has the connection been ended on our side? */
static bool is_ended(const struct rig *r, int wait_ms)
{
	struct pollfd p = {.fd = r->fds[1], .events = POLLIN | POLLRDHUP};

	return poll(&p, 1, wait_ms) == 1 && (p.revents & POLLRDHUP);
}

static void a_client_that_hangs_up(void **state)
{
	(void)state;
	/* closed, or only its sending half */
	for (int how = 0; how < 2; how++) {
		struct rig r;

		open_rig(&r);
		watch_arm(r.w, r.c, on_gone, &r.gone, NULL);
		deadline_sleep_ms(50);
		assert_false(atomic_load(&r.gone));
		/* what it sends is no matter */
		assert_int_equal(write(r.fds[1], "x", 1), 1);
		deadline_sleep_ms(50);
		assert_false(atomic_load(&r.gone));
		if (how == 0) {
			close(r.fds[1]);
			r.fds[1] = -1;
		} else {
			assert_int_equal(shutdown(r.fds[1], SHUT_WR), 0);
		}
		assert_true(becomes(&r.gone));
		close_rig(&r);
	}
}

static void one_that_had_hung_up_before(void **state)
{
	struct rig r;

	(void)state;
	open_rig(&r);
	assert_int_equal(shutdown(r.fds[1], SHUT_WR), 0);
	deadline_sleep_ms(50);
	watch_arm(r.w, r.c, on_gone, &r.gone, NULL);
	assert_true(becomes(&r.gone));
	close_rig(&r);
}

static void nobody_is_told_after_disarming(void **state)
{
	struct rig r;

	(void)state;
	open_rig(&r);
	watch_arm(r.w, r.c, on_gone, &r.gone, NULL);
	watch_disarm(r.w, r.c);
	assert_int_equal(shutdown(r.fds[1], SHUT_WR), 0);
	deadline_sleep_ms(100);
	assert_false(atomic_load(&r.gone));
	close_rig(&r);
}

static void one_that_is_too_slow(void **state)
{
	struct rig r;

	(void)state;
	open_rig(&r);
	watch_deadline(r.c, 100);
	watch_deadline(r.c, 0); /* it was in time */
	assert_false(is_ended(&r, 600));
	watch_deadline(r.c, 100);
	assert_true(is_ended(&r, SOON_MS));
	close_rig(&r);
}

static void one_that_lost_its_token(void **state)
{
	atomic_bool cut = false;
	struct rig r;

	(void)state;
	open_rig(&r);
	watch_arm(r.w, r.c, on_gone, &r.gone, &cut);
	assert_false(is_ended(&r, 600));
	atomic_store(&cut, true);
	assert_true(is_ended(&r, SOON_MS));
	assert_true(becomes(&r.gone));
	close_rig(&r);
}

static void it_ticks(void **state)
{
	struct deadline d = deadline_in_ms(2L * SOON_MS);
	struct rig r;

	(void)state;
	atomic_store(&ticks, 0);
	open_rig(&r);
	while (atomic_load(&ticks) < 2 && !deadline_passed(d))
		deadline_sleep_ms(20);
	assert_int_equal(atomic_load(&ticks), 2);
	close_rig(&r);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_client_that_hangs_up),
	cmocka_unit_test(one_that_had_hung_up_before),
	cmocka_unit_test(nobody_is_told_after_disarming),
	cmocka_unit_test(one_that_is_too_slow),
	cmocka_unit_test(one_that_lost_its_token),
	cmocka_unit_test(it_ticks),
};
UNIT_MAIN(tests)
