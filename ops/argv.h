/*
 * argv.h - the words of a command line as the arguments of an operation
 *
 * Shapes:  positionals fill OP_POSITIONAL parameters in table order, --name
 *          VALUE and --name=VALUE the others (_ is written -), --name and
 *          --no-name booleans. A positional OP_STRINGS or OP_POINTS takes
 *          all further words that are no options. OP_STRINGS, OP_ENV and OP_POINTS may be given
 *          several times. Words after all positionals go to OP_REST, from the
 *          first one on verbatim; `--` ends options. What the front-end itself
 *          understands (argv_options) may stand anywhere before that.
 *          Numbers and sizes stay text: validate_args() reads them.
 * Errors:  ERR_INVALID naming the word and the command that explains.
 * Threads: no shared state.
 */
#ifndef OPS_ARGV_H
#define OPS_ARGV_H

#include "base/err.h"
#include "ops/op.h"

#include <jansson.h>
#include <stdbool.h>

enum argv_option_id {
	ARGV_JSON,
	ARGV_QUIET,
	ARGV_OUTPUT, /* rows that always give an image */
	ARGV_YES,    /* init */
	ARGV_HOME,
	ARGV_CLIENT,
	ARGV_HELP,
	ARGV_VERSION, /* before the command only */
	ARGV_OPTION_COUNT,
};

/* What the front-end itself understands; help and completion list it. */
struct argv_option {
	const char *name;  /* "output" */
	char letter;	   /* 'o', or 0 */
	const char *value; /* "FILE", or NULL: takes none */
	const char *help;
};
extern const struct argv_option argv_options[ARGV_OPTION_COUNT];
/* Is it of use to this row? op NULL: before the command. */
bool argv_option_applies(enum argv_option_id id, const struct op *op);
/* Is the parameter offered on the command line? */
bool argv_offers(const struct op_param *p);

struct argv_front {
	bool json, quiet, help, version, yes;
	const char *home, *client, *output; /* borrowed from argv */
};

/* Options before the command: how many words were used, or -1. */
int argv_parse_front(int argc, char *const argv[], struct argv_front *f,
		     struct err *e) __attribute__((warn_unused_result));
/* The words after the verb. With f->help nothing else counts. */
int argv_parse(const struct op *op, int argc, char *const argv[],
	       struct argv_front *f, json_t **ret_args, struct err *e)
	__attribute__((warn_unused_result));
/* The verb that was meant, or NULL when none is close. */
const char *argv_suggest(const char *word);

#endif
