/*
 * mcp-conformance --http ADDRESS: the HTTP side of boxery-mcp over fixtures,
 * without tokens and therefore on loopback only. It ends with its standard
 * input.
 */
#include "base/limits.h"
#include "base/log.h"
#include "base/version.h"
#include "mcp/http.h"
#include "tests/conformance/fixtures.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int serve(const char *where, struct err *e)
{
	static struct httphead_address address;
	static struct protocol_server server = {
		.name = "mcp-conformance",
		.title = "Fixtures",
		.instructions = "For the conformance suite.",
		.has_library = true,
		.tools_change = true,
		.prompts_change = true,
	};
	struct toolset tools = fixtures_tools();
	struct auth_opts ao = {.server = &server, .everybody = &tools};
	struct http_opts o = {
		.session_idle_ms = LIMIT_HTTP_SESSION_IDLE_MS,
	};
	struct http *h = NULL;

	server.version = version_string();
	if (httphead_address(where, &address, e) != 0)
		return -1;
	if (!address.is_loopback)
		return err_set(e, ERR_DENIED, "only on loopback");
	o.listen_fd = http_listen(&address, e);
	if (o.listen_fd < 0 || auth_new(&ao, &o.auth, e) != 0)
		return -1;
	o.is_v6 = address.addr.ss_family == AF_INET6;
	o.names.listening = address.text;
	if (http_start(&o, &h, e) != 0)
		return -1;
	printf("http://%s/mcp\n", address.text);
	(void)fflush(stdout);
	if (!http_run(h, STDIN_FILENO) || !auth_free(o.auth))
		_exit(0);
	fixtures_free(&tools);
	return 0;
}

int main(int argc, char *argv[])
{
	struct err e = {0};

	log_init("mcp-conformance", LOG_WARN);
	signal(SIGPIPE, SIG_IGN);
	if (argc != 3 || strcmp(argv[1], "--http") != 0) {
		fprintf(stderr, "usage: mcp-conformance --http [ADDR:]PORT\n");
		return 2;
	}
	if (serve(argv[2], &e) == 0)
		return 0;
	fprintf(stderr, "mcp-conformance: %s\n", err_msg(&e));
	return 1;
}
