/*
 * Arguments as a client sends them, against every row: the first byte picks
 * the row and the side, the rest is JSON. What passes is complete and passes
 * again unchanged; what does not says which operation it was.
 */
#include "base/json.h"
#include "ops/validate.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	auto_json json_t *args = NULL;
	auto_json json_t *once = NULL;
	auto_json json_t *twice = NULL;
	struct err e = {0};
	const struct op *op;
	bool agent;

	if (len < 2)
		return 0;
	op = op_at((data[0] >> 1) % op_count());
	agent = data[0] & 1;
	args = json_parse((const char *)data + 1, len - 1, NULL);
	if (!args)
		return 0;
	once = validate_args(op, args, agent, &e);
	if (!once) {
		if (!begins(e.msg, op->name) &&
		    (agent || !op->verb || !begins(e.msg, op->verb)))
			abort();
		return 0;
	}
	twice = validate_args(op, once, agent, &e);
	if (!twice || !json_equal(once, twice))
		abort();
	return 0;
}
