/* Connecting: reaching or starting the service, and the hellos. */
#include "ops/client_impl.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/version.h"
#include "ops/client_start.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

struct client_io client_io_none(struct deadline d)
{
	return (struct client_io){.in_fd = -1,
				  .out_fd = -1,
				  .err_fd = -1,
				  .cancel_fd = -1,
				  .deadline = d};
}

void client_free(struct client *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		close(c->fd);
	buf_finish(&c->in);
	buf_finish(&c->out);
	free(c->service_version);
	free(c);
}

const char *client_service_version(const struct client *c)
{
	return c->service_version;
}

bool client_is_alive(const struct client *c)
{
	char byte;
	ssize_t n = recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	/* 0: it has closed its end; errno is then an older one's */
	return !c->dead && (n > 0 || (n < 0 && errno == EAGAIN));
}

int client_take_error(const struct rpc_frame *f, struct err *e)
{
	auto_json json_t *body = rpc_payload_json(f, e);
	const char *code, *message;

	if (!body || json_get_str(body, "code", &code, e) != 0 ||
	    json_get_str(body, "message", &message, e) != 0)
		return -1;
	return err_set(e, err_code_parse(code), "%s", message);
}

static int send_hello(struct client *c, const struct client_opts *o,
		      struct deadline d, struct err *e)
{
	auto_json json_t *hello = json_pack(
		"{s:i, s:s, s:b, s:s}", "version", RPC_VERSION, "client",
		o->name, "agent", (int)o->agent, "program", version_string());
	struct buf frame;
	int rc;

	if (o->vms) {
		json_t *vms = json_array();

		for (const char *const *v = o->vms; *v; v++)
			json_array_append_new(vms, json_string(*v));
		json_object_set_new(hello, "vms", vms);
	}
	if (o->high_tier)
		json_object_set_new(hello, "high_tier", json_true());
	buf_init(&frame, LIMIT_RPC_FRAME_LEN + 16);
	rc = rpc_encode_json(&frame, RPC_HELLO, 0, hello, e);
	if (rc == 0)
		rc = fd_write_all(c->fd, frame.data, frame.len, d, e);
	buf_finish(&frame);
	return rc;
}

static int read_hello(struct client *c, struct deadline d, struct err *e)
{
	auto_json json_t *body = NULL;
	struct rpc_frame f;
	const char *program;
	int64_t version;
	size_t used;
	int rc;

	while ((rc = rpc_decode((const uint8_t *)c->in.data, c->in.len, &f,
				&used, e)) == 0) {
		struct pollfd p = {.fd = c->fd, .events = POLLIN};
		ssize_t n;

		if (deadline_poll(&p, 1, d, "greeting the service", e) < 0)
			return -1;
		n = buf_read_fd(&c->in, c->fd, CLIENT_READ_LEN, e);
		if (n == 0)
			return err_set(e, ERR_UNAVAILABLE, "the service ended");
		if (n < 0)
			return -1;
	}
	if (rc < 0)
		return -1;
	if (f.type == RPC_ERROR)
		return client_take_error(&f, e);
	if (f.type != RPC_HELLO)
		return err_set(e, ERR_PROTOCOL,
			       "the service did not answer with a hello");
	body = rpc_payload_json(&f, e);
	if (!body || json_get_int(body, "version", &version, e) != 0 ||
	    json_get_str(body, "program", &program, e) != 0)
		return -1;
	if (version != RPC_VERSION)
		return err_set(e, ERR_STATE,
			       "the service speaks version %lld and this "
			       "client version %d: run boxery service restart",
			       (long long)version, RPC_VERSION);
	c->service_version = alloc_str(program);
	buf_consume(&c->in, used);
	return 0;
}

static bool has_hung_up(const struct err *e)
{
	return e->errnum == ECONNRESET || e->errnum == EPIPE;
}

static int try_connect(const struct client_opts *o, struct deadline d,
		       struct client **ret, struct err *e)
{
	auto_client struct client *c = ALLOC_NEW(struct client);

	c->agent = o->agent;
	c->home = o->home;
	buf_init(&c->in, LIMIT_RPC_FRAME_LEN + 16 + CLIENT_READ_LEN);
	buf_init(&c->out, CLIENT_OUT_CAP);
	c->fd = client_start(o->home, !o->no_start, d, e);
	if (c->fd < 0)
		return -1;
	/* a service that refuses us has hung up, and said why before that */
	if (send_hello(c, o, d, e) != 0 && !has_hung_up(e))
		return -1;
	if (read_hello(c, d, e) != 0 || fd_set_nonblock(c->fd, e) != 0)
		return -1;
	*ret = TAKE_PTR(c);
	return 0;
}

/* A service that is just stopping takes the connection with it. */
static bool was_stopping(const struct err *e)
{
	return has_hung_up(e) ||
	       (e->code == ERR_UNAVAILABLE &&
		strcmp(err_msg(e), "the service ended") == 0);
}

int client_connect(const struct client_opts *o, struct client **ret,
		   struct err *e)
{
	struct deadline d = deadline_in_ms(LIMIT_SERVICE_START_MS);

	for (;;) {
		struct err why = {0};

		if (try_connect(o, d, ret, &why) == 0)
			return 0;
		if (o->no_start || !was_stopping(&why) || deadline_passed(d)) {
			if (e)
				*e = why;
			return -1;
		}
		deadline_sleep_ms(10);
	}
}
