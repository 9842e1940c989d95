/*
 * guest_bench - for each line on standard input the warm command `true` in a
 * guest once, and its microseconds as a line: bench/guest.sh takes turns with
 * its peer, so that what else the machine does weighs on both. The guest is
 * named as in guest_tool.h.
 */
#include "tests/tools/guest_tool.h"

int main(void)
{
	static const char *const words[] = {"true", NULL};
	struct guest *g = tool_guest();
	const struct guest_run r = {.argv = words, .cancel_fd = -1};
	char line[16];
	struct err e = {0};

	CHECK_OK(guest_connect(g, deadline_in_ms(30000), &e), &e);
	while (fgets(line, sizeof(line), stdin)) {
		struct guest_exit how = {.status = -1};
		double begun_ms = tool_now_ms();

		CHECK_OK(guest_run(g, &r, deadline_in_ms(30000), &how, &e), &e);
		CHECK(how.status == 0);
		printf("%.0f\n", (tool_now_ms() - begun_ms) * 1000);
		fflush(stdout);
	}
	guest_free(g);
	return 0;
}
