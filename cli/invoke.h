/*
 * invoke.h - one operation asked of the service, with this terminal behind it
 *
 * Shapes:  progress goes to stderr, `run` gets our stdin, stdout and stderr,
 *          an image is returned or written to --output.
 * Errors:  those of the service; ERR_CANCELLED after Ctrl-C.
 * Threads: main thread.
 */
#ifndef CLI_INVOKE_H
#define CLI_INVOKE_H

#include "base/home.h"
#include "ops/argv.h"
#include "ops/op.h"

#include <jansson.h>

struct invoke {
	const struct home *home;
	const struct argv_front *front;
	int cancel_fd;
};

/* no_start: a service that is not there is ERR_UNAVAILABLE. */
int invoke_op(const struct invoke *v, const char *op, const json_t *args,
	      bool no_start, json_t **ret_result, struct err *e)
	__attribute__((warn_unused_result));
/* Ask, print what comes back, and say how to exit. */
int invoke_and_print(const struct invoke *v, const struct op *op,
		     const json_t *args, int *ret_status, struct err *e)
	__attribute__((warn_unused_result));
int invoke_print(const struct invoke *v, const struct op *op,
		 const json_t *result, struct err *e)
	__attribute__((warn_unused_result));

#endif
