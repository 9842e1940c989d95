#include "desktop/xprop.h"
#include "base/utf8.h"
#include "desktop/wire.h"

enum {
	HEAD_LEN = 32,
	TYPE_STRING = 31, /* Latin-1 */
};

int xprop_parse(const uint8_t *p, size_t len, struct xprop *ret)
{
	struct xprop v = {0};
	uint64_t said;

	if (len < HEAD_LEN)
		return -1;
	v.format = p[1];
	if (v.format != 0 && v.format != 8 && v.format != 16 && v.format != 32)
		return -1;
	v.type = wire_u32(p + 8);
	v.after_len = wire_u32(p + 12);
	said = (uint64_t)wire_u32(p + 16) * (v.format / 8);
	if (said > len - HEAD_LEN)
		return -1;
	v.p = p + HEAD_LEN;
	v.len = (size_t)said;
	*ret = v;
	return 0;
}

/* A code point below U+0100, which needs at most two bytes. */
static size_t put_latin(uint8_t c, char out[2])
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	out[0] = (char)(0xc0 | c >> 6);
	out[1] = (char)(0x80 | (c & 0x3f));
	return 2;
}

void xprop_text(const struct xprop *v, unsigned skip, char *ret, size_t size)
{
	size_t at = 0, out = 0, len = v->format == 8 ? v->len : 0;

	for (; at < len && skip > 0; at++)
		skip -= v->p[at] == '\0';
	while (at < len && v->p[at] != '\0') {
		const char *from = (const char *)v->p + at;
		char latin[2];
		uint32_t cp;
		size_t n = utf8_next(from, len - at, &cp), wide = n;

		/* also what says it is UTF-8 and is not */
		if (v->type == TYPE_STRING || n == 0) {
			wide = put_latin(v->p[at], latin);
			from = latin;
			n = 1;
		}
		if (wide >= size - out)
			break;
		memcpy(ret + out, from, wide);
		out += wide;
		at += n;
	}
	ret[out] = '\0';
}

unsigned xprop_words(const struct xprop *v, uint32_t *ret, unsigned max)
{
	size_t count = v->format == 32 ? v->len / 4 : 0;

	if (count > max)
		count = max;
	for (size_t i = 0; i < count; i++)
		ret[i] = wire_u32(v->p + i * 4);
	return (unsigned)count;
}
