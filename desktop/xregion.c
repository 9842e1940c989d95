#include "desktop/xregion.h"
#include "base/alloc.h"
#include "desktop/wire.h"

enum {
	HEAD_LEN = 32,
	RECT_LEN = 8,
};

static struct coords_rect cut(const uint8_t *p)
{
	int x = (int16_t)wire_u16(p), y = (int16_t)wire_u16(p + 2);
	int x1 = x + wire_u16(p + 4), y1 = y + wire_u16(p + 6);
	int x0 = x > 0 ? x : 0, y0 = y > 0 ? y : 0;

	if (x1 <= x0 || y1 <= y0)
		return (struct coords_rect){0};
	return (struct coords_rect){(unsigned)x0, (unsigned)y0,
				    (unsigned)(x1 - x0), (unsigned)(y1 - y0)};
}

struct coords_rect *xregion_parse(const uint8_t *p, size_t len,
				  size_t *ret_count)
{
	size_t count = len < HEAD_LEN ? 0 : (len - HEAD_LEN) / RECT_LEN;
	struct coords_rect *rects = alloc_array(count + 1, sizeof(*rects));

	for (size_t i = 0; i < count; i++)
		rects[i] = cut(p + HEAD_LEN + i * RECT_LEN);
	*ret_count = count;
	return rects;
}
