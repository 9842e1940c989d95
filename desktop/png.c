#include "desktop/png.h"

#include <png.h>
#include <setjmp.h>
#include <stdbool.h>

/* fewer and larger than libpng's own 8 KiB */
#define IDAT_LEN ((size_t)64 * 1024)

struct sink {
	struct buf *out;
	struct err *e;
	bool failed;
};

/* libpng's errors leave by longjmp to png_encode(); ours wins over its own. */
static void on_error(png_structp png, png_const_charp text)
{
	struct sink *s = png_get_error_ptr(png);

	if (!s->failed)
		err_set(s->e, ERR_INTERNAL, "libpng: %s", text);
	s->failed = true;
	png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
	(void)png;
	(void)text;
}

static void on_write(png_structp png, png_bytep p, size_t len)
{
	struct sink *s = png_get_io_ptr(png);

	if (buf_add(s->out, p, len, s->e) == 0)
		return;
	s->failed = true;
	png_error(png, "output");
}

static void on_flush(png_structp png)
{
	(void)png;
}

static void write_image(png_structp png, png_infop info, const uint8_t *rgb,
			struct coords_size size)
{
	png_set_IHDR(png, info, size.width_px, size.height_px, 8,
		     PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
		     PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	png_set_compression_level(png, 1);
	png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB);
	png_set_compression_buffer_size(png, IDAT_LEN);
	png_write_info(png, info);
	for (unsigned y = 0; y < size.height_px; y++)
		png_write_row(png, rgb + (size_t)y * size.width_px * 3);
	png_write_end(png, NULL);
}

int png_encode(const uint8_t *rgb, struct coords_size size, struct buf *out,
	       struct err *e)
{
	struct sink s = {.out = out, .e = e};
	png_structp png;
	png_infop info;

	png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &s, on_error,
				      on_warning);
	info = png ? png_create_info_struct(png) : NULL;
	if (!info) {
		png_destroy_write_struct(&png, NULL);
		return err_set(e, ERR_INTERNAL, "libpng does not start");
	}
	if (setjmp(png_jmpbuf(png)) == 0) {
		png_set_write_fn(png, &s, on_write, on_flush);
		write_image(png, info, rgb, size);
	}
	png_destroy_write_struct(&png, &info);
	return s.failed ? -1 : 0;
}
