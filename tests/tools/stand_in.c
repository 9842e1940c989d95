/*
 * A service for tests of the command line: the real transport, and behind it
 * handlers that do what their arguments say instead of something to a VM.
 *
 * usage: stand_in HOME      serves HOME/run/host.sock until SIGTERM
 */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/home.h"
#include "base/json.h"
#include "base/log.h"
#include "vmctl/instance.h"
#include "vmctl/job.h"
#include "vmctl/serve.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const char *word(const json_t *args, size_t i)
{
	const char *s = json_string_value(
		json_array_get(json_object_get(args, "argv"), i));

	return s ? s : "";
}

static int run_cat(struct call *c, struct err *e)
{
	char bytes[4096];
	ssize_t n;

	while ((n = call_read(c, RPC_STDIN, bytes, sizeof(bytes), e)) > 0) {
		if (call_write(c, RPC_STDOUT, bytes, (size_t)n, e) != 0)
			return -1;
	}
	return (int)n;
}

static int run_yes(struct call *c, struct err *e)
{
	while (call_write(c, RPC_STDOUT, "y\n", 2, e) == 0)
		;
	return -1;
}

/* argv: cat | yes | exit N | kill SIGNAL | say OUT ERR */
static int run(struct call *c, const json_t *args, json_t **ret, struct err *e)
{
	const char *what = word(args, 0);
	int status = 0;

	if (strcmp(what, "cat") == 0 && run_cat(c, e) != 0)
		return -1;
	if (strcmp(what, "yes") == 0)
		return run_yes(c, e);
	if (strcmp(what, "say") == 0 &&
	    (call_write(c, RPC_STDOUT, word(args, 1), strlen(word(args, 1)),
			e) != 0 ||
	     call_write(c, RPC_STDERR, word(args, 2), strlen(word(args, 2)),
			e) != 0))
		return -1;
	if (strcmp(what, "exit") == 0)
		status = (int)strtol(word(args, 1), NULL, 10);
	*ret = json_pack("{s:i}", "exit", status);
	if (strcmp(what, "kill") == 0)
		json_object_set_new(*ret, "signal", json_string(word(args, 1)));
	return 0;
}

/* The name says how long: "steps" some progress, "slow" until cancelled. */
static int new_vm(struct call *c, const json_t *args, json_t **ret,
		  struct err *e)
{
	const char *vm = json_string_value(json_object_get(args, "vm"));
	int steps = strcmp(vm, "slow") == 0 ? 100000 : 15;

	for (int i = 0; i < steps; i++) {
		call_progress(c, i, steps, "booting\033[2J");
		if (call_check(c, e) != 0) {
			printf("undone %s\n", vm);
			fflush(stdout);
			return -1;
		}
		deadline_sleep_ms(100);
	}
	*ret = json_pack("{s:s, s:s}", "name", vm, "state", "running");
	return 0;
}

static int list(struct call *c, const json_t *args, json_t **ret, struct err *e)
{
	(void)c;
	(void)args;
	(void)e;
	*ret = json_pack("{s:[{s:s, s:s}, {s:s, s:s}]}", "rows", "name", "demo",
			 "state", "running", "name", "other", "state", "off");
	return 0;
}

static int info(struct call *c, const json_t *args, json_t **ret, struct err *e)
{
	(void)c;
	(void)e;
	*ret = json_pack("{s:O, s:s}", "name", json_object_get(args, "vm"),
			 "state", "off");
	return 0;
}

static int doctor(struct call *c, const json_t *args, json_t **ret,
		  struct err *e)
{
	(void)c;
	(void)args;
	(void)e;
	*ret = json_pack("{s:[{s:s, s:b}, {s:s, s:b}]}", "rows", "check", "a",
			 "ok", 1, "check", "b", "ok", 0);
	return 0;
}

static int shot(struct call *c, const json_t *args, json_t **ret, struct err *e)
{
	(void)args;
	*ret = json_pack("{s:s}", "mime", "image/png");
	return call_write(c, RPC_IMAGE, "\x89PNG, as it were", 16, e);
}

static int wait_vm(struct call *c, const json_t *args, json_t **ret,
		   struct err *e)
{
	(void)c;
	(void)e;
	*ret = json_pack("{s:O, s:b}", "vm", json_object_get(args, "vm"),
			 "ready", 0);
	return 0;
}

static call_handler *find(const struct op *op)
{
	static const struct {
		const char *name;
		call_handler *handler;
	} rows[] = {
		{"vm_run", run},   {"vm_new", new_vm}, {"vm_list", list},
		{"vm_wait", wait_vm},
		{"vm_info", info}, {"doctor", doctor}, {"vm_screenshot", shot},
	};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		if (strcmp(rows[i].name, op->name) == 0)
			return rows[i].handler;
	}
	return NULL;
}

int main(int argc, char *argv[])
{
	struct service service = {0};
	struct serve_opts o = {.service = &service, .handler = find};
	struct serve *serve = NULL;
	struct err e = {0};
	int lock_fd = -1;
	int rc = 1;
	sigset_t set;

	log_init("stand_in", LOG_WARN);
	if (argc != 2 || home_init(&service.home, argv[1], &e) != 0 ||
	    home_make_dirs(&service.home, &e) != 0)
		goto fail;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	service.jobs = jobs_new();
	o.signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	o.socket_path = service.home.socket;
	lock_fd = instance_lock(&service.home, deadline_in_ms(1000), &e);
	if (lock_fd < 0)
		goto fail;
	o.listen_fd = instance_listen(&service.home, &e);
	if (o.listen_fd < 0 || serve_new(&o, &serve, &e) != 0 ||
	    serve_run(serve, &e) != 0)
		goto fail;
	rc = 0;
fail:
	if (rc != 0)
		fprintf(stderr, "stand_in: %s\n", err_msg(&e));
	serve_free(serve);
	jobs_free(service.jobs);
	if (lock_fd >= 0)
		close(lock_fd);
	home_finish(&service.home);
	return rc;
}
