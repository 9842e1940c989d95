/*
 * runs.h - what commands said, kept in files for vm_read
 *
 * Shapes:  state/runs/VM/ID.out, 0600 in 0700 folders: stdout and stderr in the
 *          order in which they came. The VM's name is part of the path, so an
 *          id opens only beside the VM it belongs to. Old ones are removed as
 *          new ones begin.
 * Units:   bytes; of one run LIMIT_RUN_KEPT_LEN are kept.
 * Errors:  ERR_NOT_FOUND for an id that is unknown, malformed or another VM's;
 *          a full disk (ERR_NOSPACE) ends the keeping, not the command.
 * Threads: any; one owner of a struct run.
 */
#ifndef VMCTL_RUNS_H
#define VMCTL_RUNS_H

#include "base/err.h"
#include "base/home.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUNS_ID_LEN 12

struct run {
	char id[RUNS_ID_LEN + 1];
	int fd; /* -1: nothing more is kept */
	uint64_t kept_len;
	bool cut; /* the file does not have everything */
};

int runs_create(const struct home *h, const char *vm, struct run *ret,
		struct err *e) __attribute__((warn_unused_result));
void runs_add(struct run *r, const void *p, size_t len);
void runs_close(struct run *r);
/* A readable fd of what was kept. */
int runs_open(const struct home *h, const char *vm, const char *id,
	      struct err *e) __attribute__((warn_unused_result));
/* The VM is gone. */
int runs_forget(const struct home *h, const char *vm, struct err *e)
	__attribute__((warn_unused_result));

#endif
