/*
 * A thread per connection, the library's own: it may block in our callbacks,
 * for the service or for a stream's next event. What it cannot see meanwhile,
 * watch.c does: a client that hung up, one that is too slow, the end.
 *
 * A request goes through handle() several times: with its head, with each
 * piece of its body, and when that is complete; a struct request carries it
 * over. Deadlines of a connection: LIMIT_HTTP_HEAD_MS until its first head,
 * LIMIT_HTTP_BODY_MS for a body, none while we work, LIMIT_HTTP_WRITE_MS for
 * an answer or the next piece of a stream, LIMIT_HTTP_IDLE_MS for the next
 * request.
 *
 * No connection is ever suspended (MHD_stop_daemon() aborts when one is).
 */
#include "mcp/http.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/path.h"
#include "base/secret.h"
#include "mcp/endpoint.h"
#include "mcp/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define STACK_LEN ((size_t)512 * 1024)
#define STREAM_BLOCK_LEN ((size_t)16 * 1024)
#define PEM_LEN ((size_t)256 * 1024)
/* connections over the limit that are told so; more are just closed */
#define TOLD_COUNT 32
/* two fds a connection, and what else is open */
#define FILES_COUNT ((rlim_t)3 * LIMIT_HTTP_CONNECTIONS_COUNT)
/* for calls to end when the server does; jobs go on in the service */
#define STOP_MS 2000
#define STOP_STREAMS_MS 500

struct http {
	struct endpoint *endpoint;
	struct watch *watch;
	struct MHD_Daemon *daemon;
	atomic_uint connections_count;
};

struct conn {
	struct http *http;
	struct watched *watched;
	struct httpsession *own;
	bool from_loopback;
};

struct request {
	struct conn *conn;
	struct endpoint_request r;
	bool is_judged; /* by its head alone: early is the answer */
	struct endpoint_answer early;
	struct buf body;
	size_t body_len; /* also what was dropped */
};

/* -- answers --------------------------------------------------------------- */

struct stream_response {
	struct exchange_stream *stream;
	struct watched *watched;
};

static ssize_t read_stream(void *cls, uint64_t pos, char *buf, size_t max)
{
	struct stream_response *s = cls;
	ssize_t n;

	(void)pos;
	watch_deadline(s->watched, 0);
	n = exchange_stream_read(s->stream, buf, max);
	watch_deadline(s->watched, LIMIT_HTTP_WRITE_MS);
	return n > 0 ? n : MHD_CONTENT_READER_END_OF_STREAM;
}

static void free_stream(void *cls)
{
	struct stream_response *s = cls;

	exchange_stream_free(s->stream);
	free(s);
}

static struct MHD_Response *make_response(struct conn *c,
					  struct endpoint_answer *a)
{
	size_t len = a->text ? a->len : 0;
	struct stream_response *s;

	if (!a->stream)
		return MHD_create_response_from_buffer(
			len, TAKE_PTR(a->text), MHD_RESPMEM_MUST_FREE);
	s = ALLOC_NEW(struct stream_response);
	s->stream = TAKE_PTR(a->stream);
	s->watched = c->watched;
	return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN,
						 STREAM_BLOCK_LEN, read_stream,
						 s, free_stream);
}

static void add_headers(struct MHD_Response *r, const struct endpoint_answer *a,
			bool is_stream, bool has_text)
{
	struct {
		const char *name, *value;
	} rows[] = {
		{"Content-Type", is_stream || a->is_event ? "text/event-stream"
				 : has_text		  ? "application/json"
							  : NULL},
		{"Cache-Control", is_stream ? "no-cache, no-transform"
				  : has_text ? "no-store"
					     : NULL},
		/* nginx and what is like it would collect a stream */
		{"X-Accel-Buffering", is_stream ? "no" : NULL},
		{"X-Content-Type-Options", has_text ? "nosniff" : NULL},
		{"Mcp-Session-Id", *a->session_id ? a->session_id : NULL},
		{"Allow", a->allow},
		{"WWW-Authenticate", a->authenticate},
		{"Retry-After", a->retry_later ? "1" : NULL},
		{"Connection", a->close ? "close" : NULL},
	};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		if (rows[i].value)
			(void)MHD_add_response_header(r, rows[i].name,
						      rows[i].value);
	}
}

static enum MHD_Result give(struct MHD_Connection *mhd, struct conn *c,
			    struct endpoint_answer *a)
{
	unsigned status = (unsigned)a->status;
	bool has_text = a->text != NULL, is_stream = a->stream != NULL;
	struct MHD_Response *r = make_response(c, a);
	enum MHD_Result rc;

	if (!r)
		alloc_fail("an HTTP answer");
	add_headers(r, a, is_stream, has_text);
	watch_deadline(c->watched, LIMIT_HTTP_WRITE_MS);
	rc = MHD_queue_response(mhd, status, r);
	MHD_destroy_response(r);
	return rc;
}

/* -- requests -------------------------------------------------------------- */

static enum MHD_Result take_header(void *cls, enum MHD_ValueKind kind,
				   const char *name, const char *value)
{
	struct endpoint_headers *h = cls;
	struct {
		const char *name;
		const char **to;
	} rows[] = {
		{"Host", &h->host},
		{"Origin", &h->origin},
		{"Authorization", &h->authorization},
		{"Accept", &h->accept},
		{"Content-Type", &h->content_type},
		{"Content-Length", &h->content_length},
		{"Transfer-Encoding", &h->transfer_encoding},
		{"Mcp-Session-Id", &h->session_id},
		{"Last-Event-ID", &h->last_event_id},
		{"Tailscale-User-Login", &h->user},
		{"MCP-Protocol-Version", &h->mcp.version},
		{"Mcp-Method", &h->mcp.method},
		{"Mcp-Name", &h->mcp.name},
	};

	(void)kind;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		if (strcasecmp(rows[i].name, name) != 0)
			continue;
		h->repeated |= *rows[i].to != NULL;
		*rows[i].to = value ? value : "";
		break;
	}
	return MHD_YES;
}

static const char *find_header(void *ctx, const char *name)
{
	return MHD_lookup_connection_value(ctx, MHD_HEADER_KIND, name);
}

/*
 * The library closes a connection whose request was answered before its end.
 * So an answer waits for that, but for one that says to close.
 */
static enum MHD_Result on_head(struct MHD_Connection *mhd, struct conn *c,
			       const char *path, const char *method,
			       void **con_cls)
{
	struct request *q = ALLOC_NEW(struct request);

	*con_cls = q;
	q->conn = c;
	q->r.method = method;
	q->r.path = path;
	q->r.from_loopback = c->from_loopback;
	q->r.watched = c->watched;
	q->r.own = &c->own;
	q->r.header = find_header;
	q->r.ctx = mhd;
	buf_init(&q->body, LIMIT_MCP_MESSAGE_LEN);
	MHD_get_connection_values(mhd, MHD_HEADER_KIND, take_header, &q->r.h);
	if (atomic_load(&c->http->connections_count) >
	    LIMIT_HTTP_CONNECTIONS_COUNT) {
		endpoint_too_many(&q->early);
		return give(mhd, c, &q->early);
	}
	q->is_judged = endpoint_head(c->http->endpoint, &q->r, &q->early);
	if (q->is_judged && q->early.close)
		return give(mhd, c, &q->early);
	watch_deadline(c->watched, LIMIT_HTTP_BODY_MS);
	return MHD_YES;
}

static enum MHD_Result on_piece(struct request *q, const char *data,
				size_t *len)
{
	struct err e = {0};

	q->body_len += *len;
	if (q->body_len > LIMIT_HTTP_DRAIN_LEN)
		return MHD_NO;
	if (q->is_judged)
		;
	else if (q->body_len > q->body.cap)
		buf_finish(&q->body);
	else if (buf_add(&q->body, data, *len, &e) != 0)
		return MHD_NO;
	*len = 0;
	return MHD_YES;
}

static enum MHD_Result on_whole(struct MHD_Connection *mhd, struct request *q)
{
	struct endpoint_answer a = {0};

	if (q->is_judged)
		return give(mhd, q->conn, &q->early);
	watch_deadline(q->conn->watched, 0);
	if (q->body_len > LIMIT_MCP_MESSAGE_LEN)
		endpoint_too_long(&a);
	else
		endpoint_body(q->conn->http->endpoint, &q->r, q->body.data,
			      q->body.len, &a);
	/* a stream may last: what was asked is no longer needed */
	buf_finish(&q->body);
	return give(mhd, q->conn, &a);
}

/* the library's signature: NOLINTNEXTLINE(readability-function-size) */
static enum MHD_Result handle(void *cls, struct MHD_Connection *mhd,
			      const char *path, const char *method,
			      const char *version, const char *data,
			      size_t *len, void **con_cls)
{
	const union MHD_ConnectionInfo *info;

	(void)cls;
	(void)version;
	if (!*con_cls) {
		info = MHD_get_connection_info(
			mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
		return on_head(mhd, info->socket_context, path, method,
			       con_cls);
	}
	return *len > 0 ? on_piece(*con_cls, data, len)
			: on_whole(mhd, *con_cls);
}

static void on_completed(void *cls, struct MHD_Connection *mhd, void **con_cls,
			 enum MHD_RequestTerminationCode why)
{
	struct request *q = *con_cls;

	(void)cls;
	(void)mhd;
	(void)why;
	if (!q)
		return;
	*con_cls = NULL;
	watch_deadline(q->conn->watched, LIMIT_HTTP_IDLE_MS);
	/* one that its client did not wait for */
	if (q->early.stream)
		exchange_stream_free(q->early.stream);
	free(q->early.text);
	endpoint_request_finish(&q->r);
	buf_finish(&q->body);
	free(q);
}

/* -- connections ----------------------------------------------------------- */

static struct conn *conn_new(struct http *h, struct MHD_Connection *mhd)
{
	static const unsigned gone_ms = LIMIT_HTTP_WRITE_MS;
	struct conn *c = ALLOC_NEW(struct conn);
	const union MHD_ConnectionInfo *fd =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	const union MHD_ConnectionInfo *peer = MHD_get_connection_info(
		mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	/* a peer that is gone without a word, while we show life to it */
	(void)setsockopt(fd->connect_fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
			 &gone_ms, sizeof(gone_ms));
	c->http = h;
	c->from_loopback = peer && httphead_is_loopback(peer->client_addr);
	c->watched = watch_add(h->watch, fd->connect_fd);
	watch_deadline(c->watched, LIMIT_HTTP_HEAD_MS);
	atomic_fetch_add(&h->connections_count, 1);
	return c;
}

static void on_connection(void *cls, struct MHD_Connection *mhd,
			  void **socket_context,
			  enum MHD_ConnectionNotificationCode what)
{
	struct http *h = cls;
	struct conn *c = *socket_context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*socket_context = conn_new(h, mhd);
		return;
	}
	watch_remove(h->watch, c->watched);
	httpsession_unref(c->own);
	atomic_fetch_sub(&h->connections_count, 1);
	free(c);
	*socket_context = NULL;
}

/* -- the server ------------------------------------------------------------ */

static void on_tick(void *ctx)
{
	const struct http *h = ctx;

	endpoint_tick(h->endpoint);
}

__attribute__((format(printf, 2, 0))) static void
on_log(void *cls, const char *fmt, va_list ap)
{
	char text[256];

	(void)cls;
	/* the library's own words, and what clients sent */
	if (vsnprintf(text, sizeof(text), fmt, ap) > 0)
		log_debug("libmicrohttpd: %s", text);
}

int http_listen(struct httphead_address *a, struct err *e)
{
	autoclose int fd = socket(a->addr.ss_family,
				  SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				  0);
	struct sockaddr *addr = (struct sockaddr *)(void *)&a->addr;
	const int on = 1;
	uint16_t port;
	char *colon = strrchr(a->text, ':');

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0)
		return err_sys(e, "making a socket");
	if (a->addr.ss_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) != 0)
		return err_sys(e, "IPV6_V6ONLY");
	if (bind(fd, addr, a->len) != 0 || listen(fd, SOMAXCONN) != 0 ||
	    getsockname(fd, addr, &a->len) != 0)
		return err_sys(e, "listening on %s", a->text);
	/* the port stands in the same place for both families */
	port = ntohs(((struct sockaddr_in *)(void *)&a->addr)->sin_port);
	a->port = port;
	snprintf(colon, sizeof(a->text) - (size_t)(colon - a->text), ":%u",
		 port);
	return TAKE_FD(fd);
}

/* As many files as connections take; fewer only means fewer of them. */
static void raise_file_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur >= FILES_COUNT)
		return;
	r.rlim_cur = r.rlim_max < FILES_COUNT ? r.rlim_max : FILES_COUNT;
	(void)setrlimit(RLIMIT_NOFILE, &r);
}

/* A private key that others can read is none. */
static int read_pem(const char *path, bool is_private, char **ret,
		    size_t *ret_len, struct err *e)
{
	struct stat st;

	if (is_private && stat(path, &st) == 0 && (st.st_mode & 077) != 0)
		return err_set(e, ERR_DENIED,
			       "--tls-key: others may read %s: chmod 600 it",
			       path);
	return path_read_file(path, PEM_LEN, ret, ret_len, e);
}

/* GnuTLS's own choice still has TLS 1.0 in it */
static const char priorities[] =
	"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

static int start_daemon(struct http *h, const struct http_opts *o,
			const char *cert, const char *key, struct err *e)
{
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD |
			 MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL |
			 MHD_USE_ERROR_LOG | (o->is_v6 ? MHD_USE_IPv6 : 0) |
			 (cert ? MHD_USE_TLS : 0);
	struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)cert},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)key},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)priorities},
		{MHD_OPTION_END, 0, NULL}};

	if (!cert)
		tls[0].option = MHD_OPTION_END;
	h->daemon = MHD_start_daemon(
		flags, 0, NULL, NULL, handle, h, MHD_OPTION_EXTERNAL_LOGGER,
		on_log, NULL, MHD_OPTION_LISTEN_SOCKET, o->listen_fd,
		MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)(LIMIT_HTTP_CONNECTIONS_COUNT + TOLD_COUNT),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		2 * LIMIT_HTTP_HEAD_LEN, MHD_OPTION_THREAD_STACK_SIZE,
		STACK_LEN, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, tls,
		MHD_OPTION_END);
	if (!h->daemon)
		return err_set(e, ERR_SYSTEM,
			       cert ? "cannot serve: are --tls-cert and "
				      "--tls-key a PEM certificate and its key?"
				    : "cannot start the HTTP server");
	return 0;
}

static int start(struct http *h, const struct http_opts *o, struct err *e)
{
	autofree char *cert = NULL, *key = NULL;
	size_t cert_len = 0, key_len = 0;
	int rc;

	if (o->tls_cert &&
	    MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
		return err_set(e, ERR_INVALID,
			       "--tls-cert: this libmicrohttpd has no TLS; use "
			       "a proxy on this computer, such as tailscale "
			       "serve");
	if (o->tls_cert &&
	    (read_pem(o->tls_cert, false, &cert, &cert_len, e) != 0 ||
	     read_pem(o->tls_key, true, &key, &key_len, e) != 0))
		return -1;
	rc = start_daemon(h, o, cert, key, e);
	if (key)
		secret_wipe(key, key_len);
	return rc;
}

/* Until the signal to stop. */
static void wait_for_stop(int stop_fd)
{
	struct pollfd p = {.fd = stop_fd, .events = POLLIN};

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
}

/* False: calls are left running, and use all of this. */
static bool stop(struct http *h)
{
	struct deadline d = deadline_in_ms(STOP_MS);

	MHD_socket fd = MHD_quiesce_daemon(h->daemon);

	if (fd != MHD_INVALID_SOCKET)
		close(fd);
	endpoint_stop(h->endpoint);
	while (endpoint_busy(h->endpoint) > 0) {
		if (deadline_passed(d))
			return false;
		deadline_sleep_ms(10);
	}
	/* who reads is told that it ends; who does not, is not waited for */
	d = deadline_in_ms(STOP_STREAMS_MS);
	while (endpoint_streams(h->endpoint) > 0 && !deadline_passed(d))
		deadline_sleep_ms(10);
	MHD_stop_daemon(h->daemon);
	return true;
}

int http_start(const struct http_opts *o, struct http **ret, struct err *e)
{
	struct endpoint_opts eo = {
		.auth = o->auth,
		.names = o->names,
		.allow_users = o->allow_users,
		.session_idle_ms = o->session_idle_ms,
	};
	struct http *h = ALLOC_NEW(struct http);

	raise_file_limit();
	/* a heap per thread would never shrink again; there is one yet */
	mallopt(M_ARENA_MAX, 2); /* NOLINT(concurrency-mt-unsafe) */
	if (watch_new(on_tick, h, &h->watch, e) != 0) {
		close(o->listen_fd);
		free(h);
		return -1;
	}
	eo.watch = h->watch;
	h->endpoint = endpoint_new(&eo);
	if (start(h, o, e) == 0) {
		*ret = h;
		return 0;
	}
	watch_free(h->watch);
	endpoint_free(h->endpoint);
	close(o->listen_fd);
	free(h);
	return -1;
}

bool http_run(struct http *h, int stop_fd)
{
	wait_for_stop(stop_fd);
	if (!stop(h))
		return false;
	watch_free(h->watch);
	endpoint_free(h->endpoint);
	free(h);
	return true;
}
