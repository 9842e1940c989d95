#include "ops/manpage.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "ops/help.h"

#include <string.h>

#define LINE_WIDTH 72

/* ---- mdoc
 * -------------------------------------------------------------------- */

/* One word of running text. In front of a line a dot or a quote would be a
 * macro; a backslash is an escape. */
static void add_word(struct buf *out, const char *word, size_t len,
		     bool line_start)
{
	if (line_start && (*word == '.' || *word == '\''))
		help_add(out, "\\&");
	for (size_t i = 0; i < len; i++) {
		if (word[i] == '\\')
			help_add(out, "\\e");
		else if (word[i] == '-' && i + 1 < len && word[i + 1] == '-')
			help_add(out, "\\-");
		else
			help_add(out, "%c", word[i]);
	}
}

/* Running text in short lines, a new one for each sentence, as mdoc wants. */
static void add_text(struct buf *out, const char *text)
{
	size_t column = 0;
	bool sentence_ended = false;

	for (text += strspn(text, " \n"); *text; text += strspn(text, " \n")) {
		size_t len = strcspn(text, " \n");

		if (column > 0 &&
		    (sentence_ended || column + 1 + len > LINE_WIDTH)) {
			help_add(out, "\n");
			column = 0;
		}
		if (column > 0)
			help_add(out, " ");
		add_word(out, text, len, column == 0);
		column += len + (column > 0);
		sentence_ended = text[len - 1] == '.';
		text += len;
	}
	help_add(out, "\n");
}

static bool is_placed(const struct op_param *p)
{
	return p->flags & (OP_POSITIONAL | OP_REST);
}

static void add_synopsis_of(struct buf *out, const struct op_param *p)
{
	autofree char *name = help_param_name(p);
	autofree char *value = help_param_value(p);
	const char *macro = p->flags & OP_REQUIRED ? "" : "Op ";
	const char *more =
		p->flags & OP_REST || p->type == OP_ENV ? " ..." : "";

	if (is_placed(p))
		help_add(out, ".%sAr %s%s\n", macro,
			 p->type == OP_ENUM ? value : name, more);
	else if (p->type == OP_BOOL)
		help_add(out, ".%sFl \\-%s\n", macro, name + 2);
	else
		help_add(out, ".%sFl \\-%s Ar %s%s\n", macro, name + 2, value,
			 more);
}

static void add_command(struct buf *out, const struct op *op)
{
	bool any = false;

	help_add(out, ".Ss %s\n.Nm\n.Cm %s\n", op->verb, op->verb);
	for (const struct op_param *p = op->params; p->name; p++) {
		if (argv_offers(p) && !is_placed(p))
			add_synopsis_of(out, p);
	}
	if (argv_option_applies(ARGV_OUTPUT, op))
		help_add(out, ".Op Fl \\-output Ar FILE\n");
	for (const struct op_param *p = op->params; p->name; p++) {
		if (argv_offers(p) && is_placed(p))
			add_synopsis_of(out, p);
	}
	help_add(out, ".Pp\n%s.\n.Pp\n", op->summary);
	add_text(out, op->description);
	for (const struct op_param *p = op->params; p->name; p++) {
		autofree char *name = help_param_name(p);
		autofree char *value = help_param_value(p);
		autofree char *range = help_param_range(p);
		autofree char *text = NULL;

		if (!argv_offers(p))
			continue;
		if (!any)
			help_add(out, ".Bl -tag -width Ds\n");
		any = true;
		if (is_placed(p))
			help_add(out, ".It Ar %s\n", name);
		else if (p->type == OP_BOOL)
			help_add(out, ".It Fl \\-%s\n", name + 2);
		else
			help_add(out, ".It Fl \\-%s Ar %s\n", name + 2, value);
		text = alloc_printf("%s%s.", p->help, range);
		add_text(out, text);
	}
	if (any)
		help_add(out, ".El\n");
}

static void add_options(struct buf *out)
{
	help_add(out, ".Bl -tag -width Ds\n");
	for (int i = 0; i < ARGV_OPTION_COUNT; i++) {
		const struct argv_option *o = &argv_options[i];

		help_add(out, ".It ");
		if (o->letter)
			help_add(out, "Fl %c , ", o->letter);
		help_add(out, "Fl \\-%s", o->name);
		if (o->value)
			help_add(out, " Ar %s", o->value);
		help_add(out, "\n%s.\n", o->help);
	}
	help_add(out, ".El\n");
}

static void add_exit_statuses(struct buf *out)
{
	help_add(out, ".Bl -tag -width Ds\n");
	for (int status = 0; status < 256; status++) {
		const char *gap = "";

		for (int code = 0; code < ERR_CODE_COUNT; code++) {
			if (err_exit_status((enum err_code)code) != status)
				continue;
			if (!*gap)
				help_add(out, ".It %d\n", status);
			help_add(out, "%s%s", gap,
				 code == ERR_NONE
					 ? "success"
					 : err_code_name((enum err_code)code));
			gap = ", ";
		}
		if (*gap)
			help_add(out, "\n");
	}
	help_add(out, ".El\n");
}

static const char intro[] =
	".\\\" Written by `boxery help --man`; do not edit.\n"
	".Dd November 29, 2026\n"
	".Dt BOXERY 1\n"
	".Os\n"
	".Sh NAME\n"
	".Nm boxery\n"
	".Nd a computer for an AI agent that is not yours\n"
	".Sh SYNOPSIS\n"
	".Nm\n"
	".Op Ar options\n"
	".Ar command\n"
	".Op Ar words ...\n"
	".Sh DESCRIPTION\n"
	".Nm\n"
	"makes and runs virtual machines with a desktop, which an agent sees "
	"and drives\n"
	"through\n"
	".Xr boxery-mcp 1 ,\n"
	"while your keys and files stay on the host.\n"
	".Pp\n"
	".Nm\n"
	"holds nothing itself: it asks the service,\n"
	".Xr boxery-host 1 ,\n"
	"and starts it when it is not there.\n"
	"Progress goes to standard error, results to standard output.\n"
	"Interrupting a command cancels it and waits until it is undone; a "
	"second\n"
	"interrupt leaves at once.\n";

static const char outro[] =
	".Sh ENVIRONMENT\n"
	".Bl -tag -width Ds\n"
	".It Ev BOXERY_HOME\n"
	"Keep everything of boxery's below this directory, as\n"
	".Fl \\-home .\n"
	".El\n"
	".Sh FILES\n"
	".Bl -tag -width Ds\n"
	".It Pa ~/.config/boxery\n"
	"Settings, pinned host keys, the generated ssh configuration.\n"
	".It Pa ~/.local/state/boxery/boxery.db\n"
	"What is known of machines and images.\n"
	".It Pa ~/.local/state/boxery/host.log\n"
	"The log of a service that a client started.\n"
	".It Pa ~/.local/state/boxery/audit.jsonl\n"
	"Who asked for what, and how it ended.\n"
	".It Pa ~/.local/state/boxery/run/host.sock\n"
	"The service.\n"
	".It Pa /var/lib/boxery/UID\n"
	"Images and disks.\n"
	".El\n";

void manpage_mdoc(struct buf *out)
{
	help_add(out, "%s", intro);
	help_add(out, ".Sh OPTIONS\nOptions stand before the command, or after "
		      "it where they are of use to it.\n");
	add_options(out);
	help_add(out, ".Sh COMMANDS\n");
	for (unsigned i = 0; op_at(i); i++) {
		if (op_at(i)->verb)
			add_command(out, op_at(i));
	}
	for (const struct help_extra *x = help_extras; x->verb; x++)
		help_add(out, ".Ss %s\n.Nm\n.Cm %s\n.Ar %s\n.Pp\n%s.\n",
			 x->verb, x->verb, x->words, x->summary);
	help_add(out, "%s.Sh EXIT STATUS\n", outro);
	add_exit_statuses(out);
	help_add(out,
		 ".Pp\n.Cm run\nand\n.Cm ssh\nend with the status of the "
		 "command in the guest,\n128 and the signal's number when "
		 "one ended it.\n.Cm service status\nends with 3 when the "
		 "service does not run,\n.Cm doctor\nwith 1 when something "
		 "is missing.\n.Sh SEE ALSO\n.Xr boxery-host 1 ,\n"
		 ".Xr boxery-mcp 1\n");
}

/* ---- docs/OPERATIONS.md
 * -------------------------------------------------------- */

static void add_flag(struct buf *out, const struct op *op, unsigned flag,
		     const char *text)
{
	if (op->flags & flag)
		help_add(out, ", %s", text);
}

/* A pipe would end the cell. */
static void add_cell(struct buf *out, const char *name, const char *value)
{
	help_add(out, "`%s ", name);
	for (; *value; value++)
		help_add(out, *value == '|' ? "\\|" : "%c", *value);
	help_add(out, "`");
}

static void add_md_params(struct buf *out, const struct op *op)
{
	if (!op->params->name)
		return;
	help_add(out, "\n| parameter | command line | agents | meaning |\n"
		      "|---|---|---|---|\n");
	for (const struct op_param *p = op->params; p->name; p++) {
		autofree char *name = help_param_name(p);
		autofree char *value = help_param_value(p);
		autofree char *range = help_param_range(p);
		bool shown = argv_offers(p) && op->verb;

		help_add(out, "| `%s`%s | ", p->name,
			 p->flags & OP_REQUIRED ? " (required)" : "");
		if (!shown)
			help_add(out, "–");
		else if (is_placed(p) || p->type == OP_BOOL)
			help_add(out, "`%s`", name);
		else
			add_cell(out, name, value);
		help_add(out, " | %s | %s%s.",
			 p->flags & (OP_CLI_ONLY | OP_FILLED) ||
				 !(op->flags & OP_AGENT)
				 ? "–"
				 : "yes",
			 p->help, range);
		if (p->type == OP_ENUM) {
			help_add(out, " One of");
			for (unsigned i = 0; p->choices[i]; i++)
				help_add(out, "%s `%s`", i > 0 ? "," : "",
					 p->choices[i]);
			help_add(out, ".");
		}
		help_add(out, " |\n");
	}
}

static void add_md_fields(struct buf *out, const struct op_field *fields)
{
	for (const struct op_field *f = fields; f->name; f++)
		help_add(out, "%s`%s`%s", f == fields ? "" : ", ", f->name,
			 f->maybe ? "?" : "");
}

/* Their meaning is in the tool's schema. */
static void add_md_result(struct buf *out, const struct op *op)
{
	if (!op->fields)
		return;
	help_add(out, "\nThe result has ");
	add_md_fields(out, op->fields);
	for (const struct op_field *f = op->fields; f->name; f++) {
		if (!f->fields)
			continue;
		help_add(out, "; in `%s` ", f->name);
		add_md_fields(out, f->fields);
	}
	help_add(out, ".\n");
}

void manpage_operations(struct buf *out)
{
	static const char *const kinds[] = {
		[OP_CALL] = "a call",
		[OP_JOB] = "a job (may take long; `vm_wait` waits for it)",
		[OP_STREAM] = "a stream",
		[OP_INTERACTIVE] = "interactive",
	};

	help_add(
		out,
		"# Operations\n\nEverything a person or an agent can ask, "
		"written by `boxery help --operations`\nfrom `ops/table_*.c`; do "
		"not edit.\n");
	for (unsigned i = 0; op_at(i); i++) {
		const struct op *op = op_at(i);

		help_add(out, "\n## %s\n\n%s.\n\n", op->name, op->summary);
		if (op->verb) {
			help_add(out, "    ");
			help_usage(out, op);
			help_add(out, "\n");
		}
		help_add(out, "%s\n\nIt is %s", op->description,
			 kinds[op->kind]);
		add_flag(out, op, OP_READS, "changes nothing");
		add_flag(out, op, OP_DESTROYS, "may destroy");
		add_flag(out, op, OP_IDEMPOTENT, "may be repeated");
		add_flag(out, op, OP_OPEN_WORLD, "may reach the outside");
		add_flag(out, op, OP_ASKS, "asks a person");
		add_flag(out, op, OP_LOCKS_VM, "one at a time per VM");
		help_add(out, ", %s.\n",
			 op->flags & OP_AGENT ? "open to agents"
					      : "for people only");
		add_md_params(out, op);
		add_md_result(out, op);
	}
}
