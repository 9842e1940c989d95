/*
 * A request's head, one header a line in a fixed order, then an empty line and
 * its body: every question that is asked of such bytes. An empty line stands
 * for an absent header.
 */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "mcp/httphead.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HEADERS_COUNT 10

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct httphead_names names = {"10.0.0.2:8811", "box.ts.net",
					    "https://box.ts.net"};

/* Cuts the text into lines; those that are empty or missing are NULL. */
static char *split(char *text, char *lines[HEADERS_COUNT])
{
	for (int i = 0; i < HEADERS_COUNT; i++) {
		char *end = strchr(text, '\n');

		lines[i] = *text && *text != '\n' ? text : NULL;
		if (!end) {
			for (i++; i < HEADERS_COUNT; i++)
				lines[i] = NULL;
			return text + strlen(text);
		}
		*end = '\0';
		text = end + 1;
	}
	return text;
}

static void ask_names(const char *host, const char *origin)
{
	bool ours = httphead_host_is_ours(&names, host);

	if (ours && !host)
		abort();
	/* a page of a name that is not ours must not come through */
	if (origin && ours && httphead_origin_is_ours(&names, origin, host) &&
	    strcasestr(origin, "evil"))
		abort();
}

static void ask_values(char *const lines[])
{
	uint64_t stream, event;
	size_t token_len;
	const char *token = httphead_bearer(lines[2], &token_len);

	if (token && (token_len == 0 || token < lines[2] ||
		      token + token_len > lines[2] + strlen(lines[2])))
		abort();
	if (httphead_accept(lines[3]) == 0)
		abort();
	if (httphead_is_session_id(lines[4]) &&
	    strlen(lines[4]) != HTTPHEAD_ID_LEN)
		abort();
	(void)httphead_event_id(lines[5], &stream, &event);
	if (lines[6]) {
		autofree char *decoded = httphead_decode(lines[6]);

		if (decoded && strlen(decoded) > strlen(lines[6]))
			abort();
	}
}

static void ask_words(const char *word)
{
	struct httphead_address a;
	char *origin, *host;

	if (httphead_address(word, &a, NULL) == 0 && !strchr(a.text, ':'))
		abort();
	if (httphead_public_url(word, &origin, &host, NULL) == 0) {
		free(origin);
		free(host);
	}
}

static void check(char *const lines[], const char *body, size_t len)
{
	struct httphead_mcp h = {lines[7], lines[8], lines[9]};
	struct jsonrpc_fault f = {0};
	struct jsonrpc_msg m;

	if (jsonrpc_parse(body, len, &m, &f) != 0) {
		jsonrpc_fault_finish(&f);
		return;
	}
	(void)httphead_is_modern(&h, &m);
	if (m.method && httphead_check(&h, &m, &f) != 0 &&
	    f.code != JSONRPC_HEADER_MISMATCH)
		abort();
	jsonrpc_fault_finish(&f);
	jsonrpc_msg_finish(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	autofree char *text = alloc_strn((const char *)data, len);
	char *lines[HEADERS_COUNT];
	const char *body = split(text, lines);

	ask_names(lines[0], lines[1]);
	ask_values(lines);
	if (lines[0])
		ask_words(lines[0]);
	check(lines, body, strlen(body));
	return 0;
}
