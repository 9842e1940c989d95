/*
 * Exchanges with the sftp subsystem, and the connections that they go over.
 *
 * libssh's own sftp waits inside of its calls and trusts counts that the server
 * sends, so only the channel is libssh's: it is bridged to a socket pair as any
 * other, and the packets are written and parsed here, on the caller's thread,
 * with the caller's deadline. One request is out at a time: these calls are for
 * metadata and small files; bulk bytes use an exec channel.
 *
 * A connection is kept in guest.sftp while nobody uses it. Whoever finds the
 * slot empty opens one of its own, and whoever is done puts his back or closes
 * it when the slot is taken. One that failed half-way through an exchange is
 * closed. One that was kept may have died unnoticed: when its first request
 * gets no answer the operation begins again on a fresh one.
 */
#include "vmctl/guest_sftp.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define VERSION 3

/* ---- one exchange ---- */

void guest_sftp_free(struct guest_sftp *f)
{
	if (!f)
		return;
	if (f->fd >= 0)
		close(f->fd);
	buf_finish(&f->in);
	buf_finish(&f->out);
	free(f);
}

static int read_reply(struct guest_sftp *f, struct guest_reply *ret,
		      struct deadline d, struct err *e)
{
	struct err err = {0};
	int found;

	buf_consume(&f->in, f->in_used);
	f->in_used = 0;
	while ((found = guest_wire_next(f->in.data, f->in.len, ret, &f->in_used,
					e)) == 0) {
		struct pollfd pf = {.fd = f->fd, .events = POLLIN};
		ssize_t n;

		if (deadline_poll(&pf, 1, d,
				  "waiting for the guest's sftp answer", e) < 0)
			return -1;
		n = buf_read_fd(&f->in, f->fd, f->in.cap - f->in.len, &err);
		if (n == 0)
			return err_set(e, ERR_UNAVAILABLE,
				       "the guest ended the sftp connection");
		if (n < 0 && err.errnum != EAGAIN && err.errnum != EINTR)
			return err_set(e, ERR_UNAVAILABLE, "%s", err_msg(&err));
	}
	return found < 0 ? -1 : 0;
}

int guest_sftp_exchange(struct guest_sftp *f, struct guest_reply *ret,
			struct deadline d, struct err *e)
{
	f->broken = true; /* until this exchange is whole */
	/* an answer that is there already would make every wait succeed */
	if (deadline_check(d, "waiting for the guest's sftp answer", e) < 0 ||
	    fd_write_all(f->fd, f->out.data, f->out.len, d, e) < 0 ||
	    read_reply(f, ret, d, e) < 0)
		return -1;
	buf_reset(&f->out);
	if (ret->type != GUEST_WIRE_VERSION && ret->id != f->last_id)
		return err_set(e, ERR_PROTOCOL,
			       "the guest answers an sftp request that was not "
			       "made");
	f->answered = true;
	f->broken = false;
	return 0;
}

static int refused(struct guest_sftp *f, struct guest_reply *r,
		   const char *path, struct err *e)
{
	char words[ERR_QUOTE_SIZE];
	struct guest_text text;
	uint32_t code;

	if (r->type != GUEST_WIRE_STATUS ||
	    guest_wire_get_u32(r, &code, e) < 0 ||
	    guest_wire_get_text(r, &text, e) < 0) {
		f->broken = true;
		return err_set(e, ERR_PROTOCOL,
			       "%s: the guest's sftp answer makes no sense",
			       path);
	}
	switch (code) {
	case GUEST_WIRE_NO_SUCH_FILE:
		return err_set(e, ERR_NOT_FOUND,
			       "%s: no such file or directory in the guest",
			       path);
	case GUEST_WIRE_PERMISSION_DENIED:
		return err_set(e, ERR_DENIED,
			       "%s: permission denied in the guest", path);
	default:
		return err_set(e, ERR_SYSTEM, "%s: the guest says %s", path,
			       err_quote(words, text.p, text.len));
	}
}

int guest_sftp_expect(struct guest_sftp *f, struct guest_reply *r, uint8_t type,
		      const char *path, struct err *e)
{
	return r->type == type ? 0 : refused(f, r, path, e);
}

int guest_sftp_expect_ok(struct guest_sftp *f, struct guest_reply *r,
			 const char *path, struct err *e)
{
	struct guest_reply peek = *r;
	uint32_t code;

	if (r->type == GUEST_WIRE_STATUS &&
	    guest_wire_get_u32(&peek, &code, e) == 0 && code == GUEST_WIRE_OK)
		return 0;
	return refused(f, r, path, e);
}

bool guest_sftp_is_eof(const struct guest_reply *r)
{
	struct guest_reply peek = *r;
	uint32_t code;

	return r->type == GUEST_WIRE_STATUS &&
	       guest_wire_get_u32(&peek, &code, NULL) == 0 &&
	       code == GUEST_WIRE_EOF;
}

/* ---- connections ---- */

bool guest_sftp_same(const struct guest_text *t, const char *s)
{
	return t->len == strlen(s) && memcmp(t->p, s, t->len) == 0;
}

/* INIT and VERSION have the version where others have an id. */
static int greet(struct guest_sftp *f, struct deadline d, struct err *e)
{
	struct guest_text name, data;
	struct guest_reply r;

	if (guest_wire_put(&f->out, GUEST_WIRE_INIT, VERSION, e, "") < 0 ||
	    guest_sftp_exchange(f, &r, d, e) < 0)
		return -1;
	if (r.type != GUEST_WIRE_VERSION || r.id != VERSION)
		return err_set(e, ERR_PROTOCOL,
			       "the guest does not speak sftp version %d",
			       VERSION);
	while (r.left > 0) {
		if (guest_wire_get_text(&r, &name, e) < 0 ||
		    guest_wire_get_text(&r, &data, e) < 0)
			return -1;
		if (guest_sftp_same(&name, "posix-rename@openssh.com"))
			f->has_rename = true;
		if (guest_sftp_same(&name, "fsync@openssh.com"))
			f->has_fsync = true;
	}
	f->answered = false;
	return 0;
}

static struct guest_sftp *connect_new(struct guest *g, struct deadline d,
				      struct err *e)
{
	static const struct guest_target sftp = {GUEST_SUBSYSTEM, GUEST_CONTROL,
						 "sftp"};
	struct guest_sftp *f = ALLOC_NEW(struct guest_sftp);

	f->fd = -1;
	buf_init(&f->in, GUEST_WIRE_PACKET_LEN + 4);
	buf_init(&f->out, GUEST_WIRE_PACKET_LEN + 4);
	if (guest_open_stream(g, &sftp, d, &f->fd, e) < 0 ||
	    greet(f, d, e) < 0) {
		guest_sftp_free(f);
		return NULL;
	}
	return f;
}

/* The I/O thread closes its end when the session dies. */
static bool hung_up(const struct guest_sftp *f)
{
	struct pollfd pf = {.fd = f->fd, .events = POLLIN};

	return poll(&pf, 1, 0) != 0;
}

static struct guest_sftp *take(struct guest *g, struct deadline d,
			       struct err *e)
{
	struct guest_sftp *f;

	pthread_mutex_lock(&g->lock);
	f = TAKE_PTR(g->sftp);
	pthread_mutex_unlock(&g->lock);
	if (f && hung_up(f)) {
		guest_sftp_free(f);
		f = NULL;
	}
	if (!f)
		return connect_new(g, d, e);
	f->kept = true;
	f->answered = false;
	return f;
}

static void put_back(struct guest *g, struct guest_sftp *f)
{
	if (!f->broken) {
		pthread_mutex_lock(&g->lock);
		if (!g->sftp)
			g->sftp = TAKE_PTR(f);
		pthread_mutex_unlock(&g->lock);
	}
	guest_sftp_free(f);
}

int guest_sftp_perform(struct guest_sftp_job *j, guest_sftp_fn *fn,
		       struct err *e)
{
	struct err err = {0};
	struct guest_sftp *f;
	bool again;
	int rc;

	if (strlen(j->path) > LIMIT_PATH_LEN)
		return err_set(e, ERR_INVALID,
			       "the path is longer than %d "
			       "bytes",
			       LIMIT_PATH_LEN);
	do {
		f = take(j->g, j->d, e);
		if (!f)
			return -1;
		buf_reset(&f->out);
		err = (struct err){0};
		rc = fn(f, j, &err);
		again = rc < 0 && f->broken && f->kept && !f->answered &&
			err.code == ERR_UNAVAILABLE;
		put_back(j->g, f);
	} while (again);
	if (rc < 0 && e)
		*e = err;
	return rc;
}
