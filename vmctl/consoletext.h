/*
 * consoletext.h - a machine's console log as text: pure
 *
 * Shapes:  what a guest wrote to its serial console, with what is meant for a
 *          terminal (escape sequences, carriage returns, other controls) taken
 *          out; newlines and tabs stay. Bytes that are no UTF-8 are left.
 * Units:   bytes.
 * Threads: no state.
 * Source:  ECMA-48, control sequences.
 */
#ifndef VMCTL_CONSOLETEXT_H
#define VMCTL_CONSOLETEXT_H

#include <stddef.h>

/* In place; returns the new length, which is never more. */
size_t consoletext_clean(char *p, size_t len);

#endif
