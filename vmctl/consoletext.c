#include "vmctl/consoletext.h"

#include <string.h>

/* The length of the escape sequence at p, which begins with ESC. One that is
 * cut off at the end goes as a whole. */
static size_t sequence_len(const char *p, size_t len)
{
	size_t n = 2;

	if (len < 2)
		return len;
	/* operating system command: up to BEL, or to the ESC of its end */
	if (p[1] == ']') {
		while (n < len && p[n] != '\a' && p[n] != '\033' &&
		       p[n] != '\n')
			n++;
		return n < len && p[n] == '\a' ? n + 1 : n;
	}
	if (p[1] != '[')
		return p[1] == '\n' ? 1 : 2;
	while (n < len && p[n] >= 0x20 && p[n] < 0x40)
		n++;
	return n < len && p[n] >= 0x40 && p[n] < 0x7f ? n + 1 : n;
}

size_t consoletext_clean(char *p, size_t len)
{
	size_t kept = 0;

	for (size_t at = 0; at < len;) {
		unsigned char c = (unsigned char)p[at];

		if (c == '\033') {
			at += sequence_len(p + at, len - at);
			continue;
		}
		if (c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7f))
			p[kept++] = p[at];
		at++;
	}
	return kept;
}
