#include "vmctl/copytext.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FIELD_COUNT 6
#define NS_DIGITS 9
#define NS_PER_S 1000000000u

static int bad(const char *what, struct err *e)
{
	return err_set(e, ERR_PROTOCOL, "the guest listed a malformed %s",
		       what);
}

/* Digits of a base up to a character that ends them; NULL when there are
 * none or too many. */
static const char *take_number(const char *p, unsigned base, uint64_t *ret)
{
	const char *start = p;
	uint64_t v = 0;

	for (;; p++) {
		unsigned digit = base;

		if (*p >= '0' && *p <= '9')
			digit = (unsigned)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			digit = (unsigned)(*p - 'a') + 10;
		if (digit >= base)
			break;
		if (__builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, digit, &v))
			return NULL;
	}
	if (p == start)
		return NULL;
	*ret = v;
	return p;
}

/* ".123456789" and more digits, which are below our precision. */
static const char *take_fraction(const char *p, uint32_t *ret_ns)
{
	uint32_t ns = 0;
	int digits = 0;

	if (*p != '.') {
		*ret_ns = 0;
		return p;
	}
	for (p++; *p >= '0' && *p <= '9'; p++, digits++) {
		if (digits < NS_DIGITS)
			ns = ns * 10 + (uint32_t)(*p - '0');
	}
	if (digits == 0 || digits > 2 * NS_DIGITS)
		return NULL;
	for (; digits < NS_DIGITS; digits++)
		ns *= 10;
	*ret_ns = ns;
	return p;
}

/* Sign, seconds, fraction. The fraction counts upwards (find) or away from
 * zero (stat). */
static const char *take_time(const char *p, bool decimal, int64_t *ret_s,
			     uint32_t *ret_ns)
{
	bool negative = *p == '-';
	uint64_t s = 0;
	uint32_t ns = 0;

	p = take_number(p + negative, 10, &s);
	if (!p || s > INT64_MAX / 2)
		return NULL;
	p = take_fraction(p, &ns);
	if (!p)
		return NULL;
	*ret_s = negative ? -(int64_t)s : (int64_t)s;
	*ret_ns = ns;
	if (negative && decimal && ns > 0) {
		*ret_s -= 1;
		*ret_ns = NS_PER_S - ns;
	}
	return p;
}

void copytext_time(int64_t s, uint32_t ns, char ret[COPYTEXT_TIME_SIZE])
{
	const char *sign = "";
	uint64_t whole = (uint64_t)s;

	if (s < 0) {
		/* s + ns/10^9 as -(whole + ns/10^9) */
		sign = "-";
		whole = -(uint64_t)s;
		if (ns > 0) {
			whole--;
			ns = NS_PER_S - ns;
		}
	}
	snprintf(ret, COPYTEXT_TIME_SIZE, "%s%" PRIu64 ".%09" PRIu32, sign,
		 whole, ns);
}

/* ---- find --------------------------------------------------------------- */

/* The fields of a record, each NUL-terminated in place. How many of count
 * are whole; *ret_used their length. */
static int split(const char *p, size_t len, int count,
		 struct treewire_str *fields, size_t *ret_used)
{
	size_t at = 0;
	int i;

	for (i = 0; i < count; i++) {
		const char *nul = at < len ? memchr(p + at, '\0', len - at)
					   : NULL;

		if (!nul)
			break;
		fields[i] = treewire_str(p + at, (size_t)(nul - p) - at);
		at += fields[i].len + 1;
	}
	*ret_used = at;
	return i;
}

static int parse_entry(const struct treewire_str *f, struct treewire_entry *n,
		       struct err *e)
{
	uint64_t mode, len;
	const char *end;

	if (f[0].len != 1)
		return bad("type", e);
	n->type = f[0].p[0];
	if (n->type != 'd' && n->type != 'f' && n->type != 'l')
		n->type = '?';
	end = take_number(f[1].p, 8, &mode);
	if (!end || *end || mode > 07777)
		return bad("mode", e);
	n->mode = (uint16_t)(mode & 0777);
	end = take_number(f[2].p, 10, &len);
	if (!end || *end)
		return bad("length", e);
	n->len = n->type == 'f' ? len : 0;
	end = take_time(f[3].p, false, &n->mtime_s, &n->mtime_ns);
	if (!end || *end)
		return bad("time", e);
	n->path = f[4];
	n->target = f[5];
	if ((n->type == 'l') != (n->target.len > 0))
		return bad("link", e);
	return 0;
}

int copytext_find(const char *p, size_t len, struct copytext_item *ret,
		  size_t *ret_used, struct err *e)
{
	struct treewire_str fields[FIELD_COUNT] = {{NULL, 0}};
	struct copytext_item item = {.end = false};
	size_t used;
	int count = split(p, len, FIELD_COUNT, fields, &used);

	if (count >= 2 && fields[0].len == 1 && fields[0].p[0] == '=') {
		item.end = true;
		item.said = fields[1];
		*ret = item;
		*ret_used = fields[0].len + fields[1].len + 2;
		return 1;
	}
	if (count < FIELD_COUNT) {
		if (len > COPYTEXT_RECORD_LEN)
			return err_set(e, ERR_LIMIT,
				       "the guest listed a path that is too "
				       "long");
		return 0;
	}
	if (parse_entry(fields, &item.entry, e) != 0)
		return -1;
	*ret = item;
	*ret_used = used;
	return 1;
}

/* ---- stat --------------------------------------------------------------- */

static char type_of(uint64_t mode)
{
	if (S_ISREG(mode))
		return 'f';
	if (S_ISDIR(mode))
		return 'd';
	return S_ISLNK(mode) ? 'l' : '?';
}

int copytext_stat(const char *p, size_t len, struct copytext_stat *ret,
		  size_t *ret_used, struct err *e)
{
	const char *nul = len > 0 ? memchr(p, '\0', len) : NULL;
	struct copytext_stat st;
	uint64_t mode;
	const char *at;

	if (!nul)
		return bad("status", e);
	at = take_number(p, 16, &mode);
	if (!at || *at != ' ' || mode > UINT32_MAX)
		return bad("mode", e);
	at = take_number(at + 1, 10, &st.len);
	if (!at || *at != ' ')
		return bad("length", e);
	at = take_time(at + 1, true, &st.mtime_s, &st.mtime_ns);
	if (!at || *at != ' ')
		return bad("time", e);
	st.type = type_of(mode);
	st.mode = (uint16_t)(mode & 07777);
	st.path = at + 1;
	*ret = st;
	*ret_used = (size_t)(nul - p) + 1;
	return 0;
}

int copytext_len_time(const char *line, uint64_t *ret_len, int64_t *ret_s,
		      uint32_t *ret_ns, struct err *e)
{
	uint64_t len;
	const char *at = take_number(line, 10, &len);
	int64_t s;
	uint32_t ns;

	if (!at || *at != ' ')
		return bad("length", e);
	at = take_time(at + 1, true, &s, &ns);
	if (!at || *at)
		return bad("time", e);
	*ret_len = len;
	*ret_s = s;
	*ret_ns = ns;
	return 0;
}
