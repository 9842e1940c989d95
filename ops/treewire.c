#include "ops/treewire.h"

#include <endian.h>
#include <string.h>

#define TEXT_LEN 500
#define NS_PER_S 1000000000u

/* ---- reading ------------------------------------------------------------ */

/* A cursor over one record's fields. Reading past the end sets bad and gives
 * zeros, so that a decoder tests once, at its end. */
struct cursor {
	const uint8_t *p;
	size_t left;
	bool bad;
};

static uint64_t take_int(struct cursor *c, size_t size)
{
	uint64_t v = 0;

	if (c->bad || c->left < size) {
		c->bad = true;
		return 0;
	}
	for (size_t i = 0; i < size; i++)
		v = v << 8 | c->p[i];
	c->p += size;
	c->left -= size;
	return v;
}

static struct treewire_str take_rest(struct cursor *c)
{
	struct treewire_str s = {(const char *)c->p, c->left};

	c->p += c->left;
	c->left = 0;
	return s;
}

static struct treewire_str take_str(struct cursor *c)
{
	size_t len = (size_t)take_int(c, 2);
	struct treewire_str s;

	if (c->bad || c->left < len) {
		c->bad = true;
		return treewire_str("", 0);
	}
	s = treewire_str((const char *)c->p, len);
	c->p += len;
	c->left -= len;
	return s;
}

static enum err_code take_code(struct cursor *c, bool may_be_none)
{
	uint64_t code = take_int(c, 1);

	if (code >= ERR_CODE_COUNT || (code == ERR_NONE && !may_be_none))
		c->bad = true;
	return c->bad ? ERR_INTERNAL : (enum err_code)code;
}

static void take_entry(struct cursor *c, struct treewire_entry *n)
{
	n->type = (char)take_int(c, 1);
	n->mode = (uint16_t)take_int(c, 2);
	n->mtime_s = (int64_t)take_int(c, 8);
	n->mtime_ns = (uint32_t)take_int(c, 4);
	n->len = take_int(c, 8);
	n->path = take_str(c);
	n->target = take_str(c);
	if ((n->type != 'd' && n->type != 'f' && n->type != 'l') ||
	    n->mode > 0777 || n->mtime_ns >= NS_PER_S ||
	    (n->type != 'f' && n->len != 0) ||
	    (n->type == 'l') != (n->target.len > 0))
		c->bad = true;
}

static void take_result(struct cursor *c, struct treewire_result *r)
{
	r->file_count = (uint32_t)take_int(c, 4);
	r->same_count = (uint32_t)take_int(c, 4);
	r->link_count = (uint32_t)take_int(c, 4);
	r->dir_count = (uint32_t)take_int(c, 4);
	r->trouble_count = (uint32_t)take_int(c, 4);
	r->byte_count = take_int(c, 8);
}

static void take_fields(struct cursor *c, struct treewire_record *r)
{
	switch (r->type) {
	case TREE_HEAD:
		r->version = (uint8_t)take_int(c, 1);
		r->name = take_str(c);
		break;
	case TREE_ENTRY:
		take_entry(c, &r->entry);
		break;
	case TREE_WARN:
		r->text = take_rest(c);
		break;
	case TREE_TROUBLE:
	case TREE_FAIL:
		r->code = take_code(c, false);
		r->text = take_rest(c);
		break;
	case TREE_MANIFEST_END:
	case TREE_WANT_END:
		r->count = (uint32_t)take_int(c, 4);
		break;
	case TREE_WANT:
	case TREE_FILE:
		r->index = (uint32_t)take_int(c, 4);
		r->offset = take_int(c, 8);
		break;
	case TREE_DATA:
		r->bytes = take_rest(c);
		break;
	case TREE_RESULT:
		take_result(c, &r->result);
		r->code = take_code(c, true);
		r->text = take_rest(c);
		break;
	case TREE_FILE_END:
	case TREE_CONFIRM:
	case TREE_DROP:
	case TREE_DONE:
		break;
	case TREE_TYPE_END:
	default:
		c->bad = true;
	}
}

int treewire_decode(const void *p, size_t len, struct treewire_record *ret,
		    size_t *ret_used, struct err *e)
{
	struct cursor c = {.p = p, .left = len};
	struct treewire_record r = {.type = TREE_TYPE_END};
	size_t body_len;

	if (len < TREEWIRE_HEADER_LEN)
		return 0;
	body_len = (size_t)take_int(&c, 4);
	if (body_len < 1)
		return err_set(e, ERR_PROTOCOL, "copy: an empty record");
	if (body_len > TREEWIRE_RECORD_LEN - 4)
		return err_set(e, ERR_LIMIT, "copy: a record of %zu bytes",
			       body_len);
	if (c.left < body_len)
		return 0;
	c.left = body_len;
	r.type = (enum treewire_type)take_int(&c, 1);
	take_fields(&c, &r);
	if (c.bad || c.left > 0)
		return err_set(e, ERR_PROTOCOL,
			       "copy: a malformed record of type %u",
			       (unsigned)r.type);
	*ret = r;
	*ret_used = 4 + body_len;
	return 1;
}

/* How many bytes more the record at the start of `in` needs. */
static size_t missing(const struct buf *in)
{
	struct cursor c = {.p = (const uint8_t *)in->data, .left = in->len};
	size_t body_len;

	if (in->len < TREEWIRE_HEADER_LEN)
		return TREEWIRE_HEADER_LEN - in->len;
	body_len = (size_t)take_int(&c, 4);
	return 4 + body_len - in->len;
}

/* Complete the record that waits in `in`: 1 when it was, 0, -1. */
static int feed_waiting(struct buf *in, const char **p, size_t *len,
			struct treewire_record *ret, struct err *e)
{
	size_t used;
	int rc;

	do {
		size_t n = missing(in);

		if (n > *len)
			n = *len;
		if (buf_add(in, *p, n, e) != 0)
			return -1;
		*p += n;
		*len -= n;
		/* also when it is known to be bad from its header alone */
		rc = treewire_decode(in->data, in->len, ret, &used, e);
	} while (rc == 0 && *len > 0);
	return rc;
}

int treewire_feed(struct buf *in, const void *p, size_t len, treewire_fn *fn,
		  void *ctx, struct err *e)
{
	struct treewire_record r;
	const char *at = p;
	size_t used;
	int rc;

	if (in->len > 0 && len > 0) {
		rc = feed_waiting(in, &at, &len, &r, e);
		if (rc <= 0)
			return rc;
		rc = fn(&r, ctx, e);
		buf_reset(in);
		if (rc != 0)
			return -1;
	}
	while ((rc = treewire_decode(at, len, &r, &used, e)) > 0) {
		if (fn(&r, ctx, e) != 0)
			return -1;
		at += used;
		len -= used;
	}
	return rc == 0 ? buf_add(in, at, len, e) : -1;
}

/* ---- writing ------------------------------------------------------------ */

static uint8_t *put_int(uint8_t *p, uint64_t v, size_t size)
{
	for (size_t i = 0; i < size; i++)
		p[i] = (uint8_t)(v >> (8 * (size - 1 - i)));
	return p + size;
}

static uint8_t *put_bytes(uint8_t *p, struct treewire_str s)
{
	if (s.len > 0)
		memcpy(p, s.p, s.len);
	return p + s.len;
}

static uint8_t *put_str(uint8_t *p, struct treewire_str s)
{
	return put_bytes(put_int(p, s.len, 2), s);
}

static uint8_t *put_text(uint8_t *p, struct treewire_str s)
{
	if (s.len > TEXT_LEN)
		s.len = TEXT_LEN;
	return put_bytes(p, s);
}

static uint8_t *put_result(uint8_t *p, const struct treewire_result *r)
{
	p = put_int(p, r->file_count, 4);
	p = put_int(p, r->same_count, 4);
	p = put_int(p, r->link_count, 4);
	p = put_int(p, r->dir_count, 4);
	p = put_int(p, r->trouble_count, 4);
	return put_int(p, r->byte_count, 8);
}

static uint8_t *put_entry(uint8_t *p, const struct treewire_entry *n)
{
	p = put_int(p, (uint8_t)n->type, 1);
	p = put_int(p, n->mode, 2);
	p = put_int(p, (uint64_t)n->mtime_s, 8);
	p = put_int(p, n->mtime_ns, 4);
	p = put_int(p, n->len, 8);
	p = put_str(p, n->path);
	return put_str(p, n->target);
}

static uint8_t *put_fields(uint8_t *p, const struct treewire_record *r)
{
	switch (r->type) {
	case TREE_HEAD:
		return put_str(put_int(p, r->version, 1), r->name);
	case TREE_ENTRY:
		return put_entry(p, &r->entry);
	case TREE_WARN:
		return put_text(p, r->text);
	case TREE_TROUBLE:
	case TREE_FAIL:
		return put_text(put_int(p, r->code, 1), r->text);
	case TREE_MANIFEST_END:
	case TREE_WANT_END:
		return put_int(p, r->count, 4);
	case TREE_WANT:
	case TREE_FILE:
		return put_int(put_int(p, r->index, 4), r->offset, 8);
	case TREE_DATA:
		return put_bytes(p, r->bytes);
	case TREE_RESULT:
		p = put_result(p, &r->result);
		return put_text(put_int(p, r->code, 1), r->text);
	case TREE_FILE_END:
	case TREE_CONFIRM:
	case TREE_DROP:
	case TREE_DONE:
	case TREE_TYPE_END:
	default:
		return p;
	}
}

int treewire_encode(struct buf *out, const struct treewire_record *r,
		    struct err *e)
{
	size_t most = TREEWIRE_HEADER_LEN + 64 + TEXT_LEN;
	uint8_t *start, *end;

	if (r->type == TREE_DATA)
		most = TREEWIRE_HEADER_LEN + r->bytes.len;
	else if (r->type == TREE_HEAD)
		most += r->name.len;
	else if (r->type == TREE_ENTRY)
		most += r->entry.path.len + r->entry.target.len;
	if (most > TREEWIRE_RECORD_LEN || r->name.len > UINT16_MAX ||
	    r->entry.path.len > UINT16_MAX || r->entry.target.len > UINT16_MAX)
		return err_set(e, ERR_LIMIT, "copy: a record of %zu bytes",
			       most);
	start = (uint8_t *)buf_reserve(out, most, e);
	if (!start)
		return -1;
	end = put_fields(put_int(start + 4, r->type, 1), r);
	put_int(start, (uint64_t)(end - start) - 4, 4);
	buf_commit(out, (size_t)(end - start));
	return 0;
}

void treewire_data_header(uint8_t ret[TREEWIRE_HEADER_LEN], size_t len)
{
	put_int(put_int(ret, len + 1, 4), TREE_DATA, 1);
}

struct treewire_record treewire_failure(enum treewire_type type,
					const struct err *f)
{
	const char *msg = err_msg(f);

	return (struct treewire_record){
		.type = type,
		.code = f->code == ERR_NONE ? ERR_INTERNAL : f->code,
		.text = treewire_str(msg, strlen(msg)),
	};
}

int treewire_to_err(const struct treewire_record *r, struct err *e)
{
	return err_set(e, r->code == ERR_NONE ? ERR_INTERNAL : r->code,
		       "%.*s", (int)r->text.len, r->text.p);
}
