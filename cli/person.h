/*
 * person.h - a person asked on the terminal, whatever standard input is
 *
 * Shapes:  the question is grants/confirm.h's: text to show, and a prompt. What
 *          was typed is returned as it was; the service decides.
 * Errors:  none: without a controlling terminal there is nobody to ask.
 * Threads: main thread.
 */
#ifndef CLI_PERSON_H
#define CLI_PERSON_H

#include <jansson.h>

/* {"terminal": LINE}, or null for the line at an end of file or when cancel_fd
 * became readable. NULL: no terminal, which is said on standard error. */
json_t *person_ask(const json_t *question, int cancel_fd);

#endif
