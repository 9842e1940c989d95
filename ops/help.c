#include "ops/help.h"

#include "base/alloc.h"
#include "base/cleanup.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WIDTH 80
#define INDENT 10

const struct help_extra help_extras[] = {
	{"help", "[COMMAND]", "Explain boxery or one of its commands"},
	{"completion", "bash|zsh", "Print a completion script for a shell"},
	{NULL, NULL, NULL},
};

void help_add(struct buf *out, const char *fmt, ...)
{
	autofree char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = alloc_vprintf(fmt, ap);
	va_end(ap);
	/* the table is finite and HELP_CAP is not near */
	if (buf_add_str(out, text, NULL) != 0)
		abort();
}

/* Words of text in lines of WIDTH, each indented; a line feed ends one. */
static void add_wrapped(struct buf *out, const char *text, int indent)
{
	int column = 0;

	while (*text) {
		size_t len;

		text += strspn(text, " \n");
		len = strcspn(text, " \n");
		if (len == 0)
			break;
		if (column > 0 && column + 1 + (int)len > WIDTH) {
			help_add(out, "\n");
			column = 0;
		}
		if (column == 0) {
			help_add(out, "%*s%.*s", indent, "", (int)len, text);
			column = indent + (int)len;
		} else {
			help_add(out, " %.*s", (int)len, text);
			column += 1 + (int)len;
		}
		text += len;
	}
	help_add(out, "\n");
}

/* ---- one parameter
 * ------------------------------------------------------------ */

static char *upper(const char *name)
{
	char *text = alloc_str(name);

	for (char *c = text; *c; c++) {
		if (*c >= 'a' && *c <= 'z')
			*c = (char)(*c - 'a' + 'A');
	}
	return text;
}

char *help_param_name(const struct op_param *p)
{
	char *name;

	if (p->flags & (OP_POSITIONAL | OP_REST))
		return upper(p->name);
	name = alloc_printf("--%s", p->name);
	for (char *c = name; *c; c++)
		*c = *c == '_' ? '-' : *c;
	return name;
}

/* The text of a buffer that is done with. */
static char *finish(struct buf *b)
{
	char *text = buf_take(b);

	buf_finish(b);
	return text;
}

static char *join_choices(const char *const *choices)
{
	struct buf out;

	buf_init(&out, HELP_CAP);
	for (unsigned i = 0; choices[i]; i++)
		help_add(&out, "%s%s", i > 0 ? "|" : "", choices[i]);
	return finish(&out);
}

char *help_param_value(const struct op_param *p)
{
	switch (p->type) {
	case OP_ENUM:
		return join_choices(p->choices);
	case OP_INT:
		return alloc_str("N");
	case OP_SIZE:
		return alloc_str("SIZE");
	case OP_NUMBER:
		return alloc_str(p->unit && strcmp(p->unit, "s") == 0
					 ? "SECONDS"
					 : "NUMBER");
	case OP_PATH:
		return alloc_str("PATH");
	case OP_POINT:
		return alloc_str("X,Y");
	case OP_POINTS:
		return alloc_str("X,Y X,Y...");
	case OP_REGION:
		return alloc_str("X,Y,WIDTH,HEIGHT");
	case OP_ENV:
		return alloc_str("NAME=VALUE");
	case OP_LAYERS:
		return alloc_str("LIST");
	case OP_STRING:
	case OP_TEXT:
	case OP_VM:
	case OP_NEW_VM:
	case OP_ENDPOINT:
	case OP_BOOL:
	case OP_STRINGS:
	case OP_STEPS:
	case OP_KEY:
	default:
		return upper(p->name);
	}
}

char *help_size(int64_t n)
{
	static const char *const units[] = {"", "K", "M", "G", "T", "P"};
	unsigned unit = 0;

	while (n > 0 && n % 1024 == 0 && unit + 1 < ARRAY_COUNT(units)) {
		n /= 1024;
		unit++;
	}
	return alloc_printf("%" PRId64 "%s", n, units[unit]);
}

char *help_param_range(const struct op_param *p)
{
	struct buf out;

	buf_init(&out, HELP_CAP);
	if (p->type == OP_SIZE) {
		autofree char *min = help_size(p->min);
		autofree char *max = help_size(p->max);

		help_add(&out, "; %s to %s", min, max);
	} else if (p->type == OP_INT || p->type == OP_NUMBER) {
		help_add(&out, "; %" PRId64 " to %" PRId64, p->min, p->max);
	}
	if (p->unit && (p->type == OP_INT || p->type == OP_NUMBER))
		help_add(&out, " %s", p->unit);
	/* "false" goes without saying */
	if (p->def && strcmp(p->def, "false") != 0) {
		size_t len = strlen(p->def);
		bool quoted = p->def[0] == '"' && len >= 2;

		help_add(&out, "; %.*s by default",
			 (int)(quoted ? len - 2 : len), p->def + quoted);
	}
	return finish(&out);
}

/* "--shape small|large", "VM", "[--force]", "ARGV..." */
static void add_usage_of(struct buf *out, const struct op_param *p)
{
	autofree char *name = help_param_name(p);
	autofree char *value = help_param_value(p);
	bool optional = !(p->flags & OP_REQUIRED);

	help_add(out, " %s", optional ? "[" : "");
	if (p->flags & OP_REST)
		help_add(out, "%s...", name);
	else if (p->flags & OP_POSITIONAL)
		help_add(out, "%s",
			 p->type == OP_ENUM || p->type == OP_POINTS ? value
								    : name);
	else if (p->type == OP_BOOL)
		help_add(out, "%s", name);
	else
		help_add(out, "%s %s", name, value);
	help_add(out, "%s", optional ? "]" : "");
	if (p->type == OP_ENV)
		help_add(out, "...");
}

static bool is_placed(const struct op_param *p)
{
	return p->flags & (OP_POSITIONAL | OP_REST);
}

void help_usage(struct buf *out, const struct op *op)
{
	help_add(out, "boxery %s", op->verb);
	/* options first, because the rest takes whatever follows */
	for (const struct op_param *p = op->params; p->name; p++) {
		if (argv_offers(p) && !is_placed(p))
			add_usage_of(out, p);
	}
	if (argv_option_applies(ARGV_OUTPUT, op))
		help_add(out, " [--output FILE]");
	for (const struct op_param *p = op->params; p->name; p++) {
		if (argv_offers(p) && is_placed(p))
			add_usage_of(out, p);
	}
	help_add(out, "\n");
}

static void add_param(struct buf *out, const struct op_param *p)
{
	autofree char *name = help_param_name(p);
	autofree char *value = help_param_value(p);
	autofree char *range = help_param_range(p);
	autofree char *text = alloc_printf("%s%s.", p->help, range);

	help_add(out, "  %s", name);
	if (!is_placed(p) && p->type != OP_BOOL)
		help_add(out, " %s", value);
	else if (is_placed(p) && (p->type == OP_ENUM || p->type == OP_POINTS))
		help_add(out, " (%s)", value);
	help_add(out, "\n");
	add_wrapped(out, text, INDENT);
}

static void add_front_options(struct buf *out, const struct op *op)
{
	for (int i = 0; i < ARGV_OPTION_COUNT; i++) {
		const struct argv_option *o = &argv_options[i];
		autofree char *text = NULL;

		if (!argv_option_applies((enum argv_option_id)i, op))
			continue;
		text = alloc_printf("%s.", o->help);
		if (o->letter)
			help_add(out, "  -%c, --%s", o->letter, o->name);
		else
			help_add(out, "  --%s", o->name);
		help_add(out, "%s%s\n", o->value ? " " : "",
			 o->value ? o->value : "");
		add_wrapped(out, text, INDENT);
	}
}

void help_op(struct buf *out, const struct op *op)
{
	autofree char *summary = alloc_printf("%s.", op->summary);
	bool any = false;

	help_add(out, "usage: ");
	help_usage(out, op);
	help_add(out, "\n");
	add_wrapped(out, summary, 0);
	help_add(out, "\n");
	add_wrapped(out, op->description, 0);
	for (const struct op_param *p = op->params; p->name; p++) {
		if (!argv_offers(p))
			continue;
		if (!any)
			help_add(out, "\n");
		any = true;
		add_param(out, p);
	}
	help_add(out, "\n");
	add_front_options(out, op);
}

void help_overview(struct buf *out)
{
	help_add(out, "usage: boxery [OPTIONS] COMMAND [WORDS]\n\n"
		      "A virtual machine with a desktop for an AI agent, while "
		      "your keys stay here.\n\nCommands:\n");
	for (unsigned i = 0; op_at(i); i++) {
		if (op_at(i)->verb)
			help_add(out, "  %-16s %s\n", op_at(i)->verb,
				 op_at(i)->summary);
	}
	for (const struct help_extra *x = help_extras; x->verb; x++)
		help_add(out, "  %-16s %s\n", x->verb, x->summary);
	help_add(out, "\nOptions, here or after the command:\n");
	add_front_options(out, NULL);
	help_add(out, "\n`boxery help COMMAND` explains a command.\n");
}
