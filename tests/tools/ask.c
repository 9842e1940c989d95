/*
 * One call to the service, for tests: arguments as JSON, the result as JSON on
 * stdout, progress on stderr. Unlike the CLI it can be an agent, and sends
 * what it is told without looking at it. A result of another shape than its
 * row of the table promises is an error.
 *
 *   ask [--agent] [--client NAME] [--stdin] [--quiet] OP [JSON]
 */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/home.h"
#include "base/json.h"
#include "base/log.h"
#include "ops/client.h"
#include "tests/support/result_shape.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ASK_MS (60LL * 60 * 1000)

static void show(void *ctx, const struct client_progress *p)
{
	bool quiet = *(bool *)ctx;

	if (!quiet && p->text)
		fprintf(stderr, "  %s\n", p->text);
}

static int ask(const struct client_opts *o, struct client_io *io,
	       const char *op, const char *args, struct err *e)
{
	auto_client struct client *c = NULL;
	auto_json json_t *given = json_parse(args, strlen(args), e);
	auto_json json_t *result = NULL;
	autofree char *text = NULL;

	if (!given || client_connect(o, &c, e) ||
	    client_call(c, op, given, io, &result, e))
		return -1;
	text = json_print(result);
	puts(text);
	return shape_check(op_find(op), result, e);
}

int main(int argc, char *argv[])
{
	struct home home = {0};
	struct client_opts o = {.home = &home, .name = "ask"};
	struct client_io io = client_io_none(deadline_in_ms(ASK_MS));
	struct err e = {0};
	bool quiet = false;
	int at = 1;

	io.progress = show;
	io.ctx = &quiet;
	for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
		if (strcmp(argv[at], "--agent") == 0)
			o.agent = true;
		else if (strcmp(argv[at], "--quiet") == 0)
			quiet = true;
		else if (strcmp(argv[at], "--stdin") == 0)
			io.in_fd = STDIN_FILENO;
		else if (strcmp(argv[at], "--client") == 0 && at + 1 < argc)
			o.name = argv[++at];
	}
	log_init("ask", LOG_WARN);
	if (at >= argc)
		return 2;
	if (home_init(&home, NULL, &e) ||
	    ask(&o, &io, argv[at], at + 1 < argc ? argv[at + 1] : "{}", &e)) {
		fprintf(stderr, "%s: %s\n", err_code_name(e.code), err_msg(&e));
		home_finish(&home);
		return err_exit_status(e.code);
	}
	home_finish(&home);
	return 0;
}
