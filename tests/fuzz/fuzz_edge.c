/*
 * The files that the proxy reads. The first byte picks: an edge file, of which
 * what is accepted prints and parses to the same; or tokens.json with a token
 * before it on a line of its own, which must know no VM but the named one.
 */
#include "grants/edge.h"
#include "grants/token.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void edge(const char *text, size_t len)
{
	struct edge x = {0};
	struct edge again = {0};
	char *once, *twice;

	if (edge_parse(text, len, "demo", &x, NULL) < 0) {
		if (x.count)
			abort();
		return;
	}
	once = edge_print("demo", &x);
	if (edge_parse(once, strlen(once), "demo", &again, NULL) < 0)
		abort();
	twice = edge_print("demo", &again);
	if (strcmp(once, twice) != 0)
		abort();
	free(once);
	free(twice);
	edge_finish(&x);
	edge_finish(&again);
}

static void token(const char *text, size_t len)
{
	const char *line = memchr(text, '\n', len);
	char vm[LIMIT_NAME_LEN + 1];
	size_t token_len;

	if (!line)
		return;
	token_len = (size_t)(line - text);
	if (token_check(line + 1, len - token_len - 1, text, token_len, vm) &&
	    (token_len != strlen(vm) + 1 + TOKEN_SECRET_LEN ||
	     memcmp(text, vm, strlen(vm)) != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len == 0)
		return 0;
	if (data[0] & 1)
		token((const char *)data + 1, len - 1);
	else
		edge((const char *)data + 1, len - 1);
	return 0;
}
