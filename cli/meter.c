#include "cli/meter.h"

#include "base/deadline.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LINE_MS 10000 /* not a terminal: a line at least this far apart */
#define REDRAW_MS 100
/* what is over in a moment needs no meter */
#define QUIET_MS 300

void meter_init(struct meter *m, bool quiet)
{
	*m = (struct meter){.quiet = quiet,
			    .tty = isatty(STDERR_FILENO),
			    .started_ms = deadline_now_ms()};
}

static size_t columns(void)
{
	struct winsize w;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_col < 20)
		return 80;
	return w.ws_col;
}

/* "booting  42%  1:07" */
static void put_line(char *line, size_t size, const char *text, int percent,
		     int64_t elapsed_ms)
{
	int seconds = (int)(elapsed_ms / 1000);
	char share[16] = "";

	if (percent >= 0)
		snprintf(share, sizeof(share), "  %d%%", percent);
	snprintf(line, size, "%s%s  %d:%02d", text, share, seconds / 60,
		 seconds % 60);
}

void meter_show(void *meter, const struct client_progress *p)
{
	struct meter *m = meter;
	int64_t now_ms = deadline_now_ms();
	int64_t every_ms = m->tty ? REDRAW_MS : LINE_MS;
	char text[sizeof(m->last)];
	char line[256];
	bool fresh;
	int percent = -1;

	if (m->quiet || now_ms - m->started_ms < QUIET_MS)
		return;
	utf8_escape(text, sizeof(text), p->text, strlen(p->text));
	/* a new step is worth a line of its own, a new number is not */
	fresh = !m->tty && strcmp(text, m->last) != 0 &&
		now_ms - m->last_ms >= LINE_MS / 10;
	if (m->last_ms != 0 && !fresh && now_ms - m->last_ms < every_ms)
		return;
	m->last_ms = now_ms;
	snprintf(m->last, sizeof(m->last), "%s", text);
	if (p->total > 0 && p->done >= 0 && p->done <= p->total)
		percent = (int)(p->done * 100.0 / p->total);
	put_line(line, sizeof(line), text, percent, now_ms - m->started_ms);
	if (m->tty)
		fprintf(stderr, "\r\033[K%.*s", (int)columns() - 1, line);
	else
		fprintf(stderr, "%s\n", line);
	(void)fflush(stderr);
	m->shown = m->tty;
}

void meter_clear(struct meter *m)
{
	if (!m->shown)
		return;
	fputs("\r\033[K", stderr);
	(void)fflush(stderr);
	m->shown = false;
}
