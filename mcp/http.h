/*
 * http.h - MCP over HTTP: the server around the endpoint
 *
 * Shapes:  opaque. It listens on the socket that http_listen() made, which is
 *          separate so that whoever starts it knows the port, and is refused,
 *          before anything else is done.
 * Errors:  ERR_INVALID and ERR_DENIED for what it was asked to do,
 *          err_sys() for what the system does not let it.
 * Threads: one for each connection; the caller's waits.
 * Source:  libmicrohttpd 0.9.75 (the only file that uses it); RFC 9112.
 */
#ifndef MCP_HTTP_H
#define MCP_HTTP_H

#include "mcp/auth.h"
#include "mcp/httphead.h"

#include <stdbool.h>

struct http_opts {
	int listen_fd; /* taken over */
	bool is_v6;
	struct auth *auth;
	struct httphead_names names;
	const char *const *allow_users;
	const char *tls_cert, *tls_key; /* PEM files; NULL: no TLS */
	int64_t session_idle_ms;
};

struct http;

/* A bound and listening socket; a->port and a->text are filled in when any
 * port would do. */
int http_listen(struct httphead_address *a, struct err *e)
	__attribute__((warn_unused_result));
/* *ret_idle: all of it could be taken down. */
/* Serves once this has returned. What o points to must outlive it. */
int http_start(const struct http_opts *o, struct http **ret, struct err *e)
	__attribute__((warn_unused_result));
/* Waits until stop_fd is readable, and ends it. False: a call is left running
 * that uses all of it, and nothing was freed. */
bool http_run(struct http *h, int stop_fd);

#endif
