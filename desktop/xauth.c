#include "desktop/xauth.h"

#include <stdio.h>
#include <string.h>

struct reader {
	const uint8_t *p;
	size_t len;
};

/* A counted string; -1 when it reaches past the end. */
static int take_field(struct reader *r, const uint8_t **ret, size_t *ret_len)
{
	size_t n;

	if (r->len < 2)
		return -1;
	n = (size_t)r->p[0] << 8 | r->p[1];
	if (r->len - 2 < n)
		return -1;
	*ret = r->p + 2;
	*ret_len = n;
	r->p += 2 + n;
	r->len -= 2 + n;
	return 0;
}

struct entry {
	const uint8_t *address, *number, *name, *data;
	size_t address_len, number_len, name_len, data_len;
};

static int take_entry(struct reader *r, struct entry *ret)
{
	if (r->len < 2)
		return -1;
	r->p += 2; /* the family: see xauth_find() */
	r->len -= 2;
	if (take_field(r, &ret->address, &ret->address_len) != 0 ||
	    take_field(r, &ret->number, &ret->number_len) != 0 ||
	    take_field(r, &ret->name, &ret->name_len) != 0 ||
	    take_field(r, &ret->data, &ret->data_len) != 0)
		return -1;
	return 0;
}

static int serves(const struct entry *x, const char *number)
{
	if (x->name_len != strlen(XAUTH_COOKIE_NAME) ||
	    memcmp(x->name, XAUTH_COOKIE_NAME, x->name_len) != 0 ||
	    x->data_len != XAUTH_COOKIE_LEN)
		return 0;
	return x->number_len == 0 ||
	       (x->number_len == strlen(number) &&
		memcmp(x->number, number, x->number_len) == 0);
}

int xauth_find(const void *p, size_t len, unsigned display,
	       uint8_t ret_cookie[XAUTH_COOKIE_LEN], struct err *e)
{
	struct reader r = {.p = p, .len = len};
	char number[16];

	snprintf(number, sizeof(number), "%u", display);
	while (r.len > 0) {
		struct entry x;

		if (take_entry(&r, &x) != 0)
			return err_set(e, ERR_PROTOCOL,
				       "the guest's .Xauthority is malformed");
		if (serves(&x, number)) {
			memcpy(ret_cookie, x.data, XAUTH_COOKIE_LEN);
			return 0;
		}
	}
	return err_set(e, ERR_NOT_FOUND,
		       "the guest's .Xauthority has no cookie for display :%u",
		       display);
}
