/*
 * audit.h - who asked for what, and how it ended: state/audit.jsonl
 *
 * Shapes:  one JSON object a line: t, client, agent, op, vm, outcome, ms,
 *          job. Never an argument's value (a command or a text typed may
 *          hold a secret), only names of VMs.
 * Errors:  a line that cannot be written is logged and dropped: refusing to
 *          stop a VM because a disk is full helps nobody.
 * Threads: any. One write(2) a line, so lines of two never mix.
 */
#ifndef VMCTL_AUDIT_H
#define VMCTL_AUDIT_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct audit;

struct audit_entry {
	const char *client, *op;
	const char *vm;	 /* names joined by commas, or "" */
	const char *job; /* or "" */
	bool agent;
	enum err_code outcome; /* ERR_NONE: ok */
	int64_t took_ms;
};

/* Appends to the file; over LIMIT_AUDIT_LEN it is renamed to PATH.1 first. */
int audit_open(const char *path, struct audit **ret, struct err *e)
	__attribute__((warn_unused_result));
void audit_free(struct audit *a);
void audit_add(struct audit *a, const struct audit_entry *entry);
/* A line of another shape (grants/event.h), which gets its time here; taken.
 * a may be NULL. */
void audit_event(struct audit *a, json_t *line);

#endif
