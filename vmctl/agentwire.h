/*
 * agentwire.h - what is said to a QEMU guest agent, and what it answers
 *
 * The agent runs in the guest, so its answers are a hostile guest's: each is
 * one JSON object with exactly the members that the command has, or refused.
 *
 * Shapes:  a command is one JSON text (free()); an answer is
 *          {"return": …}, without anything beside it. Bytes of files travel as
 *          base64.
 * Units:   bytes.
 * Errors:  ERR_PROTOCOL for an answer that is not as it must be, ERR_LIMIT for
 *          one that is too long.
 * Threads: pure.
 * Source:  QEMU 7.2, docs/interop/qemu-ga-ref: guest-file-open, -read, -close.
 */
#ifndef VMCTL_AGENTWIRE_H
#define VMCTL_AGENTWIRE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* 4 KiB of a file as base64, and the JSON around it, come to half of it */
#define AGENTWIRE_ANSWER_LEN (16 << 10)
#define AGENTWIRE_FILE_LEN (4 << 10)

char *agentwire_open(const char *path);
char *agentwire_read(int64_t handle, size_t max_len);
char *agentwire_close(int64_t handle);

int agentwire_parse_open(const char *answer, int64_t *ret_handle,
			 struct err *e) __attribute__((warn_unused_result));
/* A whole file that is text, at most max_len (≤ AGENTWIRE_FILE_LEN) bytes of
 * it, NUL-terminated (free()); a longer one is ERR_LIMIT. */
int agentwire_parse_read(const char *answer, size_t max_len, char **ret_text,
			 struct err *e) __attribute__((warn_unused_result));

#endif
