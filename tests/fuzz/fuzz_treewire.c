/* Records of a copy: what decodes, encodes to the same bytes; pieces give the
 * same records as the whole. */
#include "base/buf.h"
#include "ops/treewire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int count(const struct treewire_record *r, void *ctx, struct err *e)
{
	unsigned *n = ctx;

	(void)e;
	*n += 1 + (unsigned)r->type;
	return 0;
}

/* All records, by one feed or byte by byte. */
static unsigned feed(const uint8_t *data, size_t len, size_t piece)
{
	struct err e = {0};
	struct buf in;
	unsigned n = 0;

	buf_init(&in, TREEWIRE_RECORD_LEN);
	for (size_t at = 0; at < len; at += piece) {
		size_t take = len - at < piece ? len - at : piece;

		if (treewire_feed(&in, data + at, take, count, &n, &e) != 0)
			break;
	}
	buf_finish(&in);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct treewire_record r;
	struct err e = {0};
	struct buf out;
	size_t used;

	if (treewire_decode(data, len, &r, &used, &e) > 0) {
		buf_init(&out, TREEWIRE_RECORD_LEN);
		/* texts are cut when written */
		if (r.text.len <= 500 &&
		    (treewire_encode(&out, &r, &e) != 0 || out.len != used ||
		     memcmp(out.data, data, used) != 0))
			abort();
		buf_finish(&out);
	}
	if (len < 4096 && feed(data, len, len ? len : 1) != feed(data, len, 1))
		abort();
	return 0;
}
