/*
 * err.h - what went wrong, for the caller that must answer for it
 *
 * Shapes:  struct err lives on the caller's stack, zeroed (`struct err e =
 *          {0}`). err_set() and err_sys() replace what it held (a retry
 *          may succeed or fail otherwise; clean-up that must not hide the
 *          cause passes NULL); err_wrap() keeps the code and adds context in
 *          front on the way up. A NULL err is allowed everywhere.
 * Units:   err_exit_status() is a process exit status, err_jsonrpc() a
 *          JSON-RPC code, err_http() an HTTP status.
 * Errors:  messages are one line and say what to do next; bytes from a guest
 *          or a client in them are escaped by err_set() (control characters
 *          become \xNN), and they are cut at the size of msg.
 * Threads: no shared state.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stddef.h>

enum err_code {
	ERR_NONE = 0,
	ERR_INVALID,	 /* bad input: the caller can correct it */
	ERR_NOT_FOUND,	 /* no such VM, job, file, image */
	ERR_EXISTS,	 /* name taken */
	ERR_DENIED,	 /* policy, permission, scope, host key */
	ERR_BUSY,	 /* another operation holds the VM */
	ERR_STATE,	 /* right request, wrong state: VM off, X not up */
	ERR_TIMEOUT,	 /* the deadline passed */
	ERR_LIMIT,	 /* a cap of base/limits.h was met */
	ERR_UNAVAILABLE, /* libvirt, service, sshd cannot be reached */
	ERR_NOSPACE,	 /* disk full */
	ERR_CANCELLED,	 /* by the client or a signal */
	ERR_PROTOCOL,	 /* a peer broke its protocol */
	ERR_SYSTEM,	 /* a system call failed: errnum says which way */
	ERR_INTERNAL,	 /* a bug of ours */
	ERR_CODE_COUNT,
};

struct err {
	enum err_code code;
	int errnum;
	char msg[512];
};

/* Set code and message; returns -1, so `return err_set(e, …)`. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The same with errno appended ("…: No such file or directory"); the code
 * follows errno: ENOENT NOT_FOUND, EEXIST EXISTS, EACCES/EPERM DENIED,
 * ENOSPC/EDQUOT NOSPACE, ETIMEDOUT TIMEOUT, else SYSTEM. errno is kept.
 */
int err_sys(struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Put context in front: "copying a.txt: " + what was there. Returns -1. */
int err_wrap(struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Words of a guest, to be put into a message: in double quotes, with none
 * inside, so that a reader sees where they end and our own go on; of a long
 * text the end, which says most. Returns ret.
 */
#define ERR_QUOTE_LEN 160
#define ERR_QUOTE_SIZE (ERR_QUOTE_LEN + 6)
const char *err_quote(char ret[ERR_QUOTE_SIZE], const char *text, size_t len);

/*
 * All three return -1. Saying so here lets compilers and analyzers see that a
 * path that sets an error fails: else they take it for one that may succeed
 * and leave ret_* unset.
 */
#define err_set(...)                                                           \
	({                                                                     \
		err_set(__VA_ARGS__);                                          \
		-1;                                                            \
	})
#define err_sys(...)                                                           \
	({                                                                     \
		err_sys(__VA_ARGS__);                                          \
		-1;                                                            \
	})
#define err_wrap(...)                                                          \
	({                                                                     \
		err_wrap(__VA_ARGS__);                                         \
		-1;                                                            \
	})

/* The message, or a fixed text when none was set. Never NULL. */
const char *err_msg(const struct err *e);

/* "invalid", "not_found", …: the name used on the wire; and back. */
const char *err_code_name(enum err_code code);
enum err_code err_code_parse(const char *name); /* unknown: ERR_INTERNAL */

int err_exit_status(enum err_code code);
int err_jsonrpc(enum err_code code);
int err_http(enum err_code code);

#endif
