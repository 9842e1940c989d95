/* Heads of HTTP requests: what they mean, and what they must not get away
 * with. */
#include "mcp/httphead.h"

#include "tests/support/unit.h"

#include "base/alloc.h"

#include <netinet/in.h>
#include <string.h>

static void addresses(void **state)
{
	static const struct {
		const char *in, *out; /* out NULL: refused */
		bool is_loopback;
	} rows[] = {
		{"8811", "127.0.0.1:8811", true},
		{"0", "127.0.0.1:0", true},
		{":8811", "127.0.0.1:8811", true},
		{"127.0.0.1:80", "127.0.0.1:80", true},
		{"127.1.2.3:80", "127.1.2.3:80", true},
		{"localhost:80", "127.0.0.1:80", true},
		{"[::1]:80", "[::1]:80", true},
		{"[0:0::1]:80", "[::1]:80", true},
		{"0.0.0.0:80", "0.0.0.0:80", false},
		{"[::]:80", "[::]:80", false},
		{"[::ffff:127.0.0.1]:80", "[::ffff:127.0.0.1]:80", true},
		{"10.0.0.1:65535", "10.0.0.1:65535", false},
		{"", NULL, false},
		{":", NULL, false},
		{"65536", NULL, false},
		{"-1", NULL, false},
		{"80 ", NULL, false},
		{"0x50", NULL, false},
		{"127.0.0.1:", NULL, false},
		{"127.0.0.1", NULL, false},
		{"::1:80", NULL, false},
		{"[::1]80", NULL, false},
		{"[::1:80", NULL, false},
		{"[]:80", NULL, false},
		{"example.com:80", NULL, false},
		{"127.1:80", NULL, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		struct httphead_address a = {0};
		struct err e = {0};
		int rc = httphead_address(rows[i].in, &a, &e);

		if (!rows[i].out) {
			if (rc == 0)
				fail_msg("%s: taken as %s", rows[i].in, a.text);
			continue;
		}
		assert_ok(rc, &e);
		assert_string_equal(a.text, rows[i].out);
		assert_int_equal(a.is_loopback, rows[i].is_loopback);
	}
}

static void public_urls(void **state)
{
	static const struct {
		const char *in, *origin, *host;
	} rows[] = {
		{"https://a.b", "https://a.b", "a.b"},
		{"HTTPS://a.b/", "https://a.b", "a.b"},
		{"http://a:81", "http://a:81", "a:81"},
		{"https://a/b", NULL, NULL},
		{"https://", NULL, NULL},
		{"https:///", NULL, NULL},
		{"https://:80", NULL, NULL},
		{"https://a@b", NULL, NULL},
		{"https://a b", NULL, NULL},
		{"https://a?x", NULL, NULL},
		{"ftp://a", NULL, NULL},
		{"a.b", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		autofree char *origin = NULL, *host = NULL;
		struct err e = {0};
		int rc = httphead_public_url(rows[i].in, &origin, &host, &e);

		if (!rows[i].origin) {
			if (rc == 0)
				fail_msg("%s: taken", rows[i].in);
			continue;
		}
		assert_ok(rc, &e);
		assert_string_equal(origin, rows[i].origin);
		assert_string_equal(host, rows[i].host);
	}
}

static void hosts_and_origins(void **state)
{
	static const struct httphead_names names = {
		.listening = "10.0.0.2:8811",
		.public_host = "box.ts.net",
		.public_origin = "https://box.ts.net",
	};
	static const struct httphead_names bare = {.listening =
							   "127.0.0.1:8811"};
	static const struct {
		const char *host, *origin;
		bool host_ok, origin_ok;
	} rows[] = {
		{"localhost:8811", NULL, true, true},
		{"localhost", "http://localhost", true, true},
		{"[::1]:1", "http://[::1]:1", true, true},
		{"LocalHost:5", "HTTP://localHOST:5", true, true},
		{"10.0.0.2:8811", "https://10.0.0.2:8811", true, true},
		{"10.0.0.2", NULL, false, true},
		{"box.ts.net", "https://box.ts.net", true, true},
		{"localhost:8811", "https://box.ts.net", true, true},
		{"localhost:8811", "http://box.ts.net", true, false},
		{"localhost:8811", "http://localhost:8812", true, false},
		{"localhost:8811", "http://127.0.0.1:8811", true, false},
		{"localhost:8811", "null", true, false},
		{"localhost:8811", "", true, false},
		{"localhost:8811", "localhost:8811", true, false},
		{"localhost:", NULL, false, true},
		{"localhost:0", NULL, false, true},
		{"localhost:65536", NULL, false, true},
		{"localhost.", NULL, false, true},
		{"localhostx", NULL, false, true},
		{"evil.com", "http://evil.com", false, true},
		{"127.0.0.1:8811@evil.com", NULL, false, true},
		{"", NULL, false, true},
		{NULL, NULL, false, true},
		{NULL, "http://evil.com", false, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		if (httphead_host_is_ours(&names, rows[i].host) !=
		    rows[i].host_ok)
			fail_msg("row %zu: Host %s", i, rows[i].host);
		if (httphead_origin_is_ours(&names, rows[i].origin,
					    rows[i].host) != rows[i].origin_ok)
			fail_msg("row %zu: Origin %s", i, rows[i].origin);
	}
	assert_false(httphead_host_is_ours(&bare, "box.ts.net"));
	assert_false(httphead_origin_is_ours(&bare, "https://box.ts.net",
					     "localhost"));
}

static void accepted_types(void **state)
{
	enum { J = HTTPHEAD_JSON, S = HTTPHEAD_SSE };
	static const struct {
		const char *in;
		unsigned out;
	} rows[] = {
		{NULL, J | S},
		{"", J | S},
		{"  ", J | S},
		{"*/*", J | S},
		{"application/json", J},
		{"text/event-stream", S},
		{"application/json, text/event-stream", J | S},
		{"text/event-stream;q=0.9,Application/JSON", J | S},
		{"text/html", J},
		{",,,", J},
		{"application/*;x", J},
		{"text/*", S},
		{"application/jsonx, text/event-streamx", J},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		if (httphead_accept(rows[i].in) != rows[i].out)
			fail_msg("%s", rows[i].in);
	}
}

static void bearers(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"Bearer abc", "abc"}, {"bearer \t abc  ", "abc"},
		{"BEARER a.b", "a.b"}, {"Bearer", NULL},
		{"Bearer ", NULL},     {"Bearer a b", NULL},
		{"Bearera", NULL},     {"Basic abc", NULL},
		{"", NULL},	       {NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		size_t len = 0;
		const char *got = httphead_bearer(rows[i].in, &len);

		if (!rows[i].out) {
			assert_null(got);
			continue;
		}
		assert_non_null(got);
		assert_int_equal(len, strlen(rows[i].out));
		assert_memory_equal(got, rows[i].out, len);
	}
}

static void ids(void **state)
{
	static const char *const bad[] = {"", "x", "1-", "-1", "1-1-1", "1 -1",
					  "+1-1", "1-1 ", "0x1-1",
					  "1234567890123456789-1"};
	uint64_t stream, event;

	(void)state;
	assert_true(httphead_event_id("12-345", &stream, &event));
	assert_int_equal(stream, 12);
	assert_int_equal(event, 345);
	for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
		if (httphead_event_id(bad[i], &stream, &event))
			fail_msg("%s", bad[i]);
	}
	assert_false(httphead_event_id(NULL, &stream, &event));
	assert_true(httphead_is_session_id("abcdefghijklmnopqrstuvwxyz012345"));
	assert_false(httphead_is_session_id("abcdefghijklmnopqrstuvwxyz01234"));
	assert_false(
		httphead_is_session_id("Abcdefghijklmnopqrstuvwxyz012345"));
	assert_false(httphead_is_session_id(NULL));
}

static void encoded_values(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"plain", "plain"},
		{"  plain\t", "plain"},
		{"", ""},
		{"=?base64?SGVsbG8=?=", "Hello"},
		{" =?base64?SGVsbG8=?= ", "Hello"},
		{"=?base64?xbzDs8WCxIc=?=", "\xc5\xbc\xc3\xb3\xc5\x82\xc4\x87"},
		{"=?base64?" "?=", ""},
		{"=?base64?SGVsbG8=", "=?base64?SGVsbG8="},
		{"SGVsbG8=", "SGVsbG8="},
		{"=?base64?=", "=?base64?="},
		{"=?base64?SGVsbG8?=", NULL},
		{"=?base64?SGVs!!!bG8=?=", NULL},
		{"=?base64?SG=sbG8=?=", NULL},
		{"=?base64?====?=", NULL},
		{"=?base64?AAAA?=", NULL}, /* NULs */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		autofree char *got = httphead_decode(rows[i].in);

		if (!rows[i].out && got)
			fail_msg("%s: taken as %s", rows[i].in, got);
		if (rows[i].out)
			assert_string_equal(got, rows[i].out);
	}
}

#define V "io.modelcontextprotocol/protocolVersion"
#define MODERN "\"_meta\":{\"" V "\":\"2026-07-28\"}"

static void heads_against_bodies(void **state)
{
	static const struct {
		struct httphead_mcp h;
		const char *method, *params;
		bool modern;
		int code; /* 0: good */
	} rows[] = {
		{{NULL, NULL, NULL}, "ping", "{}", false, 0},
		{{"2025-11-25", NULL, NULL}, "ping", "{}", false, 0},
		{{NULL, NULL, NULL}, "server/discover", "{}", true, -32020},
		{{"2026-07-28", "tools/list", NULL}, "tools/list", "{}", true,
		 0},
		{{"2026-07-28", "tools/list", NULL}, "tools/list",
		 "{" MODERN "}", true, 0},
		{{NULL, "tools/list", NULL}, "tools/list", "{" MODERN "}", true,
		 -32020},
		{{"2025-11-25", "tools/list", NULL}, "tools/list",
		 "{" MODERN "}", true, -32020},
		{{"2026-07-28", NULL, NULL}, "tools/list", "{" MODERN "}", true,
		 -32020},
		{{"2026-07-28", "tools/call", "a"}, "tools/call",
		 "{\"name\":\"a\"," MODERN "}", true, 0},
		{{"2026-07-28", "tools/call", NULL}, "tools/call",
		 "{\"name\":\"a\"," MODERN "}", true, -32020},
		{{"2026-07-28", "tools/call", "A"}, "tools/call",
		 "{\"name\":\"a\"," MODERN "}", true, -32020},
		{{"2026-07-28", "tools/call", NULL}, "tools/call",
		 "{" MODERN "}", true, 0},
		{{"2026-07-28", "resources/read", "u:x"}, "resources/read",
		 "{\"uri\":\"u:x\"," MODERN "}", true, 0},
		{{"2026-07-28", "prompts/get", "p"}, "prompts/get",
		 "{\"name\":\"q\"," MODERN "}", true, -32020},
		{{"2025-11-25", NULL, NULL}, "initialize",
		 "{\"protocolVersion\":\"2025-11-25\"}", false, 0},
		{{"2026-07-28", NULL, NULL}, "initialize",
		 "{\"protocolVersion\":\"2026-07-28\"}", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		autofree char *text = alloc_printf(
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\","
			"\"params\":%s}",
			rows[i].method, rows[i].params);
		struct jsonrpc_fault f = {0};
		struct jsonrpc_msg m;

		assert_int_equal(jsonrpc_parse(text, strlen(text), &m, &f), 0);
		if (httphead_is_modern(&rows[i].h, &m) != rows[i].modern)
			fail_msg("row %zu: era", i);
		if (rows[i].modern)
			assert_int_equal(httphead_check(&rows[i].h, &m, &f),
					 rows[i].code ? -1 : 0);
		assert_int_equal(f.code, rows[i].code);
		jsonrpc_fault_finish(&f);
		jsonrpc_msg_finish(&m);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(addresses),	   cmocka_unit_test(public_urls),
	cmocka_unit_test(hosts_and_origins), cmocka_unit_test(accepted_types),
	cmocka_unit_test(bearers),	   cmocka_unit_test(ids),
	cmocka_unit_test(encoded_values), cmocka_unit_test(heads_against_bodies),
};
UNIT_MAIN(tests)
