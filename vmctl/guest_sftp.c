/*
 * File operations over the sftp subsystem.
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
#include "vmctl/guest.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/crypto.h"
#include "base/fd.h"
#include "base/limits.h"
#include "vmctl/guest_impl.h"
#include "vmctl/guest_wire.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define VERSION 3
/* every server takes this much (draft §3) */
#define CHUNK_LEN (32 * 1024)
#define HANDLE_LEN 256
#define TEMP_LEN 12

struct guest_sftp {
	int fd;
	bool kept;     /* it was in the slot */
	bool answered; /* since it was taken */
	bool broken;   /* no more to be used */
	bool has_rename, has_fsync;
	uint32_t last_id;
	struct buf in, out;
	size_t in_used; /* of the reply that was handed out */
};

struct handle {
	char bytes[HANDLE_LEN];
	size_t len;
};

/* What an operation works on: one request's parameters and results. */
struct job {
	struct guest *g;
	const char *path;
	struct deadline d;
	struct guest_stat *stat;
	struct buf *out; /* read_file; listing */
	char **link;
	const void *data;
	size_t data_len;
	uint32_t mode;
};
typedef int job_fn(struct guest_sftp *f, struct job *j, struct err *e);

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

/* Send what is in f->out, take the answer to it. */
static int exchange(struct guest_sftp *f, struct guest_reply *ret,
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

static int expect(struct guest_sftp *f, struct guest_reply *r, uint8_t type,
		  const char *path, struct err *e)
{
	return r->type == type ? 0 : refused(f, r, path, e);
}

/* A status that says OK. */
static int expect_ok(struct guest_sftp *f, struct guest_reply *r,
		     const char *path, struct err *e)
{
	struct guest_reply peek = *r;
	uint32_t code;

	if (r->type == GUEST_WIRE_STATUS &&
	    guest_wire_get_u32(&peek, &code, e) == 0 && code == GUEST_WIRE_OK)
		return 0;
	return refused(f, r, path, e);
}

static bool is_eof(const struct guest_reply *r)
{
	struct guest_reply peek = *r;
	uint32_t code;

	return r->type == GUEST_WIRE_STATUS &&
	       guest_wire_get_u32(&peek, &code, NULL) == 0 &&
	       code == GUEST_WIRE_EOF;
}

/* Begin a request: its id is the next. */
#define PUT(f, type, e, ...) \
	guest_wire_put(&(f)->out, (type), ++(f)->last_id, (e), __VA_ARGS__)

/* ---- connections ---- */

static bool same(const struct guest_text *t, const char *s)
{
	return t->len == strlen(s) && memcmp(t->p, s, t->len) == 0;
}

/* INIT and VERSION have the version where others have an id. */
static int greet(struct guest_sftp *f, struct deadline d, struct err *e)
{
	struct guest_text name, data;
	struct guest_reply r;

	if (guest_wire_put(&f->out, GUEST_WIRE_INIT, VERSION, e, "") < 0 ||
	    exchange(f, &r, d, e) < 0)
		return -1;
	if (r.type != GUEST_WIRE_VERSION || r.id != VERSION)
		return err_set(e, ERR_PROTOCOL,
			       "the guest does not speak sftp version %d",
			       VERSION);
	while (r.left > 0) {
		if (guest_wire_get_text(&r, &name, e) < 0 ||
		    guest_wire_get_text(&r, &data, e) < 0)
			return -1;
		if (same(&name, "posix-rename@openssh.com"))
			f->has_rename = true;
		if (same(&name, "fsync@openssh.com"))
			f->has_fsync = true;
	}
	f->answered = false;
	return 0;
}

static struct guest_sftp *connect_new(struct guest *g, struct deadline d,
				      struct err *e)
{
	struct guest_sftp *f = ALLOC_NEW(struct guest_sftp);

	f->fd = -1;
	buf_init(&f->in, GUEST_WIRE_PACKET_LEN + 4);
	buf_init(&f->out, GUEST_WIRE_PACKET_LEN + 4);
	if (guest_open_stream(g, GUEST_SUBSYSTEM, GUEST_CONTROL, "sftp", d,
			      &f->fd, e) < 0 ||
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

static int perform(struct job *j, job_fn *fn, struct err *e)
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

/* ---- attributes and links ---- */

static int ask_attrs(struct guest_sftp *f, struct job *j,
		     enum guest_wire_type how, struct err *e)
{
	struct guest_reply r;

	if (PUT(f, how, e, "s", j->path) < 0 || exchange(f, &r, j->d, e) < 0 ||
	    expect(f, &r, GUEST_WIRE_ATTRS, j->path, e) < 0)
		return -1;
	return guest_wire_get_attrs(&r, j->stat, e);
}

static int do_lstat(struct guest_sftp *f, struct job *j, struct err *e)
{
	return ask_attrs(f, j, GUEST_WIRE_LSTAT, e);
}

static int do_stat(struct guest_sftp *f, struct job *j, struct err *e)
{
	return ask_attrs(f, j, GUEST_WIRE_STAT, e);
}

int guest_lstat(struct guest *g, const char *path, struct deadline d,
		struct guest_stat *ret, struct err *e)
{
	struct job j = {.g = g, .path = path, .d = d, .stat = ret};

	return perform(&j, do_lstat, e);
}

int guest_stat_follow(struct guest *g, const char *path, struct deadline d,
		      struct guest_stat *ret, struct err *e)
{
	struct job j = {.g = g, .path = path, .d = d, .stat = ret};

	return perform(&j, do_stat, e);
}

/* READLINK or REALPATH: one name comes back. */
static int ask_path(struct guest_sftp *f, struct job *j,
		    enum guest_wire_type how, struct err *e)
{
	struct guest_text name;
	struct guest_reply r;
	uint32_t count = 0;

	if (PUT(f, how, e, "s", j->path) < 0 || exchange(f, &r, j->d, e) < 0 ||
	    expect(f, &r, GUEST_WIRE_NAME, j->path, e) < 0 ||
	    guest_wire_get_u32(&r, &count, e) < 0 ||
	    guest_wire_get_text(&r, &name, e) < 0)
		return -1;
	if (count != 1 || name.len == 0 || name.len > LIMIT_PATH_LEN ||
	    memchr(name.p, '\0', name.len))
		return err_set(e, ERR_PROTOCOL,
			       "%s: the guest answers with a path that cannot "
			       "be one",
			       j->path);
	*j->link = alloc_strn(name.p, name.len);
	return 0;
}

static int do_read_link(struct guest_sftp *f, struct job *j, struct err *e)
{
	return ask_path(f, j, GUEST_WIRE_READLINK, e);
}

int guest_read_link(struct guest *g, const char *path, struct deadline d,
		    char **ret, struct err *e)
{
	struct job j = {.g = g, .path = path, .d = d, .link = ret};

	return perform(&j, do_read_link, e);
}

/* ---- handles ---- */

static int get_handle(struct guest_sftp *f, struct job *j, struct handle *ret,
		      struct err *e)
{
	struct guest_text text;
	struct guest_reply r;

	if (exchange(f, &r, j->d, e) < 0 ||
	    expect(f, &r, GUEST_WIRE_HANDLE, j->path, e) < 0 ||
	    guest_wire_get_text(&r, &text, e) < 0)
		return -1;
	if (text.len > sizeof(ret->bytes))
		return err_set(e, ERR_PROTOCOL,
			       "the guest's sftp handle is too long");
	memcpy(ret->bytes, text.p, text.len);
	ret->len = text.len;
	return 0;
}

static int close_handle(struct guest_sftp *f, struct job *j,
			const struct handle *h, struct err *e)
{
	struct guest_reply r;

	if (PUT(f, GUEST_WIRE_CLOSE, e, "b", h->bytes, h->len) < 0 ||
	    exchange(f, &r, j->d, e) < 0)
		return -1;
	return expect_ok(f, &r, j->path, e);
}

/* After a failure: the handle goes with the connection if it cannot. */
static void drop_handle(struct guest_sftp *f, struct job *j,
			const struct handle *h)
{
	buf_reset(&f->out);
	if (!f->broken && close_handle(f, j, h, NULL) < 0)
		f->broken = true;
}

/* ---- directories ---- */

/* A listing is kept as (stat, name with NUL) until it is complete. */
static int add_entry(struct job *j, struct guest_reply *r, struct err *e)
{
	struct guest_text name, long_name;
	struct guest_stat st;

	if (guest_wire_get_text(r, &name, e) < 0 ||
	    guest_wire_get_text(r, &long_name, e) < 0 ||
	    guest_wire_get_attrs(r, &st, e) < 0 ||
	    guest_wire_check_name(&name, e) < 0)
		return -1;
	if (j->data_len >= LIMIT_TREE_COUNT)
		return err_set(e, ERR_LIMIT, "%s: more than %d files", j->path,
			       LIMIT_TREE_COUNT);
	j->data_len++; /* these too: nothing says that they come once */
	if (same(&name, ".") || same(&name, ".."))
		return 0;
	if (buf_add(j->out, &st, sizeof(st), e) < 0 ||
	    buf_add(j->out, name.p, name.len, e) < 0)
		return -1;
	return buf_add(j->out, "", 1, e);
}

static int list_handle(struct guest_sftp *f, struct job *j,
		       const struct handle *h, struct err *e)
{
	struct guest_reply r;
	uint32_t count = 0;

	for (;;) {
		if (PUT(f, GUEST_WIRE_READDIR, e, "b", h->bytes, h->len) < 0 ||
		    exchange(f, &r, j->d, e) < 0)
			return -1;
		if (is_eof(&r))
			return 0;
		if (expect(f, &r, GUEST_WIRE_NAME, j->path, e) < 0 ||
		    guest_wire_get_u32(&r, &count, e) < 0)
			return -1;
		if (count == 0)
			return err_set(e, ERR_PROTOCOL,
				       "%s: the guest lists nothing for ever",
				       j->path);
		for (; count > 0; count--)
			if (add_entry(j, &r, e) < 0)
				return -1;
	}
}

static int do_read_dir(struct guest_sftp *f, struct job *j, struct err *e)
{
	struct handle h;

	buf_reset(j->out);
	j->data_len = 0;
	if (PUT(f, GUEST_WIRE_OPENDIR, e, "s", j->path) < 0 ||
	    get_handle(f, j, &h, e) < 0)
		return -1;
	if (list_handle(f, j, &h, e) < 0) {
		drop_handle(f, j, &h);
		return -1;
	}
	return close_handle(f, j, &h, e);
}

static int tell_entries(const struct buf *list, guest_dir_fn *fn, void *ctx,
			struct err *e)
{
	const char *at = list->data, *end = list->data + list->len;
	struct guest_stat st;

	while (at < end) {
		memcpy(&st, at, sizeof(st));
		at += sizeof(st);
		if (fn(at, &st, ctx, e) < 0)
			return -1;
		at += strlen(at) + 1;
	}
	return 0;
}

int guest_read_dir(struct guest *g, const char *path, struct deadline d,
		   guest_dir_fn *fn, void *ctx, struct err *e)
{
	struct buf list;
	struct job j = {.g = g, .path = path, .d = d, .out = &list};
	int rc;

	buf_init(&list, LIMIT_TREE_MANIFEST_LEN);
	rc = perform(&j, do_read_dir, e);
	if (rc == 0)
		rc = tell_entries(&list, fn, ctx, e);
	buf_finish(&list);
	return rc;
}

/* ---- whole files ---- */

static int read_handle(struct guest_sftp *f, struct job *j,
		       const struct handle *h, struct err *e)
{
	struct guest_text data;
	struct guest_reply r;

	for (;;) {
		if (PUT(f, GUEST_WIRE_READ, e, "bqu", h->bytes, h->len,
			(uint64_t)j->out->len, (uint32_t)CHUNK_LEN) < 0 ||
		    exchange(f, &r, j->d, e) < 0)
			return -1;
		if (is_eof(&r))
			return 0;
		if (expect(f, &r, GUEST_WIRE_DATA, j->path, e) < 0 ||
		    guest_wire_get_text(&r, &data, e) < 0)
			return -1;
		if (data.len == 0 || data.len > CHUNK_LEN)
			return err_set(e, ERR_PROTOCOL,
				       "%s: the guest answers a read of %d "
				       "bytes with %zu",
				       j->path, CHUNK_LEN, data.len);
		if (buf_add(j->out, data.p, data.len, e) < 0)
			return err_wrap(e, "%s", j->path);
	}
}

static int do_read_file(struct guest_sftp *f, struct job *j, struct err *e)
{
	struct handle h;

	buf_reset(j->out);
	if (PUT(f, GUEST_WIRE_OPEN, e, "suu", j->path,
		(uint32_t)GUEST_WIRE_OPEN_READ, 0U) < 0 ||
	    get_handle(f, j, &h, e) < 0)
		return -1;
	if (read_handle(f, j, &h, e) < 0) {
		drop_handle(f, j, &h);
		return -1;
	}
	return close_handle(f, j, &h, e);
}

int guest_read_file(struct guest *g, const char *path, struct deadline d,
		    struct buf *out, struct err *e)
{
	struct guest_stat st = {0};
	struct job j = {.g = g, .path = path, .d = d, .stat = &st, .out = out};

	/* opening a FIFO would wait for its writer, for as long as d allows */
	if (perform(&j, do_stat, e) < 0)
		return -1;
	if (st.type != 'f')
		return err_set(e, ERR_INVALID, "%s: %s", path,
			       st.type == 'd' ? "is a directory"
					      : "is not a regular file");
	return perform(&j, do_read_file, e);
}

static int write_handle(struct guest_sftp *f, struct job *j,
			const struct handle *h, struct err *e)
{
	const char *p = j->data;
	struct guest_reply r;
	size_t n;

	for (size_t at = 0; at < j->data_len; at += n) {
		n = j->data_len - at < CHUNK_LEN ? j->data_len - at : CHUNK_LEN;
		if (PUT(f, GUEST_WIRE_WRITE, e, "bqb", h->bytes, h->len,
			(uint64_t)at, p + at, n) < 0 ||
		    exchange(f, &r, j->d, e) < 0 ||
		    expect_ok(f, &r, j->path, e) < 0)
			return -1;
	}
	if (PUT(f, GUEST_WIRE_FSETSTAT, e, "buu", h->bytes, h->len,
		GUEST_WIRE_ATTR_MODE, j->mode) < 0 ||
	    exchange(f, &r, j->d, e) < 0 || expect_ok(f, &r, j->path, e) < 0)
		return -1;
	if (f->has_fsync &&
	    (PUT(f, GUEST_WIRE_EXTENDED, e, "sb", "fsync@openssh.com", h->bytes,
		 h->len) < 0 ||
	     exchange(f, &r, j->d, e) < 0 || expect_ok(f, &r, j->path, e) < 0))
		return -1;
	return close_handle(f, j, h, e);
}

static void remove_quietly(struct guest_sftp *f, struct job *j,
			   const char *path)
{
	struct guest_reply r;

	buf_reset(&f->out);
	if (!f->broken && PUT(f, GUEST_WIRE_REMOVE, NULL, "s", path) == 0 &&
	    exchange(f, &r, j->d, NULL) < 0)
		f->broken = true;
}

static int rename_over(struct guest_sftp *f, struct job *j, const char *from,
		       const char *to, struct err *e)
{
	struct guest_reply r;

	if (PUT(f, GUEST_WIRE_EXTENDED, e, "sss", "posix-rename@openssh.com",
		from, to) < 0 ||
	    exchange(f, &r, j->d, e) < 0)
		return -1;
	return expect_ok(f, &r, to, e);
}

static char *temp_beside(const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	char random[TEMP_LEN + 1];

	if (crypto_random_name(random, TEMP_LEN, e) < 0)
		return NULL;
	return alloc_printf("%.*s.boxery-%s",
			    slash ? (int)(slash + 1 - path) : 0, path, random);
}

/* What is at path now decides the mode, and a link is followed, so that it
 * goes on to point at the new content. */
static int look_at_target(struct guest_sftp *f, struct job *j, char **ret_path,
			  struct err *e)
{
	struct guest_stat st = {0};
	struct err err = {0};
	struct job at = {.path = j->path, .d = j->d, .stat = &st};

	at.link = ret_path;
	if (ask_attrs(f, &at, GUEST_WIRE_STAT, &err) < 0) {
		if (err.code == ERR_NOT_FOUND) {
			*ret_path = alloc_str(j->path);
			j->mode = j->mode ? j->mode : 0644;
			return 0;
		}
		*e = err;
		return -1;
	}
	if (st.type != 'f')
		return err_set(e, ERR_INVALID, "%s: %s", j->path,
			       st.type == 'd' ? "is a directory"
					      : "is not a regular file");
	if (j->mode == 0)
		j->mode = st.mode;
	return ask_path(f, &at, GUEST_WIRE_REALPATH, e);
}

static int do_write_file(struct guest_sftp *f, struct job *j, struct err *e)
{
	autofree char *target = NULL, *temp = NULL;
	struct handle h;

	if (!f->has_rename)
		return err_set(e, ERR_UNAVAILABLE,
			       "the guest's sftp server cannot replace a file "
			       "(no posix-rename)");
	if (look_at_target(f, j, &target, e) < 0)
		return -1;
	temp = temp_beside(target, e);
	if (!temp)
		return -1;
	if (PUT(f, GUEST_WIRE_OPEN, e, "suuu", temp,
		(uint32_t)(GUEST_WIRE_OPEN_WRITE | GUEST_WIRE_OPEN_CREATE |
			   GUEST_WIRE_OPEN_EXCLUSIVE),
		GUEST_WIRE_ATTR_MODE, 0600U) < 0 ||
	    get_handle(f, j, &h, e) < 0)
		return -1;
	if (write_handle(f, j, &h, e) < 0) {
		drop_handle(f, j, &h);
		remove_quietly(f, j, temp);
		return -1;
	}
	if (rename_over(f, j, temp, target, e) < 0) {
		remove_quietly(f, j, temp);
		return -1;
	}
	return 0;
}

int guest_write_file(struct guest *g, const char *path, const void *p,
		     size_t len, uint32_t mode, struct deadline d,
		     struct err *e)
{
	struct job j = {.g = g,
			.path = path,
			.d = d,
			.data = p,
			.data_len = len,
			.mode = mode & 07777};

	return perform(&j, do_write_file, e);
}
