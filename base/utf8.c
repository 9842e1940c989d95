#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

size_t utf8_next(const char *p, size_t len, uint32_t *ret_cp)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n;
	uint32_t cp;

	if (len == 0)
		return 0;
	cp = (unsigned char)p[0];
	if (cp < 0x80)
		n = 1;
	else if (cp >= 0xc2 && cp < 0xe0)
		n = 2;
	else if (cp >= 0xe0 && cp < 0xf0)
		n = 3;
	else if (cp >= 0xf0 && cp < 0xf5)
		n = 4;
	else
		return 0;
	if (n > len)
		return 0;
	if (n > 1)
		cp &= 0x7fu >> n;
	for (size_t i = 1; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if ((c & 0xc0) != 0x80)
			return 0;
		cp = cp << 6 | (c & 0x3f);
	}
	if (cp < least[n] || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
		return 0;
	*ret_cp = cp;
	return n;
}

/* What a terminal or a dialog may be shown as it is. */
static bool is_showable(uint32_t cp)
{
	if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
		return false;
	/* line and paragraph separator, bidirectional embeddings, overrides
	 * and isolates, which let text look like other text */
	if (cp >= 0x2028 && cp <= 0x202e)
		return false;
	return cp < 0x2066 || cp > 0x2069;
}

size_t utf8_escape(char *dst, size_t size, const char *src, size_t len)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t at = 0;

	while (len > 0) {
		uint32_t cp = 0;
		size_t n = utf8_next(src, len, &cp);
		bool plain = n > 0 && is_showable(cp);

		if (n == 0)
			n = 1;
		if (at + (plain ? n : 4 * n) >= size)
			break;
		for (size_t i = 0; i < n; i++) {
			unsigned char c = (unsigned char)src[i];

			if (plain) {
				dst[at++] = src[i];
				continue;
			}
			dst[at++] = '\\';
			dst[at++] = 'x';
			dst[at++] = hex[c >> 4];
			dst[at++] = hex[c & 15];
		}
		src += n;
		len -= n;
	}
	dst[at] = '\0';
	return at;
}
