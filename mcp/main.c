/*
 * boxery-mcp: one client's server, over stdio. It holds nothing that matters:
 * clients start several and kill them at will, so all state is the service's,
 * and the service is asked for nothing until the first tool is called.
 */
#include "base/fd.h"
#include "base/home.h"
#include "base/log.h"
#include "base/version.h"
#include "mcp/invocation.h"
#include "mcp/stdio.h"

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

static int serve(const struct invocation *s, struct err *e)
{
	static struct home home;
	static struct client_opts opts;
	static struct tools tools;
	struct protocol_server server = {
		.name = "boxery",
		.title = "boxery: virtual machines with a desktop",
		.version = version_string(),
		.instructions = s->instructions,
	};
	struct toolset set;
	struct stdio_opts stdio = {.in_fd = STDIN_FILENO,
				   .out_fd = STDOUT_FILENO,
				   .server = &server,
				   .tools = &set};
	bool idle;

	if (home_init(&home, s->home, e) != 0 || catch_signals(e) != 0)
		return -1;
	opts = (struct client_opts){
		.home = &home,
		.name = s->client,
		.agent = true,
		.vms = (const char *const *)s->vms,
	};
	tools.links = links_new(&opts);
	tools.copy_root = s->copy_root;
	tools.copy_root_refusal = s->copy_root_refusal;
	tools_init(&tools);
	set = tools_set(&tools);
	stdio.stop_fd = stop_fd;
	if (stdio_run(&stdio, &idle, e) != 0)
		return -1;
	/* Threads that still wait for the service use all of the above. What
	 * they wait for goes on without us; exit handlers must not run under
	 * them. */
	if (!idle || !links_are_idle(tools.links))
		_exit(0);
	links_free(tools.links);
	tools_finish(&tools);
	home_finish(&home);
	return 0;
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
