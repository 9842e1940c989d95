/* boxery: the command line. It holds nothing; every command is a row of the
 * operations table that the service carries out. */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/home.h"
#include "base/json.h"
#include "base/log.h"
#include "base/version.h"
#include "cli/interrupt.h"
#include "cli/invoke.h"
#include "cli/local.h"
#include "cli/lend.h"
#include "ops/argv.h"
#include "ops/completion.h"
#include "ops/help.h"
#include "ops/manpage.h"
#include "ops/validate.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int fail(const struct err *e)
{
	/* the reader of our output left: nothing to tell, as in `… | head` */
	if (e->errnum == EPIPE)
		return 128 + SIGPIPE;
	fprintf(stderr, "boxery: %s\n", err_msg(e));
	return err_exit_status(e->code);
}

static int print_and_finish(struct buf *out)
{
	struct err e = {0};
	int rc = fd_write_all(STDOUT_FILENO, out->data, out->len,
			      deadline_in_ms(DEADLINE_MAX_MS), &e);

	buf_finish(out);
	return rc == 0 ? 0 : fail(&e);
}

/* What may follow these bytes of a verb, "status|stop|restart"; "" when nothing
 * does. Rows of one family stand together. */
static void list_next_words(const char *begin, char *ret, size_t size)
{
	size_t len = strlen(begin);
	const char *last = "";
	size_t at = 0;

	ret[0] = '\0';
	for (unsigned i = 0; op_at(i) && at < size; i++) {
		const char *verb = op_at(i)->verb;
		const char *word;
		size_t n;

		if (!verb || strncmp(verb, begin, len) != 0 || verb[len] != ' ')
			continue;
		word = verb + len + 1;
		n = strcspn(word, " ");
		if (strcspn(last, " ") == n && strncmp(last, word, n) == 0)
			continue;
		at += (size_t)snprintf(ret + at, size - at, "%s%.*s",
				       at > 0 ? "|" : "", (int)n, word);
		last = word;
	}
}

/* "NAME: unknown command", and what may have been meant. */
static int unknown_command(int argc, char *const argv[])
{
	const char *meant = argv_suggest(argv[0]);
	char begin[128], next[128];
	struct err e = {0};

	snprintf(begin, sizeof(begin), "%s", argv[0]);
	list_next_words(begin, next, sizeof(next));
	if (next[0] && argc > 1) {
		char longer[128], further[128];

		snprintf(longer, sizeof(longer), "%.60s %.60s", argv[0],
			 argv[1]);
		list_next_words(longer, further, sizeof(further));
		if (further[0]) {
			memcpy(begin, longer, sizeof(begin));
			memcpy(next, further, sizeof(next));
		}
	}
	if (next[0])
		err_set(&e, ERR_INVALID,
			"%s needs a further word: boxery %s %s", begin, begin,
			next);
	else if (meant)
		err_set(&e, ERR_INVALID,
			"%s: unknown command; did you mean \"%s\"?", argv[0],
			meant);
	else
		err_set(&e, ERR_INVALID,
			"%s: unknown command (boxery --help lists them)",
			argv[0]);
	return fail(&e);
}

static const struct help_extra *find_extra(const char *word)
{
	const struct help_extra *x = help_extras;

	while (x->verb && strcmp(x->verb, word) != 0)
		x++;
	return x->verb ? x : NULL;
}

static int cmd_help(int argc, char *argv[])
{
	const struct help_extra *extra;
	const struct op *op;
	struct buf out;
	int used;

	buf_init(&out, HELP_CAP);
	if (argc == 0) {
		help_overview(&out);
	} else if (strcmp(argv[0], "--man") == 0) {
		manpage_mdoc(&out);
	} else if (strcmp(argv[0], "--operations") == 0) {
		manpage_operations(&out);
	} else if ((extra = find_extra(argv[0]))) {
		help_add(&out, "usage: boxery %s %s\n\n%s.\n", extra->verb,
			 extra->words, extra->summary);
	} else {
		op = op_find_verb(argc, argv, &used);
		if (!op) {
			buf_finish(&out);
			return unknown_command(argc, argv);
		}
		help_op(&out, op);
	}
	return print_and_finish(&out);
}

static int cmd_completion(const struct invoke *v, struct home *home, int argc,
			  char *argv[])
{
	struct err e = {0};
	struct buf out;

	if (argc == 1 && strcmp(argv[0], "vms") == 0) {
		if (home_init(home, v->front->home, &e) != 0)
			return fail(&e);
		local_print_vms(v);
		home_finish(home);
		return 0;
	}
	buf_init(&out, HELP_CAP);
	if (completion_script(&out, argc == 1 ? argv[0] : "", &e) != 0) {
		buf_finish(&out);
		return fail(&e);
	}
	return print_and_finish(&out);
}

/* What the person has to know about what was asked for, before it is done. */
static void say_cautions(const struct op *op, const json_t *args)
{
	for (const struct op_param *p = op->params; p->name; p++) {
		if (p->caution && json_is_true(json_object_get(args, p->name)))
			fputs(p->caution, stderr);
	}
}

static int run_op(const struct invoke *v, const struct op *op,
		  const json_t *args)
{
	auto_json json_t *valid = NULL;
	local_fn *local = local_find(op);
	struct err e = {0};
	int status = 0;
	int rc;

	/* what is wrong is said before a service is started for it */
	valid = validate_args(op, args, false, &e);
	if (!valid)
		return fail(&e);
	say_cautions(op, valid);
	rc = local ? local(v, op, args, &status, &e)
		   : invoke_and_print(v, op, args, &status, &e);
	return rc == 0 ? status : fail(&e);
}

static int cmd_op(struct invoke *v, struct home *home, struct argv_front *front,
		  const struct op *op, int argc, char *argv[])
{
	auto_json json_t *args = NULL;
	struct err e = {0};
	struct buf out;
	int status;

	if (argv_parse(op, argc, argv, front, &args, &e) != 0)
		return fail(&e);
	if (front->help) {
		buf_init(&out, HELP_CAP);
		help_op(&out, op);
		return print_and_finish(&out);
	}
	if (home_init(home, front->home, &e) != 0)
		return fail(&e);
	lend_fill(op, args);
	v->cancel_fd = interrupt_open(&e);
	status = v->cancel_fd < 0 ? fail(&e) : run_op(v, op, args);
	home_finish(home);
	return status;
}

int main(int argc, char *argv[])
{
	struct argv_front front = {0};
	struct home home = {0};
	struct invoke v = {.home = &home, .front = &front, .cancel_fd = -1};
	const struct op *op;
	struct err e = {0};
	int used;

	/* no thread ever runs: NOLINTNEXTLINE(concurrency-mt-unsafe) */
	(void)setlocale(LC_CTYPE, "");
	log_init("boxery", LOG_WARN);
	if (fd_fill_std(&e) != 0)
		return fail(&e);
	argc--;
	argv++;
	used = argv_parse_front(argc, argv, &front, &e);
	if (used < 0)
		return fail(&e);
	argc -= used;
	argv += used;
	if (front.version) {
		printf("boxery %s\n", version_string());
		return 0;
	}
	if (argc == 0 || front.help) {
		cmd_help(0, NULL);
		return front.help ? 0 : err_exit_status(ERR_INVALID);
	}
	if (strcmp(argv[0], "help") == 0)
		return cmd_help(argc - 1, argv + 1);
	if (strcmp(argv[0], "completion") == 0)
		return cmd_completion(&v, &home, argc - 1, argv + 1);
	op = op_find_verb(argc, argv, &used);
	if (!op)
		return unknown_command(argc, argv);
	return cmd_op(&v, &home, &front, op, argc - used, argv + used);
}
