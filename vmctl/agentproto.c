#include "vmctl/agentproto.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/crypto.h"

#include <string.h>

#define HEADER_LEN 4
#define FAILURE 5
#define REQUEST_IDENTITIES 11
#define IDENTITIES_ANSWER 12
#define SIGN_REQUEST 13

struct reader {
	const uint8_t *p;
	size_t left;
};

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

static int broken(struct err *e)
{
	return err_set(e, ERR_PROTOCOL, "no message of an ssh agent");
}

static int take_u32(struct reader *r, uint32_t *ret, struct err *e)
{
	if (r->left < 4)
		return broken(e);
	*ret = be32(r->p);
	r->p += 4;
	r->left -= 4;
	return 0;
}

static int take_string(struct reader *r, const uint8_t **ret, size_t *ret_len,
		       struct err *e)
{
	uint32_t len;

	if (take_u32(r, &len, e))
		return -1;
	if (len > r->left)
		return broken(e);
	*ret = r->p;
	*ret_len = len;
	r->p += len;
	r->left -= len;
	return 0;
}

int agentproto_frame(const uint8_t *p, size_t len, size_t *ret_len,
		     struct err *e)
{
	uint32_t n;

	*ret_len = 0;
	if (len < HEADER_LEN)
		return 0;
	n = be32(p);
	if (n == 0 || n > AGENTPROTO_LEN - HEADER_LEN)
		return broken(e);
	if (len - HEADER_LEN >= n)
		*ret_len = HEADER_LEN + n;
	return 0;
}

int agentproto_parse(const uint8_t *p, size_t len,
		     struct agentproto_request *ret, struct err *e)
{
	struct agentproto_request r = {.what = AGENTPROTO_OTHER};
	struct reader in = {p + HEADER_LEN + 1, len - HEADER_LEN - 1};
	const uint8_t *data;
	size_t data_len;
	uint32_t flags;

	switch (p[HEADER_LEN]) {
	case REQUEST_IDENTITIES:
		r.what = AGENTPROTO_LIST;
		if (in.left)
			return broken(e);
		break;
	case SIGN_REQUEST:
		r.what = AGENTPROTO_SIGN;
		if (take_string(&in, &r.key, &r.key_len, e) ||
		    take_string(&in, &data, &data_len, e) ||
		    take_u32(&in, &flags, e))
			return -1;
		if (in.left)
			return broken(e);
		break;
	default:
		break;
	}
	*ret = r;
	return 0;
}

static int add_u32(struct buf *out, uint32_t n, struct err *e)
{
	const uint8_t b[4] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16),
			      (uint8_t)(n >> 8), (uint8_t)n};

	return buf_add(out, b, sizeof(b), e);
}

int agentproto_failure(struct buf *out, struct err *e)
{
	static const uint8_t message[] = {0, 0, 0, 1, FAILURE};

	return buf_add(out, message, sizeof(message), e);
}

/* -- keys ---------------------------------------------------------------------- */

/* The second word of a line: "TYPE BASE64 COMMENT". */
static bool line_has(const char *line, size_t len, const char *key,
		     size_t key_len)
{
	const char *end = line + len;
	const char *word = memchr(line, ' ', len);
	size_t n;

	if (!word || line[0] == '#')
		return false;
	word++;
	for (n = 0; word + n < end && word[n] != ' ' && word[n] != '\r'; n++)
		;
	return n == key_len && memcmp(word, key, n) == 0;
}

bool agentproto_allows(const char *text, const uint8_t *key, size_t key_len)
{
	autofree char *wanted = NULL;
	size_t wanted_len;

	if (!text)
		return true;
	wanted = crypto_base64(key, key_len);
	wanted_len = strlen(wanted);
	while (*text) {
		size_t len = strcspn(text, "\n");

		if (line_has(text, len, wanted, wanted_len))
			return true;
		text += len + (text[len] == '\n');
	}
	return false;
}

static int add_string(struct buf *out, const uint8_t *p, size_t len,
		      struct err *e)
{
	return add_u32(out, (uint32_t)len, e) || buf_add(out, p, len, e) ? -1
									 : 0;
}

static int filter_keys(struct reader *in, const char *text, struct buf *keys,
		       uint32_t *ret_count, struct err *e)
{
	const uint8_t *key, *comment;
	size_t key_len, comment_len;
	uint32_t count;

	*ret_count = 0;
	if (take_u32(in, &count, e))
		return -1;
	while (count-- > 0) {
		if (take_string(in, &key, &key_len, e) ||
		    take_string(in, &comment, &comment_len, e))
			return -1;
		if (!agentproto_allows(text, key, key_len))
			continue;
		(*ret_count)++;
		if (add_string(keys, key, key_len, e) ||
		    add_string(keys, comment, comment_len, e))
			return -1;
	}
	return 0;
}

int agentproto_filter(const uint8_t *p, size_t len, const char *text,
		      struct buf *out, struct err *e)
{
	struct reader in = {p + HEADER_LEN + 1, len - HEADER_LEN - 1};
	const uint8_t type = IDENTITIES_ANSWER;
	struct buf keys;
	uint32_t count;
	int rc;

	if (p[HEADER_LEN] != IDENTITIES_ANSWER)
		return agentproto_failure(out, e);
	buf_init(&keys, AGENTPROTO_LEN);
	rc = filter_keys(&in, text, &keys, &count, e);
	if (rc == 0)
		rc = add_u32(out, (uint32_t)(1 + 4 + keys.len), e);
	if (rc == 0)
		rc = buf_add(out, &type, 1, e);
	if (rc == 0)
		rc = add_u32(out, count, e);
	if (rc == 0 && keys.len > 0)
		rc = buf_add(out, keys.data, keys.len, e);
	buf_finish(&keys);
	return rc;
}
