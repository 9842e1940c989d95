/*
 * interrupt.h - Ctrl-C: the first cancels what runs, the second leaves at once
 *
 * Shapes:  SIGINT, SIGTERM and SIGHUP make interrupt_fd() readable; the same
 *          again ends the process with 130.
 * Threads: main thread.
 */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include "base/err.h"

/* The fd, for client_io.cancel_fd; it lives as long as the process. */
int interrupt_open(struct err *e) __attribute__((warn_unused_result));

#endif
