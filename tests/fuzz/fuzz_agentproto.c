/* A guest's requests to an ssh agent, and an agent's list of keys. */
#include "base/buf.h"
#include "vmctl/agentproto.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_request(const uint8_t *p, size_t len)
{
	struct agentproto_request r = {.what = AGENTPROTO_OTHER};

	if (agentproto_parse(p, len, &r, NULL) < 0)
		return;
	if (r.what == AGENTPROTO_SIGN &&
	    (r.key < p || r.key_len > len ||
	     r.key + r.key_len > p + len))
		abort();
	/* only these two types pass */
	if (r.what != AGENTPROTO_OTHER && p[4] != 11 && p[4] != 13)
		abort();
}

static void check_list(const uint8_t *p, size_t len)
{
	struct buf out;
	size_t whole;

	buf_init(&out, AGENTPROTO_LEN);
	/* of none allowed, none is told; and what goes out is one message */
	if (agentproto_filter(p, len, "", &out, NULL) == 0) {
		if (out.len > 9)
			abort();
		if (agentproto_frame((const uint8_t *)out.data, out.len, &whole,
				     NULL) < 0 ||
		    whole != out.len)
			abort();
	}
	buf_finish(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	size_t whole;

	if (agentproto_frame(data, len, &whole, NULL) < 0 || whole == 0)
		return 0;
	if (whole > len || whole < 5)
		abort();
	check_request(data, whole);
	check_list(data, whole);
	return 0;
}
