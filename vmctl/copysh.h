/*
 * copysh.h - one sh in a guest that does a copy's many small steps
 *
 * A command a step would cost a round trip and a login shell each. Instead one
 * sh reads lines from its standard input and runs them; bytes of files follow
 * the line that consumes them (dd or head take exactly as many as they are
 * told). Each line starts with a random key: should a command leave bytes of
 * a file behind, they are no line and the shell ends, so content is never run.
 *
 * Quoting is airtight: a word is put in single quotes, a newline is "$N". No
 * name is ever interpreted, and none starts with "-" ("./" is put in front).
 *
 * Shapes:  a failed command ends the shell with its status; copysh_finish()
 *          is what says that all were run. Text for copysh_line() is built
 *          with copysh_word()/copysh_path() into a buf.
 * Errors:  ERR_CANCELLED (also for peer_fd), ERR_TIMEOUT, ERR_NOSPACE by what the command said,
 *          else ERR_SYSTEM with its last line of stderr.
 * Threads: one owner at a time.
 */
#ifndef VMCTL_COPYSH_H
#define VMCTL_COPYSH_H

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct guest;
struct copysh;

struct copysh_opts {
	struct guest *guest;
	const char *vm;	 /* for messages */
	const char *dir; /* relative to the login directory */
	struct deadline deadline;
	int cancel_fd; /* -1: none */
	int peer_fd;   /* readable: the copy's other side ended it; -1: none */
};

int copysh_start(const struct copysh_opts *o, struct copysh **ret,
		 struct err *e) __attribute__((warn_unused_result));
void copysh_free(struct copysh *s); /* ends what runs */

/* Run a line when those before it are done. It is only queued here. */
int copysh_line(struct copysh *s, const char *text, struct err *e)
	__attribute__((warn_unused_result));
/* Send what is queued if it is much. Output is dropped meanwhile: this and
 * copysh_write() are for commands that print nothing. */
int copysh_push(struct copysh *s, struct err *e)
	__attribute__((warn_unused_result));
/* Bytes for the line before. Waits until the guest has taken most of them. */
int copysh_write(struct copysh *s, const void *p, size_t len, struct err *e)
	__attribute__((warn_unused_result));
/*
 * What the commands print, while what is queued is sent: 1 with *ret_len
 * bytes; with or_said 0 when the commands said something instead
 * (copysh_said). The shell's end is an error here.
 */
int copysh_read(struct copysh *s, void *p, size_t max, bool or_said,
		size_t *ret_len, struct err *e)
	__attribute__((warn_unused_result));
/*
 * What the commands say, by "$K …" on stderr: output and stderr come by ways
 * of their own, so this is known although output is missing. 1 with the rest
 * of the oldest such line (cut at max), 0 when there is none within wait_ms.
 */
int copysh_said(struct copysh *s, char *ret, size_t max, int64_t wait_ms,
		struct err *e) __attribute__((warn_unused_result));
/* Everything was said: wait until it was done, and done well. */
int copysh_finish(struct copysh *s, struct err *e)
	__attribute__((warn_unused_result));

/*
 * A command still waits for bytes that will not come: it gets the end of its
 * input instead. The lines before it were done; the shell is over.
 */
int copysh_cut(struct copysh *s, struct err *e)
	__attribute__((warn_unused_result));

/* Append " " and a quoted word. */
int copysh_word(struct buf *out, const char *word, struct err *e)
	__attribute__((warn_unused_result));
/* The same for a path: "./" in front of a relative one. */
int copysh_path(struct buf *out, const char *path, struct err *e)
	__attribute__((warn_unused_result));
/* A path as the guest's shells take it: "~" and "~/x" lose the tilde (the
 * login directory is the current one), "" is ".". free() */
char *copysh_home_path(const char *path);

CLEANUP_DEFINE(copysh, struct copysh, copysh_free)
#define auto_copysh __attribute__((cleanup(cleanup_copysh_)))

#endif
