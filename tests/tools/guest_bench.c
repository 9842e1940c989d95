/*
 * guest_bench ROUNDS - the warm command `true` in a guest, in microseconds:
 * one number a line, for bench/guest.sh. The guest is named as in guest_tool.h.
 */
#include "tests/tools/guest_tool.h"

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int main(int argc, char *argv[])
{
	static const char *const words[] = {"true", NULL};
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 20;
	struct guest *g = tool_guest_with(tool_env("GUEST_KEY"),
					  tool_env("GUEST_HOST_KEY"));
	const struct guest_run r = {.argv = words, .cancel_fd = -1};
	struct err e = {0};

	CHECK_OK(guest_connect(g, deadline_in_ms(30000), &e), &e);
	for (long i = 0; i < rounds; i++) {
		struct guest_exit how = {.status = -1};
		int64_t begun_us = now_us();

		CHECK_OK(guest_run(g, &r, deadline_in_ms(30000), &how, &e), &e);
		CHECK(how.status == 0);
		printf("%lld\n", (long long)(now_us() - begun_us));
	}
	guest_free(g);
	return 0;
}
