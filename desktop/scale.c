/*
 * Two passes for each row of the image. Down: the desktop's rows it covers are
 * summed with 8-bit weights that add up to 256, in 16 bits a channel, as one
 * plain loop over the row that the compiler turns into vector code. Across:
 * the sums of the columns it covers, with 16-bit weights that add up to 65536.
 *
 * The weights of an axis are made once: cover i is [i*from/to, (i+1)*from/to)
 * in desktop pixels. Rounding each running total, not each weight, makes them
 * add up exactly.
 */
#include "desktop/scale.h"
#include "base/alloc.h"
#include "base/cleanup.h"

#include <string.h>

struct span {
	unsigned first, count;
	const uint32_t *weights;
};

/* spans[to], and the weights they point into; one block, free() */
static struct span *make_spans(unsigned from, unsigned to, uint32_t unit)
{
	size_t per_span = from / to + 2;
	struct span *spans = alloc_zero(to * sizeof(*spans) +
					to * per_span * sizeof(uint32_t));
	uint32_t *w = (uint32_t *)(spans + to);

	for (unsigned i = 0; i < to; i++) {
		/* in units of 1/to desktop pixel */
		uint64_t begin = (uint64_t)i * from;
		uint64_t end = begin + from;
		unsigned first = (unsigned)(begin / to);
		unsigned past = (unsigned)((end + to - 1) / to);
		uint32_t given = 0;

		spans[i] = (struct span){first, past - first, w};
		for (unsigned p = first; p < past; p++) {
			uint64_t upto = (uint64_t)(p + 1) * to;
			uint32_t total;

			if (upto > end)
				upto = end;
			total = (uint32_t)(((upto - begin) * unit + from / 2) /
					   from);
			*w++ = total - given;
			given = total;
		}
	}
	return spans;
}

static void sum_rows(const uint8_t *bgrx, size_t stride_len, size_t row_len,
		     const struct span *s, uint16_t *restrict sums)
{
	memset(sums, 0, row_len * sizeof(*sums));
	for (unsigned r = 0; r < s->count; r++) {
		const uint8_t *restrict row =
			bgrx + (size_t)(s->first + r) * stride_len;
		uint16_t weight = (uint16_t)s->weights[r];

		for (size_t i = 0; i < row_len; i++)
			sums[i] = (uint16_t)(sums[i] + row[i] * weight);
	}
}

static void sum_columns(const uint16_t *restrict sums, const struct span *spans,
			unsigned width_px, uint8_t *restrict rgb)
{
	for (unsigned i = 0; i < width_px; i++) {
		const uint16_t *p = sums + (size_t)spans[i].first * 4;
		const uint32_t *w = spans[i].weights;
		uint32_t b = 1U << 23, g = 1U << 23, r = 1U << 23;

		for (unsigned k = 0; k < spans[i].count; k++, p += 4) {
			b += p[0] * w[k];
			g += p[1] * w[k];
			r += p[2] * w[k];
		}
		*rgb++ = (uint8_t)(r >> 24);
		*rgb++ = (uint8_t)(g >> 24);
		*rgb++ = (uint8_t)(b >> 24);
	}
}

static void copy_rgb(const uint8_t *restrict bgrx, size_t count,
		     uint8_t *restrict rgb)
{
	for (size_t i = 0; i < count; i++) {
		rgb[3 * i] = bgrx[4 * i + 2];
		rgb[3 * i + 1] = bgrx[4 * i + 1];
		rgb[3 * i + 2] = bgrx[4 * i];
	}
}

void scale_to_rgb(const uint8_t *bgrx, size_t stride_len,
		  struct coords_size from, uint8_t *rgb, struct coords_size to)
{
	size_t row_len = (size_t)from.width_px * 4;
	autofree struct span *rows = NULL, *columns = NULL;
	autofree uint16_t *sums = NULL;

	if (from.width_px == to.width_px && from.height_px == to.height_px) {
		for (unsigned y = 0; y < to.height_px; y++)
			copy_rgb(bgrx + y * stride_len, to.width_px,
				 rgb + (size_t)y * to.width_px * 3);
		return;
	}
	rows = make_spans(from.height_px, to.height_px, 1U << 8);
	columns = make_spans(from.width_px, to.width_px, 1U << 16);
	sums = alloc_array(row_len, sizeof(*sums));
	for (unsigned y = 0; y < to.height_px; y++) {
		sum_rows(bgrx, stride_len, row_len, &rows[y], sums);
		sum_columns(sums, columns, to.width_px,
			    rgb + (size_t)y * to.width_px * 3);
	}
}
