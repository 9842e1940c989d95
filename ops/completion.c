/*
 * Both shells get one table, as the arms of a case statement over the command:
 * `opts` are its options, `kinds` say what each of its positionals is, in
 * order: v a VM, e a copy's endpoint, f a file, w:a,b,c one of these words.
 */
#include "ops/completion.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "ops/help.h"

#include <stdbool.h>
#include <string.h>

static void add_options(struct buf *out, const struct op *op)
{
	const char *gap = "";

	for (const struct op_param *p = op->params; p->name; p++) {
		autofree char *name = help_param_name(p);

		if (!argv_offers(p) || name[0] != '-')
			continue;
		help_add(out, "%s%s", gap, name);
		gap = " ";
	}
	for (int i = 0; i < ARGV_OPTION_COUNT; i++) {
		if (!argv_option_applies((enum argv_option_id)i, op))
			continue;
		help_add(out, "%s--%s", gap, argv_options[i].name);
		gap = " ";
	}
}

static void add_kinds(struct buf *out, const struct op *op)
{
	const char *gap = "";

	for (const struct op_param *p = op->params; p->name; p++) {
		if (!argv_offers(p) || !(p->flags & OP_POSITIONAL))
			continue;
		help_add(out, "%s", gap);
		gap = " ";
		if (p->type == OP_VM) {
			help_add(out, "v");
		} else if (p->type == OP_ENDPOINT) {
			help_add(out, "e");
		} else if (p->type == OP_ENUM) {
			help_add(out, "w:");
			for (unsigned i = 0; p->choices[i]; i++)
				help_add(out, "%s%s", i > 0 ? "," : "",
					 p->choices[i]);
		} else {
			help_add(out, "-");
		}
	}
}

static void add_arms(struct buf *out)
{
	for (unsigned i = 0; op_at(i); i++) {
		const struct op *op = op_at(i);

		if (!op->verb)
			continue;
		help_add(out, "\t\t'%s') opts='", op->verb);
		add_options(out, op);
		help_add(out, "' kinds='");
		add_kinds(out, op);
		help_add(out, "' ;;\n");
	}
	help_add(out, "\t\thelp) kinds=h ;;\n"
		      "\t\tcompletion) kinds=w:bash,zsh ;;\n");
}

/* The first words of all commands, each once. */
static void add_commands(struct buf *out)
{
	const char *last = "";
	size_t last_len = 0;

	for (unsigned i = 0; op_at(i); i++) {
		const char *verb = op_at(i)->verb;
		size_t len = verb ? strcspn(verb, " ") : 0;

		/* rows of one family stand together */
		if (len == 0 ||
		    (len == last_len && strncmp(verb, last, len) == 0))
			continue;
		help_add(out, "%.*s ", (int)len, verb);
		last = verb;
		last_len = len;
	}
	for (const struct help_extra *x = help_extras; x->verb; x++)
		help_add(out, "%s%s", x->verb, x[1].verb ? " " : "");
}

/* Is row i the first whose verb begins with these len bytes and a space? */
static bool begins_family(unsigned i, size_t len)
{
	for (unsigned j = 0; j < i; j++) {
		if (op_at(j)->verb &&
		    strncmp(op_at(j)->verb, op_at(i)->verb, len + 1) == 0)
			return false;
	}
	return true;
}

/* The beginnings of verbs of several words, "mcp" and "mcp token", each once:
 * the next in row i after *len bytes, which is moved on; or false. */
static bool next_family(unsigned i, size_t *len)
{
	const char *verb = op_at(i)->verb;
	const char *space;

	while (verb && (space = strchr(verb + *len + (*len > 0), ' '))) {
		*len = (size_t)(space - verb);
		if (begins_family(i, *len))
			return true;
	}
	return false;
}

static void add_family_names(struct buf *out)
{
	for (unsigned i = 0; op_at(i); i++) {
		size_t len = 0;

		while (next_family(i, &len))
			help_add(out, " %.*s ", (int)len, op_at(i)->verb);
	}
}

/* What may follow, each once; rows of one family stand together. */
static void add_next_words(struct buf *out, unsigned i, size_t len)
{
	const char *verb = op_at(i)->verb;
	const char *last = "";
	size_t last_len = 0;

	for (unsigned j = i; op_at(j); j++) {
		const char *other = op_at(j)->verb;
		const char *word;
		size_t n;

		if (!verb || !other || strncmp(other, verb, len + 1) != 0)
			continue;
		word = other + len + 1;
		n = strcspn(word, " ");
		if (n == last_len && strncmp(word, last, n) == 0)
			continue;
		help_add(out, "%s%.*s", j > i ? " " : "", (int)n, word);
		last = word;
		last_len = n;
	}
}

/* Further words, as arms: service) second='status stop restart' ;; */
static void add_families(struct buf *out)
{
	for (unsigned i = 0; op_at(i); i++) {
		size_t len = 0;

		while (next_family(i, &len)) {
			help_add(out, "\t\t'%.*s') second='", (int)len,
				 op_at(i)->verb);
			add_next_words(out, i, len);
			help_add(out, "' ;;\n");
		}
	}
}

static void add_front(struct buf *out)
{
	for (int i = 0; i < ARGV_OPTION_COUNT; i++) {
		if (argv_option_applies((enum argv_option_id)i, NULL))
			help_add(out, "%s--%s", i > 0 ? " " : "",
				 argv_options[i].name);
	}
}

/* Walk the words before the cursor: the command, and how many positionals. */
static const char walk[] =
	"\tlocal verb='' second='' opts='' kinds='' count=0 i word\n"
	"\tfor ((i = 1; i < cword; i++)); do\n"
	"\t\tword=${line[i]}\n"
	"\t\tcase $word in\n"
	"\t\t--home|--client|--output|-o) ((i++)); continue ;;\n"
	"\t\t-*) continue ;;\n"
	"\t\tesac\n"
	"\t\tif [[ -z $verb ]]; then verb=$word\n"
	"\t\telif [[ $families == *\" $verb \"* ]]; then verb=\"$verb $word\"\n"
	"\t\telse ((count++)); fi\n"
	"\tdone\n";

static const char choose[] =
	"\tif [[ $cur == -* ]]; then set -- $opts\n"
	"\telif [[ -z $verb ]]; then set -- $commands\n"
	"\telif [[ -n $second ]]; then set -- $second\n"
	"\telse\n"
	"\t\tset -- $kinds\n"
	"\t\tshift $((count < $# ? count : $#))\n"
	"\t\tcase ${1-} in\n"
	"\t\tv) set -- $(boxery completion vms 2>/dev/null) ;;\n"
	"\t\te) files=1; set -- $(boxery completion vms 2>/dev/null | "
	"sed 's/$/:/') ;;\n"
	"\t\tw:*) word=${1#w:}; set -- ${word//,/ } ;;\n"
	"\t\th) set -- $commands ;;\n"
	"\t\t*) files=1; set -- ;;\n"
	"\t\tesac\n"
	"\tfi\n";

static void add_body(struct buf *out)
{
	help_add(out, "\tlocal files='' commands='");
	add_commands(out);
	help_add(out, "' families='");
	add_family_names(out);
	help_add(out, "'\n%s\topts='", walk);
	add_front(out);
	help_add(out, "'\n\tcase $verb in\n");
	add_families(out);
	add_arms(out);
	help_add(out, "\tesac\n%s", choose);
}

int completion_script(struct buf *out, const char *shell, struct err *e)
{
	if (strcmp(shell, "bash") == 0) {
		help_add(out, "# bash completion for boxery\n_boxery() {\n"
			      "\tlocal cur=${COMP_WORDS[COMP_CWORD]}\n"
			      "\tlocal cword=$COMP_CWORD\n"
			      "\tlocal line=(\"${COMP_WORDS[@]}\")\n");
		add_body(out);
		help_add(out, "\tCOMPREPLY=($(compgen -W \"$*\" -- \"$cur\"))\n"
			      "\t[[ -n $files ]] && "
			      "COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
			      "\treturn 0\n}\ncomplete -F _boxery boxery\n");
		return 0;
	}
	if (strcmp(shell, "zsh") == 0) {
		help_add(out, "#compdef boxery\n_boxery() {\n"
			      "\temulate -L ksh\n"
			      "\tsetopt sh_word_split\n"
			      "\tlocal cur=${words[CURRENT-1]}\n"
			      "\tlocal cword=$((CURRENT - 1))\n"
			      "\tlocal -a line\n"
			      "\tline=(\"${words[@]}\")\n");
		add_body(out);
		help_add(out, "\tcompadd -- \"$@\"\n"
			      "\t[[ -n $files ]] && compadd -f -- \"$cur\"*\n"
			      "\treturn 0\n}\ncompdef _boxery boxery\n");
		return 0;
	}
	if (!*shell)
		return err_set(e, ERR_INVALID,
			       "completion: for which shell? bash or zsh");
	return err_set(e, ERR_INVALID,
		       "completion: \"%.32s\" is no shell we know: bash or "
		       "zsh",
		       shell);
}
