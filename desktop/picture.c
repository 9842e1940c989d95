#include "desktop/picture.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/limits.h"
#include "desktop/jpeg.h"
#include "desktop/png.h"

#include <pthread.h>
#include <string.h>

enum {
	/* one row in so many tells what kind of picture it is */
	SAMPLE_ROWS = 16,
	/* PNG of a photograph costs about this many bytes for each pixel that
	 * is unlike its left neighbour: in eighths */
	UNLIKE_LEN_8 = 12,
};

struct picture_shelf {
	pthread_mutex_t mutex;
	unsigned holders;
	struct picture_key key;
	struct picture *picture;
};

/* ---- encoding ---- */

/*
 * A guess at what PNG makes of it, for pictures that are clearly too much: it
 * saves trying. Flat areas cost nothing; what differs from pixel to pixel by a
 * lot hardly compresses.
 */
static bool is_hopeless(const uint8_t *rgb, struct coords_size size)
{
	const size_t row_len = (size_t)size.width_px * 3;
	uint64_t unlike = 0;

	for (unsigned y = 0; y < size.height_px; y += SAMPLE_ROWS) {
		const uint8_t *row = rgb + y * row_len;

		for (size_t i = 3; i < row_len; i += 3)
			unlike += memcmp(row + i, row + i - 3, 3) != 0;
	}
	return unlike * SAMPLE_ROWS * UNLIKE_LEN_8 / 8 > LIMIT_SHOT_LEN;
}

static int encode_jpeg(const uint8_t *rgb, struct coords_size size,
		       struct buf *out, struct err *e)
{
	/* the last is for noise, which no real desktop shows */
	static const struct jpeg_how hows[] = {
		{85, false}, {70, false}, {50, true}, {20, true}};
	struct err why = {0};

	for (size_t i = 0; i < ARRAY_COUNT(hows); i++) {
		buf_reset(out);
		out->cap = i + 1 < ARRAY_COUNT(hows) ? LIMIT_SHOT_LEN
						     : LIMIT_IMAGE_LEN;
		if (jpeg_encode(rgb, size, &hows[i], out, &why) == 0)
			return 0;
		if (why.code != ERR_LIMIT)
			break;
	}
	if (e)
		*e = why;
	return -1;
}

static int encode(const uint8_t *rgb, struct coords_size size, struct buf *out,
		  const char **ret_mime, struct err *e)
{
	struct err why = {0};

	*ret_mime = "image/png";
	if (!is_hopeless(rgb, size)) {
		if (png_encode(rgb, size, out, &why) == 0)
			return 0;
		if (why.code != ERR_LIMIT) {
			if (e)
				*e = why;
			return -1;
		}
	}
	*ret_mime = "image/jpeg";
	return encode_jpeg(rgb, size, out, e);
}

int picture_encode(const uint8_t *rgb, struct coords_size size,
		   struct picture **ret, struct err *e)
{
	const char *mime;
	struct picture *p;
	struct buf out;

	buf_init(&out, LIMIT_SHOT_LEN);
	if (encode(rgb, size, &out, &mime, e) != 0) {
		buf_finish(&out);
		return -1;
	}
	p = ALLOC_NEW(struct picture);
	p->holders = 1;
	p->mime = mime;
	p->size = size;
	p->len = out.len;
	/* a copy of the right size: it may be kept for long */
	p->bytes = alloc_array(out.len + 1, 1);
	memcpy(p->bytes, out.data, out.len);
	buf_finish(&out);
	*ret = p;
	return 0;
}

struct picture *picture_hold(struct picture *p)
{
	__atomic_add_fetch(&p->holders, 1, __ATOMIC_RELAXED);
	return p;
}

void picture_free(struct picture *p)
{
	if (!p || __atomic_sub_fetch(&p->holders, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	free(p->bytes);
	free(p);
}

/* ---- the shelf ---- */

struct picture_shelf *picture_shelf_new(void)
{
	struct picture_shelf *s = ALLOC_NEW(struct picture_shelf);

	pthread_mutex_init(&s->mutex, NULL);
	s->holders = 1;
	return s;
}

struct picture_shelf *picture_shelf_hold(struct picture_shelf *s)
{
	__atomic_add_fetch(&s->holders, 1, __ATOMIC_RELAXED);
	return s;
}

void picture_shelf_free(struct picture_shelf *s)
{
	if (!s || __atomic_sub_fetch(&s->holders, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	picture_free(s->picture);
	pthread_mutex_destroy(&s->mutex);
	free(s);
}

struct picture *picture_shelf_find(struct picture_shelf *s,
				   const struct picture_key *key)
{
	struct picture *p = NULL;

	pthread_mutex_lock(&s->mutex);
	if (s->picture && s->key.generation == key->generation &&
	    s->key.cursor == key->cursor && s->key.tier == key->tier)
		p = picture_hold(s->picture);
	pthread_mutex_unlock(&s->mutex);
	return p;
}

void picture_shelf_put(struct picture_shelf *s, const struct picture_key *key,
		       struct picture *p)
{
	struct picture *old;

	pthread_mutex_lock(&s->mutex);
	old = s->picture;
	s->key = *key;
	s->picture = picture_hold(p);
	pthread_mutex_unlock(&s->mutex);
	picture_free(old);
}
