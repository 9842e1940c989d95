/*
 * boxery-mcp: one client's server over stdio, or that of several over HTTP. It
 * holds nothing that matters: clients start several and kill them at will, so
 * all state is the service's, and the service is asked for nothing until the
 * first tool is called.
 */
#include "base/fd.h"
#include "base/home.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/version.h"
#include "mcp/auth.h"
#include "mcp/http.h"
#include "mcp/icon.h"
#include "mcp/invocation.h"
#include "mcp/stdio.h"
#include "ops/mcptoken.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int stop_fd = -1;

static void on_signal(int sig)
{
	uint64_t one = 1;
	int saved = errno;
	ssize_t n = write(stop_fd, &one, sizeof(one));

	(void)n;
	(void)sig;
	errno = saved;
}

static int catch_signals(struct err *e)
{
	static const int stopping[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction stop = {.sa_handler = on_signal};
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (stop_fd < 0)
		return err_sys(e, "making an eventfd");
	for (size_t i = 0; i < sizeof(stopping) / sizeof(*stopping); i++) {
		if (sigaction(stopping[i], &stop, NULL) != 0)
			return err_sys(e, "catching signals");
	}
	if (sigaction(SIGPIPE, &ignore, NULL) != 0)
		return err_sys(e, "ignoring SIGPIPE");
	return 0;
}

/* Whose files a copy could reach: HOME may be absent or not all of it. */
static int parse(int argc, char *argv[], struct invocation *ret, struct err *e)
{
	/* NOLINTBEGIN(concurrency-mt-unsafe): there is one thread yet */
	const struct passwd *pw = getpwuid(getuid());
	const char *homes[3] = {getenv("HOME")};
	/* NOLINTEND(concurrency-mt-unsafe) */

	if (pw)
		homes[homes[0] ? 1 : 0] = pw->pw_dir;
	return invocation_parse(argc, argv, homes, ret, e);
}

/*
 * Threads that still wait for the service use all that was set up here. What
 * they wait for goes on without us; exit handlers must not run under them.
 */
static void leave_running(void)
{
	_exit(0);
}

static int serve_stdio(const struct invocation *s, const struct home *home,
		       const struct protocol_server *server, struct err *e)
{
	static struct client_opts opts;
	static struct tools tools;
	struct toolset set;
	struct stdio_opts stdio = {.in_fd = STDIN_FILENO,
				   .out_fd = STDOUT_FILENO,
				   .stop_fd = stop_fd,
				   .server = server,
				   .tools = &set};
	bool idle;

	opts = (struct client_opts){
		.home = home,
		.name = s->client,
		.agent = true,
		.vms = (const char *const *)s->vms,
		.no_start = s->no_start,
		.high_tier = s->high_tier,
	};
	tools.asker = s->client;
	tools.links = links_new(&opts);
	tools.copy_root = s->copy_root;
	tools.copy_root_refusal = s->copy_root_refusal;
	tools_init(&tools);
	set = tools_set(&tools);
	if (stdio_run(&stdio, &idle, e) != 0)
		return -1;
	if (!idle || !links_are_idle(tools.links))
		leave_running();
	links_free(tools.links);
	tools_finish(&tools);
	return 0;
}

/* -- over HTTP ------------------------------------------------------------- */

static int open_listener(const struct invocation *s,
			 struct httphead_address *ret, struct err *e)
{
	if (httphead_address(s->http, ret, e) != 0)
		return err_wrap(e, "--http");
	if (!ret->is_loopback && !s->tls_cert)
		return err_set(e, ERR_INVALID,
			       "--http %s: on this address others see the "
			       "token, and with it have every VM. Listen on "
			       "127.0.0.1, behind tailscale serve or ssh -L, "
			       "or give --tls-cert and --tls-key",
			       s->http);
	return http_listen(ret, e);
}

static int set_names(const struct invocation *s,
		     const struct httphead_address *a,
		     struct httphead_names *ret, struct err *e)
{
	char *origin, *host;

	ret->listening = a->text;
	if (!s->public_url)
		return 0;
	if (httphead_public_url(s->public_url, &origin, &host, e) != 0)
		return -1;
	ret->public_origin = origin;
	ret->public_host = host;
	return 0;
}

static int make_first_token(const struct home *home, struct err *e)
{
	char *path;

	if (mcptoken_first(home, &path, e) != 0)
		return -1;
	if (path)
		fprintf(stderr, "boxery-mcp: a first token is in %s\n", path);
	free(path);
	return 0;
}

static void say_where(const struct invocation *s,
		      const struct httphead_address *a)
{
	fprintf(stderr, "boxery-mcp: serving %s://%s/mcp\n",
		s->tls_cert ? "https" : "http", a->text);
	if (!a->is_loopback)
		fprintf(stderr,
			"boxery-mcp: whoever reaches this address and has a "
			"token has its VMs\n");
}

static int serve_http(const struct invocation *s, const struct home *home,
		      const struct protocol_server *server, struct err *e)
{
	static struct httphead_address address;
	struct auth_opts ao = {
		.home = home,
		.server = server,
		.vms = (const char *const *)s->vms,
		.copy_root = s->copy_root,
		.copy_root_refusal = s->copy_root_refusal,
		.no_start = s->no_start,
		.high_tier = s->high_tier,
	};
	struct http_opts o = {
		.allow_users = (const char *const *)s->allow_users,
		.tls_cert = s->tls_cert,
		.tls_key = s->tls_key,
		.session_idle_ms = LIMIT_HTTP_SESSION_IDLE_MS,
	};
	struct http *h = NULL;

	o.listen_fd = open_listener(s, &address, e);
	if (o.listen_fd < 0)
		return -1;
	o.is_v6 = address.addr.ss_family == AF_INET6;
	if (set_names(s, &address, &o.names, e) != 0 ||
	    make_first_token(home, e) != 0 || auth_new(&ao, &o.auth, e) != 0)
		return -1;
	if (http_start(&o, &h, e) != 0) {
		auth_free(o.auth);
		return -1;
	}
	say_where(s, &address);
	if (!http_run(h, stop_fd))
		leave_running();
	auth_record(o.auth);
	if (!auth_free(o.auth))
		leave_running();
	free((char *)(uintptr_t)o.names.public_origin);
	free((char *)(uintptr_t)o.names.public_host);
	return 0;
}

static int serve(const struct invocation *s, struct err *e)
{
	static struct home home;
	static struct protocol_server server = {
		.name = "boxery",
		.title = "boxery: virtual machines with a desktop",
		.icon = ICON_URL,
		.has_library = true,
	};
	int rc;

	server.version = version_string();
	server.instructions = s->instructions;
	if (home_init(&home, s->home, e) != 0 || catch_signals(e) != 0)
		return -1;
	rc = s->http ? serve_http(s, &home, &server, e)
		     : serve_stdio(s, &home, &server, e);
	if (rc == 0)
		home_finish(&home);
	return rc;
}

int main(int argc, char *argv[])
{
	struct invocation s = {0};
	struct err e = {0};
	int rc = 0;

	log_init("boxery-mcp", LOG_WARN);
	if (fd_fill_std(&e) != 0 || parse(argc, argv, &s, &e) != 0) {
		fprintf(stderr, "boxery-mcp: %s\n", err_msg(&e));
		return err_exit_status(e.code);
	}
	if (s.help) {
		fputs(invocation_usage(), stdout);
	} else if (s.version) {
		printf("boxery-mcp %s\n", version_string());
	} else if (serve(&s, &e) != 0) {
		fprintf(stderr, "boxery-mcp: %s\n", err_msg(&e));
		rc = err_exit_status(e.code);
	}
	invocation_finish(&s);
	return rc;
}
