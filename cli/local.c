#include "cli/local.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/utf8.h"
#include "ops/client.h"
#include "ops/client_start.h"
#include "ops/mcptoken.h"
#include "ops/validate.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* `service status` of one that does not run, as in LSB init scripts */
#define STATUS_NOT_RUNNING 3
#define STOP_MS (2L * LIMIT_SERVICE_STOP_MS)

/* ---- ssh
 * ------------------------------------------------------------------------- */

/* ssh itself would only say that the host does not answer. */
static int check_running(const json_t *info, const char *vm, struct err *e)
{
	const char *state;

	if (json_get_str(info, "state", &state, e) != 0)
		return -1;
	if (strcmp(state, "running") != 0)
		return err_set(e, ERR_STATE, "%s is %s (boxery start %s)", vm,
			       state, vm);
	return 0;
}

static int local_ssh(const struct invoke *v, const struct op *op,
		     const json_t *args, int *ret_status, struct err *e)
{
	const json_t *words = json_object_get(args, "argv");
	auto_json json_t *asked = NULL;
	auto_json json_t *info = NULL;
	autofree char *config = path_join(v->home->config, "ssh_config");
	autofree const char **argv = NULL;
	const char *vm;
	size_t n = 0;

	*ret_status = 0;
	if (json_get_str(args, "vm", &vm, e) != 0)
		return err_wrap(e, "%s", op->verb);
	/* the service also writes the configuration and the key of this VM */
	asked = json_pack("{s:s}", "vm", vm);
	if (invoke_op(v, "vm_info", asked, false, &info, e) != 0 ||
	    check_running(info, vm, e) != 0)
		return -1;
	argv = alloc_array(json_array_size(words) + 6, sizeof(*argv));
	argv[n++] = "ssh";
	argv[n++] = "-F";
	argv[n++] = config;
	argv[n++] = vm;
	if (json_array_size(words) > 0)
		argv[n++] = "--";
	for (size_t i = 0; i < json_array_size(words); i++)
		argv[n++] = json_string_value(json_array_get(words, i));
	signal(SIGPIPE, SIG_DFL);
	execvp(argv[0], (char *const *)(uintptr_t)argv);
	return err_sys(e, "ssh (apt-get install openssh-client)");
}

/* ---- init
 * ------------------------------------------------------------------------ */

/* [y/N] on the terminal, whatever standard input is. */
static bool ask_yes(void)
{
	FILE *tty = fopen("/dev/tty", "r+e");
	char line[16] = "";

	if (!tty)
		return false;
	fputs("Run it now? [y/N] ", tty);
	(void)fflush(tty);
	rewind(tty); /* from writing to reading */
	if (!fgets(line, sizeof(line), tty))
		line[0] = '\0';
	(void)fclose(tty);
	return line[0] == 'y' || line[0] == 'Y';
}

/* In our own process group: sudo asks for a password on the terminal. */
static int run_sudo(const json_t *command, struct err *e)
{
	size_t count = json_array_size(command);
	autofree const char **argv = alloc_array(count + 2, sizeof(*argv));
	int status;
	pid_t pid;

	argv[0] = "sudo";
	for (size_t i = 0; i < count; i++)
		argv[i + 1] = json_string_value(json_array_get(command, i));
	pid = fork();
	if (pid < 0)
		return err_sys(e, "fork");
	if (pid == 0) {
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return err_sys(e, "sudo");
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(e, ERR_DENIED, "sudo failed");
	return 0;
}

static void print_command(const json_t *command, const char *why)
{
	fprintf(stderr, "boxery: %s%sthis needs root once:\n    sudo",
		why ? why : "", why ? ", " : "");
	for (size_t i = 0; i < json_array_size(command); i++) {
		char word[LIMIT_PATH_LEN + 1];
		const char *text =
			json_string_value(json_array_get(command, i));

		utf8_escape(word, sizeof(word), text, strlen(text));
		fprintf(stderr, " %s", word);
	}
	fputc('\n', stderr);
}

/* 1: done, so ask the service again. 0: the person goes on without. */
static int root_step(const struct invoke *v, const json_t *result,
		     const json_t *command, struct err *e)
{
	const char *wants =
		json_string_value(json_object_get(result, "wants_root"));
	struct err why = {0};

	print_command(command, wants);
	if (!v->front->yes && !ask_yes())
		return wants ? 0
			     : err_set(e, ERR_DENIED,
				       "not set up: run that command, then "
				       "boxery init again");
	if (run_sudo(command, &why) == 0)
		return 1;
	if (!wants) {
		*e = why;
		return err_wrap(e, "nothing was set up");
	}
	fprintf(stderr, "boxery: %s: going on without\n", err_msg(&why));
	return 0;
}

/* The service names one command for root at a time, until it needs none. One
 * that it names twice has not helped. */
static int local_init(const struct invoke *v, const struct op *op,
		      const json_t *args, int *ret_status, struct err *e)
{
	auto_json json_t *result = NULL;
	auto_json json_t *done = NULL;
	int again = 1;

	*ret_status = 0;
	while (again) {
		json_t *command;

		json_decref(result);
		result = NULL;
		if (invoke_op(v, op->name, args, false, &result, e) != 0)
			return -1;
		command = json_object_get(result, "command");
		if (!command || (done && json_equal(command, done)))
			break;
		again = root_step(v, result, command, e);
		if (again < 0)
			return -1;
		json_decref(done);
		done = json_incref(command);
	}
	if (json_object_get(result, "needs_root") &&
	    !json_is_true(json_object_get(result, "optional")))
		return err_set(e, ERR_DENIED, "%s",
			       json_string_value(
				       json_object_get(result, "needs_root")));
	json_object_del(result, "command");
	json_object_del(result, "wants_root");
	return invoke_print(v, op, result, e);
}

/* ---- the service
 * -------------------------------------------------------------------- */

static int print_not_running(const struct invoke *v, const struct op *op,
			     struct err *e)
{
	auto_json json_t *result = json_pack("{s:b, s:s}", "running", 0,
					     "socket", v->home->socket);

	return invoke_print(v, op, result, e);
}

static int local_status(const struct invoke *v, const struct op *op,
			const json_t *args, int *ret_status, struct err *e)
{
	auto_json json_t *result = NULL;
	struct err why = {0};

	if (invoke_op(v, op->name, args, true, &result, &why) == 0)
		return invoke_print(v, op, result, e);
	if (why.code != ERR_UNAVAILABLE) {
		*e = why;
		return -1;
	}
	*ret_status = STATUS_NOT_RUNNING;
	return print_not_running(v, op, e);
}

/* The process at the other end of the socket, whatever version it speaks. */
static int signal_service(const struct home *h, struct err *e)
{
	autoclose int fd = client_start(
		h, false, deadline_in_ms(LIMIT_SERVICE_START_MS), e);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (fd < 0)
		return -1;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0 ||
	    kill(peer.pid, SIGTERM) != 0)
		return err_sys(e, "stopping the service");
	return 0;
}

static int stop(const struct invoke *v, bool *ret_was_running, struct err *e)
{
	auto_json json_t *result = NULL;
	struct err why = {0};
	int rc = invoke_op(v, "service_stop", NULL, true, &result, &why);

	/* one of another version may not take this call from us */
	if (rc != 0 && why.code != ERR_UNAVAILABLE) {
		why = (struct err){0};
		rc = signal_service(v->home, &why);
	}
	*ret_was_running = rc == 0;
	if (rc != 0 && why.code != ERR_UNAVAILABLE) {
		*e = why;
		return -1;
	}
	/* also one that was stopping already */
	return client_start_wait_gone(v->home, deadline_in_ms(STOP_MS), e);
}

static int local_stop(const struct invoke *v, const struct op *op,
		      const json_t *args, int *ret_status, struct err *e)
{
	auto_json json_t *result = NULL;
	bool was_running;

	(void)args;
	*ret_status = 0;
	if (stop(v, &was_running, e) != 0)
		return -1;
	result = json_pack("{s:b, s:b}", "running", 0, "was_running",
			   (int)was_running);
	return invoke_print(v, op, result, e);
}

static int local_restart(const struct invoke *v, const struct op *op,
			 const json_t *args, int *ret_status, struct err *e)
{
	auto_json json_t *result = NULL;
	bool was_running;

	(void)args;
	*ret_status = 0;
	if (stop(v, &was_running, e) != 0 ||
	    invoke_op(v, "service_status", NULL, false, &result, e) != 0)
		return -1;
	return invoke_print(v, op, result, e);
}

/* ---- tokens of boxery-mcp --http
 * ---------------------------------------------------- */

static int local_token_add(const struct invoke *v, const struct op *op,
			   const json_t *args, int *ret_status, struct err *e)
{
	auto_json json_t *valid = validate_args(op, args, false, e);
	struct mcptoken_scope scope = {
		.read_only = json_is_true(json_object_get(valid, "read_only")),
		.vms = json_object_get(valid, "vm"),
	};
	auto_secret struct secret *text = NULL;
	auto_json json_t *result = NULL;
	const char *name;

	*ret_status = 0;
	if (!valid || json_get_str(valid, "name", &name, e) != 0 ||
	    mcptoken_add(v->home, name, &scope, &text, e) != 0)
		return err_wrap(e, "%s", op->verb);
	result = json_pack("{s:s, s:s%}", "name", name, "token",
			   secret_const_bytes(text), secret_len(text));
	return invoke_print(v, op, result, e);
}

static int local_token_list(const struct invoke *v, const struct op *op,
			    const json_t *args, int *ret_status, struct err *e)
{
	auto_json json_t *result = NULL;

	(void)args;
	*ret_status = 0;
	if (mcptoken_rows(v->home, &result, e) != 0)
		return -1;
	return invoke_print(v, op, result, e);
}

static int local_token_revoke(const struct invoke *v, const struct op *op,
			      const json_t *args, int *ret_status,
			      struct err *e)
{
	auto_json json_t *result = NULL;
	const char *name;

	*ret_status = 0;
	if (json_get_str(args, "name", &name, e) != 0 ||
	    mcptoken_revoke(v->home, name, e) != 0)
		return -1;
	result = json_pack("{s:s}", "revoked", name);
	return invoke_print(v, op, result, e);
}

local_fn *local_find(const struct op *op)
{
	static const struct {
		const char *name;
		local_fn *fn;
	} rows[] = {
		{"vm_ssh", local_ssh},
		{"init", local_init},
		{"upgrade", local_init},
		{"service_status", local_status},
		{"service_stop", local_stop},
		{"service_restart", local_restart},
		{"mcp_token_add", local_token_add},
		{"mcp_token_list", local_token_list},
		{"mcp_token_revoke", local_token_revoke},
	};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		if (strcmp(rows[i].name, op->name) == 0)
			return rows[i].fn;
	}
	return NULL;
}

void local_print_vms(const struct invoke *v)
{
	auto_json json_t *result = NULL;
	const json_t *rows;
	struct err e = {0};

	if (invoke_op(v, "vm_list", NULL, true, &result, &e) != 0)
		return;
	rows = json_object_get(result, "rows");
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const char *name = json_string_value(
			json_object_get(json_array_get(rows, i), "name"));

		if (name)
			printf("%s\n", name);
	}
}
