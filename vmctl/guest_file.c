/*
 * The file operations of guest.h. Each is a guest_sftp_fn that makes its
 * requests one after the other; what a guest answers is believed only as far as
 * it makes sense.
 */
#include "vmctl/guest_sftp.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/crypto.h"
#include "base/limits.h"

#include <string.h>

/* every server takes this much (draft §3) */
#define CHUNK_LEN (32 << 10)
#define TEMP_LEN 12

/* ---- attributes and links ---- */

static int ask_attrs(struct guest_sftp *f, struct guest_sftp_job *j,
		     enum guest_wire_type how, struct err *e)
{
	struct guest_reply r;

	if (GUEST_SFTP_PUT(f, how, e, "s", j->path) < 0 ||
	    guest_sftp_exchange(f, &r, j->d, e) < 0 ||
	    guest_sftp_expect(f, &r, GUEST_WIRE_ATTRS, j->path, e) < 0)
		return -1;
	return guest_wire_get_attrs(&r, j->stat, e);
}

static int do_lstat(struct guest_sftp *f, struct guest_sftp_job *j,
		    struct err *e)
{
	return ask_attrs(f, j, GUEST_WIRE_LSTAT, e);
}

static int do_stat(struct guest_sftp *f, struct guest_sftp_job *j,
		   struct err *e)
{
	return ask_attrs(f, j, GUEST_WIRE_STAT, e);
}

int guest_lstat(struct guest *g, const char *path, struct deadline d,
		struct guest_stat *ret, struct err *e)
{
	struct guest_sftp_job j = {.g = g, .path = path, .d = d, .stat = ret};

	return guest_sftp_perform(&j, do_lstat, e);
}

int guest_stat_follow(struct guest *g, const char *path, struct deadline d,
		      struct guest_stat *ret, struct err *e)
{
	struct guest_sftp_job j = {.g = g, .path = path, .d = d, .stat = ret};

	return guest_sftp_perform(&j, do_stat, e);
}

/* READLINK or REALPATH: one name comes back. */
static int ask_path(struct guest_sftp *f, struct guest_sftp_job *j,
		    enum guest_wire_type how, struct err *e)
{
	struct guest_text name;
	struct guest_reply r;
	uint32_t count = 0;

	if (GUEST_SFTP_PUT(f, how, e, "s", j->path) < 0 ||
	    guest_sftp_exchange(f, &r, j->d, e) < 0 ||
	    guest_sftp_expect(f, &r, GUEST_WIRE_NAME, j->path, e) < 0 ||
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

static int do_read_link(struct guest_sftp *f, struct guest_sftp_job *j,
			struct err *e)
{
	return ask_path(f, j, GUEST_WIRE_READLINK, e);
}

int guest_read_link(struct guest *g, const char *path, struct deadline d,
		    char **ret, struct err *e)
{
	struct guest_sftp_job j = {.g = g, .path = path, .d = d, .link = ret};

	return guest_sftp_perform(&j, do_read_link, e);
}

static int do_real_path(struct guest_sftp *f, struct guest_sftp_job *j,
			struct err *e)
{
	return ask_path(f, j, GUEST_WIRE_REALPATH, e);
}

int guest_real_path(struct guest *g, const char *path, struct deadline d,
		    char **ret, struct err *e)
{
	struct guest_sftp_job j = {.g = g, .path = path, .d = d, .link = ret};

	return guest_sftp_perform(&j, do_real_path, e);
}

/* ---- handles ---- */

static int get_handle(struct guest_sftp *f, struct guest_sftp_job *j,
		      struct guest_sftp_handle *ret, struct err *e)
{
	struct guest_text text;
	struct guest_reply r;

	if (guest_sftp_exchange(f, &r, j->d, e) < 0 ||
	    guest_sftp_expect(f, &r, GUEST_WIRE_HANDLE, j->path, e) < 0 ||
	    guest_wire_get_text(&r, &text, e) < 0)
		return -1;
	if (text.len > sizeof(ret->bytes))
		return err_set(e, ERR_PROTOCOL,
			       "the guest's sftp handle is too long");
	memcpy(ret->bytes, text.p, text.len);
	ret->len = text.len;
	return 0;
}

static int close_handle(struct guest_sftp *f, struct guest_sftp_job *j,
			const struct guest_sftp_handle *h, struct err *e)
{
	struct guest_reply r;

	if (GUEST_SFTP_PUT(f, GUEST_WIRE_CLOSE, e, "b", h->bytes, h->len) < 0 ||
	    guest_sftp_exchange(f, &r, j->d, e) < 0)
		return -1;
	return guest_sftp_expect_ok(f, &r, j->path, e);
}

/* After a failure: the handle goes with the connection if it cannot. */
static void drop_handle(struct guest_sftp *f, struct guest_sftp_job *j,
			const struct guest_sftp_handle *h)
{
	buf_reset(&f->out);
	if (!f->broken && close_handle(f, j, h, NULL) < 0)
		f->broken = true;
}

/* ---- directories ---- */

/* A listing is kept as (stat, name with NUL) until it is complete. */
static int add_entry(struct guest_sftp_job *j, struct guest_reply *r,
		     struct err *e)
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
	if (guest_sftp_same(&name, ".") || guest_sftp_same(&name, ".."))
		return 0;
	if (buf_add(j->out, &st, sizeof(st), e) < 0 ||
	    buf_add(j->out, name.p, name.len, e) < 0)
		return -1;
	return buf_add(j->out, "", 1, e);
}

static int list_handle(struct guest_sftp *f, struct guest_sftp_job *j,
		       const struct guest_sftp_handle *h, struct err *e)
{
	struct guest_reply r;
	uint32_t count = 0;

	for (;;) {
		if (GUEST_SFTP_PUT(f, GUEST_WIRE_READDIR, e, "b", h->bytes,
				   h->len) < 0 ||
		    guest_sftp_exchange(f, &r, j->d, e) < 0)
			return -1;
		if (guest_sftp_is_eof(&r))
			return 0;
		if (guest_sftp_expect(f, &r, GUEST_WIRE_NAME, j->path, e) < 0 ||
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

static int do_read_dir(struct guest_sftp *f, struct guest_sftp_job *j,
		       struct err *e)
{
	struct guest_sftp_handle h;

	buf_reset(j->out);
	j->data_len = 0;
	if (GUEST_SFTP_PUT(f, GUEST_WIRE_OPENDIR, e, "s", j->path) < 0 ||
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
	struct guest_sftp_job j = {.g = g, .path = path, .d = d, .out = &list};
	int rc;

	buf_init(&list, LIMIT_TREE_MANIFEST_LEN);
	rc = guest_sftp_perform(&j, do_read_dir, e);
	if (rc == 0)
		rc = tell_entries(&list, fn, ctx, e);
	buf_finish(&list);
	return rc;
}

/* ---- whole files ---- */

static int read_handle(struct guest_sftp *f, struct guest_sftp_job *j,
		       const struct guest_sftp_handle *h, struct err *e)
{
	struct guest_text data;
	struct guest_reply r;

	for (;;) {
		if (GUEST_SFTP_PUT(f, GUEST_WIRE_READ, e, "bqu", h->bytes,
				   h->len, (uint64_t)j->out->len,
				   (uint32_t)CHUNK_LEN) < 0 ||
		    guest_sftp_exchange(f, &r, j->d, e) < 0)
			return -1;
		if (guest_sftp_is_eof(&r))
			return 0;
		if (guest_sftp_expect(f, &r, GUEST_WIRE_DATA, j->path, e) < 0 ||
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

static int do_read_file(struct guest_sftp *f, struct guest_sftp_job *j,
			struct err *e)
{
	struct guest_sftp_handle h;

	buf_reset(j->out);
	if (GUEST_SFTP_PUT(f, GUEST_WIRE_OPEN, e, "suu", j->path,
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
	struct guest_sftp_job j = {
		.g = g, .path = path, .d = d, .stat = &st, .out = out};

	/* opening a FIFO would wait for its writer, for as long as d allows */
	if (guest_sftp_perform(&j, do_stat, e) < 0)
		return -1;
	if (st.type != 'f')
		return err_set(e, ERR_INVALID, "%s: %s", path,
			       st.type == 'd' ? "is a directory"
					      : "is not a regular file");
	return guest_sftp_perform(&j, do_read_file, e);
}

static int write_handle(struct guest_sftp *f, struct guest_sftp_job *j,
			const struct guest_sftp_handle *h, struct err *e)
{
	const char *p = j->data;
	struct guest_reply r;
	size_t n;

	for (size_t at = 0; at < j->data_len; at += n) {
		n = j->data_len - at < CHUNK_LEN ? j->data_len - at : CHUNK_LEN;
		if (GUEST_SFTP_PUT(f, GUEST_WIRE_WRITE, e, "bqb", h->bytes,
				   h->len, (uint64_t)at, p + at, n) < 0 ||
		    guest_sftp_exchange(f, &r, j->d, e) < 0 ||
		    guest_sftp_expect_ok(f, &r, j->path, e) < 0)
			return -1;
	}
	if (GUEST_SFTP_PUT(f, GUEST_WIRE_FSETSTAT, e, "buu", h->bytes, h->len,
			   GUEST_WIRE_ATTR_MODE, j->mode) < 0 ||
	    guest_sftp_exchange(f, &r, j->d, e) < 0 ||
	    guest_sftp_expect_ok(f, &r, j->path, e) < 0)
		return -1;
	if (f->has_fsync &&
	    (GUEST_SFTP_PUT(f, GUEST_WIRE_EXTENDED, e, "sb",
			    "fsync@openssh.com", h->bytes, h->len) < 0 ||
	     guest_sftp_exchange(f, &r, j->d, e) < 0 ||
	     guest_sftp_expect_ok(f, &r, j->path, e) < 0))
		return -1;
	return close_handle(f, j, h, e);
}

static void remove_quietly(struct guest_sftp *f, struct guest_sftp_job *j,
			   const char *path)
{
	struct guest_reply r;

	buf_reset(&f->out);
	if (!f->broken &&
	    GUEST_SFTP_PUT(f, GUEST_WIRE_REMOVE, NULL, "s", path) == 0 &&
	    guest_sftp_exchange(f, &r, j->d, NULL) < 0)
		f->broken = true;
}

static int rename_over(struct guest_sftp *f, struct guest_sftp_job *j,
		       const char *from, const char *to, struct err *e)
{
	struct guest_reply r;

	if (GUEST_SFTP_PUT(f, GUEST_WIRE_EXTENDED, e, "sss",
			   "posix-rename@openssh.com", from, to) < 0 ||
	    guest_sftp_exchange(f, &r, j->d, e) < 0)
		return -1;
	return guest_sftp_expect_ok(f, &r, to, e);
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
static int look_at_target(struct guest_sftp *f, struct guest_sftp_job *j,
			  char **ret_path, struct err *e)
{
	struct guest_stat st = {0};
	struct err err = {0};
	struct guest_sftp_job at = {.path = j->path, .d = j->d, .stat = &st};

	at.link = ret_path;
	if (ask_attrs(f, &at, GUEST_WIRE_STAT, &err) < 0) {
		if (err.code == ERR_NOT_FOUND) {
			*ret_path = alloc_str(j->path);
			j->mode = 0644;
			return 0;
		}
		*e = err;
		return -1;
	}
	if (st.type != 'f')
		return err_set(e, ERR_INVALID, "%s: %s", j->path,
			       st.type == 'd' ? "is a directory"
					      : "is not a regular file");
	j->mode = st.mode;
	return ask_path(f, &at, GUEST_WIRE_REALPATH, e);
}

static int do_write_file(struct guest_sftp *f, struct guest_sftp_job *j,
			 struct err *e)
{
	autofree char *target = NULL, *temp = NULL;
	struct guest_sftp_handle h;

	if (!f->has_rename)
		return err_set(e, ERR_UNAVAILABLE,
			       "the guest's sftp server cannot replace a file "
			       "(no posix-rename)");
	if (look_at_target(f, j, &target, e) < 0)
		return -1;
	temp = temp_beside(target, e);
	if (!temp)
		return -1;
	if (GUEST_SFTP_PUT(f, GUEST_WIRE_OPEN, e, "suuu", temp,
			   (uint32_t)(GUEST_WIRE_OPEN_WRITE |
				      GUEST_WIRE_OPEN_CREATE |
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
		     size_t len, struct deadline d, struct err *e)
{
	struct guest_sftp_job j = {
		.g = g, .path = path, .d = d, .data = p, .data_len = len};

	return guest_sftp_perform(&j, do_write_file, e);
}
