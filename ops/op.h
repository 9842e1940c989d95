/*
 * op.h - the table of operations: everything a person or an agent can ask
 *
 * One row yields the CLI's parsing, help, completion and man text, the MCP
 * tool (schema, annotations), the service's validation and
 * docs/OPERATIONS.md. A front-end adds only what is its own.
 *
 * Shapes:  rows are static and const, in a stable order (tools/list order);
 *          they are in table_*.c. Arguments travel as one JSON object whose keys are the
 *          parameters' names; op_validate() makes it complete (defaults
 *          filled in) and typed, so a handler only reads.
 * Units:   stated per parameter in `unit`, and in its name.
 * Errors:  ERR_INVALID naming the parameter and the rule.
 * Threads: read-only.
 */
#ifndef OPS_OP_H
#define OPS_OP_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum op_kind {
	OP_CALL,	/* answer within seconds */
	OP_JOB,		/* may take long; has an id, vm_wait waits for it */
	OP_STREAM,	/* bytes flow while it runs (run, cp) */
	OP_INTERACTIVE, /* the front-end execs something (ssh) */
};

enum op_flags {
	OP_READS = 1 << 0,    /* changes nothing: MCP readOnlyHint */
	OP_CHANGES = 1 << 1,
	OP_DESTROYS = 1 << 2, /* MCP destructiveHint */
	OP_ASKS = 1 << 3,     /* a person confirms */
	OP_AGENT = 1 << 4,    /* open to agents: an MCP tool */
	OP_OPEN_WORLD = 1 << 5, /* runs what may reach the outside */
	OP_PERSON = 1 << 6,   /* has a CLI verb */
	OP_IDEMPOTENT = 1 << 7,
	OP_LOCKS_VM = 1 << 8, /* one at a time per VM, else "busy with X" */
	OP_LOCAL = 1 << 9,    /* handled in the front-end, not in the service */
	/* A job that losing its client ends, unless it was asked to be detached
	 * or copies between VMs. */
	OP_ENDS_WITH_CLIENT = 1 << 10,
};

enum op_type {
	OP_STRING,
	OP_TEXT,    /* free text, may have newlines */
	OP_VM,	    /* an existing VM's name (RFC 1123 label) */
	OP_NEW_VM,  /* a name to be taken */
	OP_PATH,    /* a path on the side that the operation says */
	OP_ENDPOINT,/* "local:PATH" or "VM:PATH" */
	OP_INT,	    /* min..max */
	OP_SIZE,    /* bytes; "4G" accepted; min..max */
	OP_NUMBER,  /* seconds and the like, may have a fraction */
	OP_BOOL,
	OP_ENUM,    /* one of choices */
	OP_STRINGS, /* array of strings */
	OP_KEY,	    /* key chord "ctrl+shift+t" */
	OP_POINT,   /* [x, y] */
	OP_POINTS,  /* [[x, y], …] */
	OP_REGION,  /* [x, y, width, height] */
	OP_LAYERS,  /* "base,desktop" */
	OP_ENV,	    /* object of strings */
	OP_STEPS,   /* array of actions: ops/steps.h */
};

enum op_param_flags {
	OP_REQUIRED = 1 << 0,
	OP_POSITIONAL = 1 << 1, /* CLI: by place, in table order */
	OP_REST = 1 << 2,	/* CLI: all remaining words (OP_STRINGS) */
	OP_CLI_ONLY = 1 << 3,	/* not in the tool's schema, refused from MCP */
	OP_MCP_ONLY = 1 << 4,
	/* A file on the asker's side: the client opens it and sends its bytes
	 * on RPC_STDIN; the service opens no path that a client names. */
	OP_SENT = 1 << 5,
	/* The front-end fills it in; nobody types it, no schema has it. */
	OP_FILLED = 1 << 6,
};

struct op_param {
	const char *name;	/* wire and schema name; CLI: --name, _ → - */
	enum op_type type;
	unsigned flags;
	int64_t min, max;	/* OP_INT, OP_SIZE, OP_NUMBER; strings: length */
	const char *unit;	/* "s", "px", "bytes" or NULL */
	const char *def;	/* JSON text of the default, or NULL: absent */
	const char *const *choices; /* OP_ENUM, NULL-terminated */
	const char *help;	/* one sentence */
	/* OP_BOOL: what a person is told before it is done, lines of text */
	const char *caution;
};

enum op_result {
	OP_RESULT_NONE,	   /* {} or {text} */
	OP_RESULT_OBJECT,  /* a record */
	OP_RESULT_TABLE,   /* {rows:[…]}: a table in the CLI */
	OP_RESULT_IMAGE,   /* an image on RPC_IMAGE plus a record */
	OP_RESULT_TEXT,	   /* {text, …} shown as it is */
};

enum op_field_type {
	OP_FIELD_TEXT,
	OP_FIELD_INT,
	OP_FIELD_NUMBER,
	OP_FIELD_BOOL,
	OP_FIELD_TEXTS,	  /* array of text */
	OP_FIELD_INTS,	  /* array of integers */
	OP_FIELD_RECORD,  /* of `fields` */
	OP_FIELD_RECORDS, /* array of such */
};

/* A member of a result. */
struct op_field {
	const char *name;
	enum op_field_type type;
	bool maybe; /* left out where there is nothing to say */
	const struct op_field *fields; /* ends with name NULL */
	const char *help;
};

struct op {
	const char *name;	/* "vm_copy", "service_status" */
	const char *verb;	/* CLI: "cp", "service status"; NULL: none */
	enum op_kind kind;
	unsigned flags;
	enum op_result result;
	const char *summary;	/* one line, no full stop */
	const char *description; /* for agents and man page; paragraphs */
	const struct op_param *params; /* ends with name NULL */
	/* The members of its result, all of them; ends with name NULL. NULL: it
	 * depends (vm_wait has its job's), or people alone see it */
	const struct op_field *fields;
	/* What a person is told of the result, "{name} is {state}": each {key}
	 * stands for its value. NULL: the whole record */
	const char *brief;
	/* OP_RESULT_TABLE: keys in order, "name,state"; one with a question
	 * mark ("why?") is shown when a row has it */
	const char *columns;
	/* Keys of the result whose text, or array of texts, a guest wrote,
	 * "stdout,stderr": shown to an agent as data that may lie. NULL: none */
	const char *guest_text;
};

/* Row i, in order; NULL behind the last. */
const struct op *op_at(unsigned i);
unsigned op_count(void);

const struct op *op_find(const char *name);
/* Longest verb match on argv ("service status"); *ret_used words used. */
const struct op *op_find_verb(int argc, char *const argv[], int *ret_used);
const struct op_param *op_param_find(const struct op *op, const char *name);

#endif
