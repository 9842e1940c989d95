/*
 * httphead.h - what the head of an HTTP request means to MCP: pure
 *
 * Shapes:  header values are NUL-terminated text as the HTTP library gives
 *          it; NULL is an absent header. Host and Origin are compared with the
 *          names a server has, and never looked up: a web page that had its
 *          own name point to 127.0.0.1 (DNS rebinding) still says that name.
 * Units:   ports as numbers.
 * Errors:  ERR_INVALID for the words of a command line, in words for stderr;
 *          jsonrpc faults for a request.
 * Threads: no state.
 * Source:  RFC 9110 §7.2 (Host), §11.4 (Authorization); RFC 6454 (Origin);
 *          MCP 2025-11-25 and 2026-07-28, "Streamable HTTP".
 */
#ifndef MCP_HTTPHEAD_H
#define MCP_HTTPHEAD_H

#include "base/err.h"
#include "mcp/jsonrpc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define HTTPHEAD_ID_LEN 32

/* -- the command line ------------------------------------------------------ */

struct httphead_address {
	struct sockaddr_storage addr;
	socklen_t len;
	uint16_t port;
	bool is_loopback;
	char text[64]; /* "127.0.0.1:8811", "[::1]:8811" */
};

/* "8811", "127.0.0.1:8811", "localhost:8811", "[::1]:8811"; port 0 is any. */
int httphead_address(const char *text, struct httphead_address *ret,
		     struct err *e) __attribute__((warn_unused_result));
/* "https://host[:port]" with at most a slash after it. Both are free()d. */
int httphead_public_url(const char *url, char **ret_origin, char **ret_host,
			struct err *e) __attribute__((warn_unused_result));
bool httphead_is_loopback(const struct sockaddr *addr);

/* -- who is asked, and from what page ------------------------------------- */

struct httphead_names {
	const char *listening;	   /* an address literal, "10.0.0.2:8811" */
	const char *public_host;   /* or NULL */
	const char *public_origin; /* or NULL */
};

/* localhost and the loopback literals, at any port (a tunnel's may differ);
 * the address listened on; the public host. */
bool httphead_host_is_ours(const struct httphead_names *n, const char *host);
/* No Origin: no web page. Else it is the host that was asked, or the public
 * origin. */
bool httphead_origin_is_ours(const struct httphead_names *n, const char *origin,
			     const char *host);

/* -- one header each ------------------------------------------------------- */

enum httphead_accept { HTTPHEAD_JSON = 1, HTTPHEAD_SSE = 2 };
/* What the asker takes. Nothing said is anything, and nothing of ours is JSON
 * all the same: it can read it or not. */
unsigned httphead_accept(const char *accept);
/* The token of "Bearer TOKEN", or NULL. Points into the value. */
const char *httphead_bearer(const char *authorization, size_t *ret_len);
/* Could it be one that we gave? */
bool httphead_is_session_id(const char *id);
/* "STREAM-EVENT" of an event id of ours. */
bool httphead_event_id(const char *id, uint64_t *ret_stream,
		       uint64_t *ret_event);
/* A value with "=?base64?…?=" undone, free(); NULL when that is broken. */
char *httphead_decode(const char *value);

/* -- the head against the body -------------------------------------------- */

struct httphead_mcp {
	const char *version; /* MCP-Protocol-Version */
	const char *method;  /* Mcp-Method */
	const char *name;    /* Mcp-Name */
};

/* Does the head or the body say that this is of the modern era? */
bool httphead_is_modern(const struct httphead_mcp *h,
			const struct jsonrpc_msg *m);
/* A modern message's head must say what its body says. */
int httphead_check(const struct httphead_mcp *h, const struct jsonrpc_msg *m,
		   struct jsonrpc_fault *f) __attribute__((warn_unused_result));
/* The same for one parameter of a tool: value is what the body has, NULL when
 * it has none, and said the header's value. */
int httphead_check_param(const char *header, const char *said,
			 const json_t *value, struct jsonrpc_fault *f)
	__attribute__((warn_unused_result));

#endif
