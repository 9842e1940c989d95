#include "cli/person.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define LINE_LEN 256
/* a terminal that takes nothing, as after Ctrl-S */
#define SHOW_MS 600000

static int show(int tty, const char *text, size_t len)
{
	return fd_write_all(tty, text, len, deadline_in_ms(SHOW_MS), NULL);
}

/* The service made strangers' text visible; what is left of controls, but for
 * line ends, has no business on a terminal. */
static int show_text(int tty, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		size_t size = len * 4 + 1;
		autofree char *line = alloc_array(size, 1);
		size_t n = utf8_escape(line, size, text, len);

		if (show(tty, line, n) != 0 || show(tty, "\n", 1) != 0)
			return -1;
		text += len + (text[len] == '\n');
	}
	return 0;
}

/* One line without its end; NULL when none came. */
static json_t *read_line(int tty, int cancel_fd)
{
	char line[LINE_LEN];
	ssize_t n;

	for (;;) {
		struct pollfd fds[] = {{.fd = tty, .events = POLLIN},
				       {.fd = cancel_fd, .events = POLLIN}};

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return NULL;
		if (fds[1].revents)
			return NULL;
		if (!fds[0].revents)
			continue;
		/* a terminal gives a line at a time */
		n = read(tty, line, sizeof(line));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return NULL;
		/* a line that does not fit is no yes: it stays as it is */
		if (line[n - 1] == '\n')
			n--;
		return json_stringn_nocheck(line, (size_t)n);
	}
}

json_t *person_ask(const json_t *question, int cancel_fd)
{
	const char *text =
		json_string_value(json_object_get(question, "terminal"));
	const char *prompt =
		json_string_value(json_object_get(question, "prompt"));
	autoclose int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	json_t *line = NULL;

	if (tty < 0) {
		fputs("boxery: there is no terminal to ask on\n", stderr);
		return NULL;
	}
	if (!text || !prompt)
		return NULL;
	if (show_text(tty, text) == 0) {
		/* what was typed before the question is no answer to it */
		(void)tcflush(tty, TCIFLUSH);
		if (show(tty, prompt, strlen(prompt)) == 0)
			line = read_line(tty, cancel_fd);
	}
	if (!line)
		(void)show(tty, "\n", 1);
	return json_pack("{s:o}", "terminal", line ? line : json_null());
}
