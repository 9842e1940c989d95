#include "vmctl/clipformat.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"

#include <string.h>

static bool has_line(const char *p, size_t len, const char *line)
{
	const char *end = p + len;

	while (p < end) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((stop ? stop : end) - p);

		if (n == strlen(line) && memcmp(p, line, n) == 0)
			return true;
		p += n;
		p += p < end; /* the newline */
	}
	return false;
}

const struct clipformat *clipformat_pick(const char *targets, size_t len)
{
	static const struct clipformat formats[] = {
		{"UTF8_STRING", false, false, LIMIT_CLIPBOARD_LEN},
		{"text/plain;charset=utf-8", false, false, LIMIT_CLIPBOARD_LEN},
		{"image/png", true, false, LIMIT_SHOT_LEN},
		{"STRING", false, true, LIMIT_CLIPBOARD_LEN},
	};

	for (size_t i = 0; i < ARRAY_COUNT(formats); i++) {
		if (has_line(targets, len, formats[i].target))
			return &formats[i];
	}
	return NULL;
}

static json_t *latin_text(const char *p, size_t len)
{
	autofree char *text = alloc_zero(2 * len + 1);
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		uint8_t c = (uint8_t)p[i];

		if (c >= 0x80)
			text[n++] = (char)(0xc0 | c >> 6);
		text[n++] = (char)(c < 0x80 ? c : 0x80 | (c & 0x3f));
	}
	return json_lossy(text, n);
}

json_t *clipformat_text(const struct clipformat *f, const char *p, size_t len)
{
	return f->is_latin ? latin_text(p, len) : json_lossy(p, len);
}

static uint32_t big_u32(const char *p)
{
	const uint8_t *b = (const uint8_t *)p;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 |
	       (uint32_t)b[2] << 8 | b[3];
}

int clipformat_png(const char *p, size_t len, uint32_t *ret_width,
		   uint32_t *ret_height, struct err *e)
{
	static const char head[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
	const size_t head_len = sizeof(head) - 1;

	if (len < head_len + 8 || memcmp(p, head, head_len) != 0)
		return err_set(e, ERR_PROTOCOL,
			       "what the clipboard calls a PNG is none");
	*ret_width = big_u32(p + head_len);
	*ret_height = big_u32(p + head_len + 4);
	return 0;
}
