#include "vmctl/guest_wire.h"

#include <endian.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#define HEADER_LEN 9 /* length, type, id */
#define NAME_LEN 255

#define ATTR_SIZE 0x01U
#define ATTR_OWNER 0x02U
#define ATTR_TIMES 0x08U
#define ATTR_EXTENDED 0x80000000U

static int malformed(struct err *e)
{
	return err_set(e, ERR_PROTOCOL, "the guest's sftp reply is malformed");
}

static int put_fields(struct buf *out, const char *fmt, va_list ap,
		      struct err *e)
{
	for (; *fmt; fmt++) {
		const void *p;
		uint64_t big;
		size_t len;

		switch (*fmt) {
		case 'u':
			if (buf_add_u32(out, va_arg(ap, uint32_t), e) < 0)
				return -1;
			break;
		case 'q':
			big = htobe64(va_arg(ap, uint64_t));
			if (buf_add(out, &big, sizeof(big), e) < 0)
				return -1;
			break;
		default:
			p = va_arg(ap, const void *);
			len = *fmt == 's' ? strlen(p) : va_arg(ap, size_t);
			if (len > GUEST_WIRE_PACKET_LEN)
				return err_set(e, ERR_LIMIT,
					       "%zu bytes are too many for "
					       "one sftp request",
					       len);
			if (buf_add_u32(out, (uint32_t)len, e) < 0 ||
			    buf_add(out, p, len, e) < 0)
				return -1;
		}
	}
	return 0;
}

int guest_wire_put(struct buf *out, enum guest_wire_type type, uint32_t id,
		   struct err *e, const char *fmt, ...)
{
	const uint8_t byte = (uint8_t)type;
	size_t start = out->len;
	uint32_t len;
	va_list ap;
	int rc;

	if (buf_add_u32(out, 0, e) < 0 || buf_add(out, &byte, 1, e) < 0 ||
	    buf_add_u32(out, id, e) < 0)
		return -1;
	va_start(ap, fmt);
	rc = put_fields(out, fmt, ap, e);
	va_end(ap);
	if (rc < 0)
		return -1;
	len = htobe32((uint32_t)(out->len - start - sizeof(len)));
	memcpy(out->data + start, &len, sizeof(len));
	return 0;
}

static uint32_t load_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

int guest_wire_next(const void *p, size_t len, struct guest_reply *ret,
		    size_t *ret_used, struct err *e)
{
	const uint8_t *at = p;
	size_t packet_len;

	if (len < 4)
		return 0;
	packet_len = load_u32(at);
	if (packet_len > GUEST_WIRE_PACKET_LEN)
		return err_set(e, ERR_LIMIT,
			       "the guest's sftp reply is %zu bytes long, more "
			       "than the %d allowed",
			       packet_len, GUEST_WIRE_PACKET_LEN);
	if (packet_len < HEADER_LEN - 4)
		return malformed(e);
	if (len - 4 < packet_len)
		return 0;
	*ret = (struct guest_reply){.type = at[4],
				    .id = load_u32(at + 5),
				    .at = at + HEADER_LEN,
				    .left = packet_len - (HEADER_LEN - 4)};
	*ret_used = packet_len + 4;
	return 1;
}

int guest_wire_get_u32(struct guest_reply *r, uint32_t *ret, struct err *e)
{
	if (r->left < 4)
		return malformed(e);
	*ret = load_u32(r->at);
	r->at += 4;
	r->left -= 4;
	return 0;
}

static int get_u64(struct guest_reply *r, uint64_t *ret, struct err *e)
{
	uint32_t high, low;

	if (guest_wire_get_u32(r, &high, e) < 0 ||
	    guest_wire_get_u32(r, &low, e) < 0)
		return -1;
	*ret = (uint64_t)high << 32 | low;
	return 0;
}

int guest_wire_get_text(struct guest_reply *r, struct guest_text *ret,
			struct err *e)
{
	uint32_t len;

	if (guest_wire_get_u32(r, &len, e) < 0)
		return -1;
	if (len > r->left)
		return malformed(e);
	*ret = (struct guest_text){.p = (const char *)r->at, .len = len};
	r->at += len;
	r->left -= len;
	return 0;
}

static char type_of_mode(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return 'f';
	case S_IFDIR:
		return 'd';
	case S_IFLNK:
		return 'l';
	default:
		return '?';
	}
}

/* The pairs of an extended attribute block are read over. */
static int skip_extended(struct guest_reply *r, struct err *e)
{
	struct guest_text ignored;
	uint32_t count = 0;

	if (guest_wire_get_u32(r, &count, e) < 0)
		return -1;
	/* each takes eight bytes at least, so a lie ends at the packet's end */
	for (uint64_t texts = 2 * (uint64_t)count; texts > 0; texts--)
		if (guest_wire_get_text(r, &ignored, e) < 0)
			return -1;
	return 0;
}

int guest_wire_get_attrs(struct guest_reply *r, struct guest_stat *ret,
			 struct err *e)
{
	struct guest_stat st = {.type = '?'};
	uint32_t flags, mode;
	uint64_t both;

	if (guest_wire_get_u32(r, &flags, e) < 0)
		return -1;
	if (flags & ATTR_SIZE && get_u64(r, &st.len, e) < 0)
		return -1;
	if (flags & ATTR_OWNER && get_u64(r, &both, e) < 0)
		return -1; /* user and group: not asked for */
	if (flags & GUEST_WIRE_ATTR_MODE) {
		if (guest_wire_get_u32(r, &mode, e) < 0)
			return -1;
		st.type = type_of_mode(mode);
		st.mode = mode & 07777;
	}
	if (flags & ATTR_TIMES) {
		if (get_u64(r, &both, e) < 0) /* last read, last written */
			return -1;
		st.mtime_s = (uint32_t)both;
	}
	if (flags & ATTR_EXTENDED && skip_extended(r, e) < 0)
		return -1;
	*ret = st;
	return 0;
}

int guest_wire_check_name(const struct guest_text *name, struct err *e)
{
	if (name->len == 0 || name->len > NAME_LEN ||
	    memchr(name->p, '/', name->len) || memchr(name->p, '\0', name->len))
		return err_set(e, ERR_PROTOCOL,
			       "the guest lists a file by a name that no file "
			       "can have");
	return 0;
}
