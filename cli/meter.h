/*
 * meter.h - progress on standard error: one line that is rewritten on a
 * terminal, a line now and then elsewhere
 *
 * Shapes:  meter_show() fits client_io.progress. What it shows comes from the
 *          service and may hold names that a guest chose: it is escaped.
 * Threads: one owner.
 */
#ifndef CLI_METER_H
#define CLI_METER_H

#include "ops/client.h"

struct meter {
	bool quiet, tty;
	bool shown; /* a line is on the terminal */
	int64_t started_ms, last_ms;
	char last[128]; /* the text shown last */
};

void meter_init(struct meter *m, bool quiet);
void meter_show(void *meter, const struct client_progress *p);
/* Leave the terminal clean, before anything else is printed. */
void meter_clear(struct meter *m);

#endif
