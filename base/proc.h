/*
 * proc.h - other programs, started without a shell
 *
 * Shapes:  argv is NULL-terminated; argv[0] is looked up in PATH. The child
 *          gets only the fds it is given, default signal dispositions, its own
 *          process group, and dies with us (PR_SET_PDEATHSIG) unless
 *          detached.
 * Errors:  ERR_NOT_FOUND "NAME: not installed (apt-get install PKG)" is for
 *          the caller to word; here ENOENT of exec is reported as such. A
 *          program that fails gives ERR_SYSTEM with its last line of stderr.
 * Threads: any; children are reaped by pid, no SIGCHLD handler.
 */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include "base/buf.h"
#include "base/deadline.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * For a program that reads a stranger's bytes: it can take no more than this,
 * leaves no core dump, and nothing that it executes gains a privilege
 * (PR_SET_NO_NEW_PRIVS). All three are set.
 */
struct proc_limits {
	uint64_t memory_len; /* address space */
	uint64_t file_len;   /* of each file that it writes */
	uint64_t cpu_s;
};

struct proc_opts {
	int in_fd, out_fd, err_fd; /* -1: /dev/null; the caller keeps them */
	const char *cwd;	   /* NULL: unchanged */
	char *const *env;	   /* NULL: ours */
	bool detach;		   /* setsid, survives us */
	const struct proc_limits *limits; /* NULL: none */
};

/* The child's pid, or -1: an exec that fails is reported here. */
pid_t proc_spawn(const char *const *argv, const struct proc_opts *o,
		 struct err *e) __attribute__((warn_unused_result));
/* Exit status 0..255, or 128+signal. On ERR_TIMEOUT the child lives. */
int proc_wait(pid_t pid, struct deadline d, int *ret_status, struct err *e)
	__attribute__((warn_unused_result));
/* SIGTERM to the group, SIGKILL after 2 s, reaped. */
void proc_kill(pid_t pid);
void proc_kill_in(pid_t pid, int64_t term_ms); /* SIGKILL after so long */

struct proc_run {
	const void *in;	       /* fed to stdin; NULL: /dev/null */
	size_t in_len;
	struct buf *out;       /* stdout, or NULL to drop */
	/* Called for each line of stdout instead of `out` (progress). */
	void (*line)(const char *line, void *ctx);
	void *line_ctx;
	/* Polled along; readable means: stop the child, ERR_CANCELLED. -1: no */
	int cancel_fd;
	int64_t term_ms;       /* from SIGTERM to SIGKILL; 0: 2 s */
	const struct proc_limits *limits; /* NULL: none */
	int *ret_status;       /* NULL: a status other than 0 is an error */
};

/* Start, feed, collect, reap. Kills the child at the deadline. */
int proc_run(const char *const *argv, const struct proc_run *r,
	     struct deadline d, struct err *e)
	__attribute__((warn_unused_result));

#endif
