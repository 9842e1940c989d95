#include "mcp/httphead.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "mcp/protocol.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* -- addresses ------------------------------------------------------------- */

bool httphead_is_loopback(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET) {
		const struct sockaddr_in *in =
			(const struct sockaddr_in *)(const void *)addr;

		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	}
	if (addr->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 =
			(const struct sockaddr_in6 *)(const void *)addr;

		return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) ||
		       (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr) &&
			in6->sin6_addr.s6_addr[12] == 127);
	}
	return false;
}

/* 0 to 65535 and nothing else, or -1. */
static int read_port(const char *text)
{
	int port = 0;

	if (!*text || strlen(text) > 5)
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -1;
		port = port * 10 + (*text - '0');
	}
	return port <= 65535 ? port : -1;
}

static bool set_address(const char *host, int port,
			struct httphead_address *ret)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6,
				   .sin6_port = htons((uint16_t)port)};
	char literal[INET6_ADDRSTRLEN];

	if (inet_pton(AF_INET, host, &in.sin_addr) == 1) {
		memcpy(&ret->addr, &in, sizeof(in));
		ret->len = sizeof(in);
		snprintf(ret->text, sizeof(ret->text), "%s:%d", host, port);
	} else if (inet_pton(AF_INET6, host, &in6.sin6_addr) == 1) {
		memcpy(&ret->addr, &in6, sizeof(in6));
		ret->len = sizeof(in6);
		if (!inet_ntop(AF_INET6, &in6.sin6_addr, literal,
			       sizeof(literal)))
			return false;
		snprintf(ret->text, sizeof(ret->text), "[%s]:%d", literal,
			 port);
	} else {
		return false;
	}
	ret->port = (uint16_t)port;
	ret->is_loopback =
		httphead_is_loopback((struct sockaddr *)(void *)&ret->addr);
	return true;
}

int httphead_address(const char *text, struct httphead_address *ret,
		     struct err *e)
{
	struct httphead_address found = {.len = 0};
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2] = "127.0.0.1";
	int port = read_port(colon ? colon + 1 : text);
	size_t len = colon ? (size_t)(colon - text) : 0;

	if (port >= 0 && len < sizeof(host)) {
		if (len > 0)
			snprintf(host, sizeof(host), "%.*s", (int)len, text);
		if (strcmp(host, "localhost") == 0)
			snprintf(host, sizeof(host), "127.0.0.1");
		if (len > 2 && host[0] == '[' && host[len - 1] == ']') {
			host[len - 1] = '\0';
			memmove(host, host + 1, len - 1);
		} else if (strchr(host, ':')) {
			port = -1; /* where would its port begin? */
		}
		if (port >= 0 && set_address(host, port, &found)) {
			*ret = found;
			return 0;
		}
	}
	return err_set(e, ERR_INVALID,
		       "\"%.80s\" is no address to listen on: PORT, "
		       "127.0.0.1:PORT or [::1]:PORT",
		       text);
}

/* A name or address with an optional port, as a URL and Host have it. */
static bool is_authority(const char *text)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789.-_:[]";
	size_t len = strlen(text);

	return len > 0 && len < 300 && text[0] != ':' &&
	       strspn(text, chars) == len;
}

int httphead_public_url(const char *url, char **ret_origin, char **ret_host,
			struct err *e)
{
	static const char *const schemes[] = {"https://", "http://"};

	for (size_t i = 0; i < ARRAY_COUNT(schemes); i++) {
		size_t len = strlen(schemes[i]);
		autofree char *host = NULL;
		size_t host_len;

		if (strncasecmp(url, schemes[i], len) != 0)
			continue;
		host_len = strcspn(url + len, "/");
		/* a path of its own would be the proxy's to take off */
		if (url[len + host_len] && url[len + host_len + 1])
			break;
		host = alloc_strn(url + len, host_len);
		if (!is_authority(host))
			break;
		*ret_origin = alloc_printf("%s%s", schemes[i], host);
		*ret_host = TAKE_PTR(host);
		return 0;
	}
	return err_set(e, ERR_INVALID,
		       "--public-url: \"%.80s\" is not of the form "
		       "https://HOST[:PORT]",
		       url);
}

/* -- Host and Origin ------------------------------------------------------- */

static bool is_loopback_name(const char *host)
{
	static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};

	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		size_t len = strlen(names[i]);

		if (strncasecmp(host, names[i], len) != 0)
			continue;
		if (!host[len] ||
		    (host[len] == ':' && read_port(host + len + 1) > 0))
			return true;
	}
	return false;
}

bool httphead_host_is_ours(const struct httphead_names *n, const char *host)
{
	return host && (is_loopback_name(host) ||
			strcasecmp(host, n->listening) == 0 ||
			(n->public_host &&
			 strcasecmp(host, n->public_host) == 0));
}

bool httphead_origin_is_ours(const struct httphead_names *n, const char *origin,
			     const char *host)
{
	static const char *const schemes[] = {"https://", "http://"};

	if (!origin)
		return true;
	if (n->public_origin && strcasecmp(origin, n->public_origin) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_COUNT(schemes); i++) {
		size_t len = strlen(schemes[i]);

		if (strncasecmp(origin, schemes[i], len) == 0)
			return host && strcasecmp(origin + len, host) == 0;
	}
	return false;
}

/* -- single headers -------------------------------------------------------- */

static const char *skip_space(const char *p)
{
	return p + strspn(p, " \t");
}

unsigned httphead_accept(const char *accept)
{
	static const struct {
		const char *type;
		unsigned is;
	} types[] = {
		{"application/json", HTTPHEAD_JSON},
		{"text/event-stream", HTTPHEAD_SSE},
		{"*/*", HTTPHEAD_JSON | HTTPHEAD_SSE},
		{"application/*", HTTPHEAD_JSON},
		{"text/*", HTTPHEAD_SSE},
	};
	unsigned takes = 0;

	if (!accept || !*skip_space(accept))
		return HTTPHEAD_JSON | HTTPHEAD_SSE;
	while (*accept) {
		size_t len;

		accept = skip_space(accept);
		len = strcspn(accept, " \t;,");
		for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
			if (strlen(types[i].type) == len &&
			    strncasecmp(accept, types[i].type, len) == 0)
				takes |= types[i].is;
		}
		accept += strcspn(accept, ",");
		accept += *accept == ',';
	}
	return takes ? takes : HTTPHEAD_JSON;
}

const char *httphead_bearer(const char *authorization, size_t *ret_len)
{
	const char *token;
	size_t len;

	if (!authorization || strncasecmp(authorization, "Bearer", 6) != 0 ||
	    (authorization[6] != ' ' && authorization[6] != '\t'))
		return NULL;
	token = skip_space(authorization + 6);
	len = strcspn(token, " \t");
	if (len == 0 || *skip_space(token + len))
		return NULL;
	*ret_len = len;
	return token;
}

bool httphead_is_session_id(const char *id)
{
	size_t len = id ? strlen(id) : 0;

	return len == HTTPHEAD_ID_LEN &&
	       strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789") == len;
}

/* Decimal digits up to stop; the rest, or NULL. */
static const char *read_number(const char *text, char stop, uint64_t *ret)
{
	uint64_t n = 0;
	int digits = 0;

	for (; *text >= '0' && *text <= '9'; text++) {
		if (++digits > 18)
			return NULL;
		n = n * 10 + (uint64_t)(*text - '0');
	}
	if (digits == 0 || *text != stop)
		return NULL;
	*ret = n;
	return text + (stop ? 1 : 0);
}

bool httphead_event_id(const char *id, uint64_t *ret_stream,
		       uint64_t *ret_event)
{
	uint64_t stream, event;
	const char *rest = id ? read_number(id, '-', &stream) : NULL;

	if (!rest || !read_number(rest, '\0', &event))
		return false;
	*ret_stream = stream;
	*ret_event = event;
	return true;
}

static int base64_value(char c)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "abcdefghijklmnopqrstuvwxyz"
				       "0123456789+/";
	const char *at = c ? strchr(alphabet, c) : NULL;

	return at ? (int)(at - alphabet) : -1;
}

/* Whole groups with their padding, no text with a NUL in it: else NULL. */
static char *base64_text(const char *text, size_t len)
{
	autofree char *out = alloc_array(len / 4 * 3 + 1, 1);
	size_t n = 0;

	if (len % 4 != 0)
		return NULL;
	for (size_t i = 0; i < len; i += 4) {
		size_t pad = 0;
		unsigned bits = 0;

		if (i + 4 == len && text[i + 3] == '=')
			pad = text[i + 2] == '=' ? 2 : 1;
		for (size_t k = 0; k < 4; k++) {
			int v = k >= 4 - pad ? 0 : base64_value(text[i + k]);

			if (v < 0)
				return NULL;
			bits = bits << 6 | (unsigned)v;
		}
		for (size_t k = 0; k < 3 - pad; k++)
			out[n++] = (char)(bits >> (16 - 8 * k) & 0xff);
	}
	return memchr(out, '\0', n) ? NULL : TAKE_PTR(out);
}

char *httphead_decode(const char *value)
{
	static const char begin[] = "=?base64?", end[] = "?=";
	const char *text = skip_space(value);
	size_t len = strlen(text);

	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
		len--;
	if (len < strlen(begin) + strlen(end) ||
	    strncmp(text, begin, strlen(begin)) != 0 ||
	    strncmp(text + len - strlen(end), end, strlen(end)) != 0)
		return alloc_strn(text, len);
	return base64_text(text + strlen(begin),
			   len - strlen(begin) - strlen(end));
}

/* -- the head against the body --------------------------------------------- */

bool httphead_is_modern(const struct httphead_mcp *h,
			const struct jsonrpc_msg *m)
{
	if (m->method && protocol_is_modern(m))
		return true;
	if (!h->version)
		return m->method && strcmp(m->method, "server/discover") == 0;
	/* initialize says its version itself, whatever the head says */
	if (m->method && strcmp(m->method, "initialize") == 0)
		return strcmp(h->version, PROTOCOL_MODERN_VERSION) == 0 &&
		       !json_object_get(m->params, "protocolVersion");
	return strcmp(h->version, PROTOCOL_MODERN_VERSION) == 0;
}

static int mismatch(struct jsonrpc_fault *f, const char *header,
		    const char *said, const char *is)
{
	f->refused = true;
	return jsonrpc_fault_set(
		f, JSONRPC_HEADER_MISMATCH,
		said ? "%s: the header is not what the body says (%.100s)"
		     : "%s: the header is missing (the body says %.100s)",
		header, is);
}

static int check_one(const char *header, const char *value, const char *body,
		     struct jsonrpc_fault *f)
{
	autofree char *said = value ? httphead_decode(value) : NULL;

	if (said && strcmp(said, body) == 0)
		return 0;
	return mismatch(f, header, value, body);
}

/* The member of the parameters that Mcp-Name repeats, or NULL. */
static const char *named(const struct jsonrpc_msg *m)
{
	static const char *const rows[][2] = {
		{"tools/call", "name"},
		{"resources/read", "uri"},
		{"prompts/get", "name"},
	};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		if (strcmp(rows[i][0], m->method) == 0)
			return json_string_value(
				json_object_get(m->params, rows[i][1]));
	}
	return NULL;
}

int httphead_check(const struct httphead_mcp *h, const struct jsonrpc_msg *m,
		   struct jsonrpc_fault *f)
{
	const json_t *meta = json_object_get(m->params, "_meta");
	const char *version =
		json_string_value(json_object_get(meta, PROTOCOL_META_VERSION));
	const char *name = named(m);

	/* a body that does not say its version has another fault than this */
	if (version &&
	    check_one("MCP-Protocol-Version", h->version, version, f) != 0)
		return -1;
	if (check_one("Mcp-Method", h->method, m->method, f) != 0)
		return -1;
	return name ? check_one("Mcp-Name", h->name, name, f) : 0;
}

int httphead_check_param(const char *header, const char *said,
			 const json_t *value, struct jsonrpc_fault *f)
{
	autofree char *text = NULL;

	if (!value || json_is_null(value))
		return said ? mismatch(f, header, said, "nothing") : 0;
	if (json_is_string(value))
		return check_one(header, said, json_string_value(value), f);
	text = json_print(value);
	return check_one(header, said, text, f);
}
