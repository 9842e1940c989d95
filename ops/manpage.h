/*
 * manpage.h - boxery(1) and docs/OPERATIONS.md, written from the table
 *
 * Shapes:  `boxery help --man` and `boxery help --operations` print them; what
 *          is committed must equal that (tests/unit/test_ops_manpage.c).
 * Errors:  none (help.h).
 * Threads: no shared state.
 * Source:  mdoc(7).
 */
#ifndef OPS_MANPAGE_H
#define OPS_MANPAGE_H

#include "base/buf.h"

void manpage_mdoc(struct buf *out);
void manpage_operations(struct buf *out);

#endif
