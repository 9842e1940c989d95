/* vm_read, vm_write and vm_edit: text files of a guest, whole or by the page.
 */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "vmctl/call.h"
#include "vmctl/consoletext.h"
#include "vmctl/datadir.h"
#include "vmctl/guest.h"
#include "vmctl/handlers.h"
#include "vmctl/machines.h"
#include "vmctl/runs.h"
#include "vmctl/service.h"
#include "vmctl/textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN_PREFIX "run:"
#define CONSOLE "console:"
#define STEP_LEN (64 << 10)

/* Relative paths begin in the home; no shell is there to read "~/". */
static const char *guest_path(const json_t *args)
{
	const char *path = json_string_value(json_object_get(args, "path"));

	return strncmp(path, "~/", 2) == 0 && path[2] ? path + 2 : path;
}

static int find_guest(struct call *c, const json_t *args, struct guest **ret,
		      struct err *e)
{
	const char *vm = json_string_value(json_object_get(args, "vm"));
	struct machine *m;

	if (machines_get(call_service(c)->machines, c, vm, &m, e) < 0)
		return -1;
	return machine_guest(m, ret, e);
}

static int read_whole(struct guest *g, const char *path, struct deadline d,
		      struct buf *out, struct err *e)
{
	struct err why = {0};

	if (guest_read_file(g, path, d, out, &why) == 0)
		return 0;
	if (why.code == ERR_LIMIT)
		return err_set(e, ERR_LIMIT,
			       "%s is larger than %d MiB; take the part you "
			       "need with vm_run, or fetch it with vm_copy",
			       path, LIMIT_TEXT_LEN >> 20);
	*e = why;
	return -1;
}

/* ---- vm_read ---- */

static int feed_file(struct call *c, const json_t *args, struct textpage *t,
		     struct err *e)
{
	const char *path = guest_path(args);
	struct guest *g;
	struct buf text;
	int rc = -1;

	if (find_guest(c, args, &g, e) < 0)
		return -1;
	buf_init(&text, LIMIT_TEXT_LEN);
	if (read_whole(g, path, call_deadline(c), &text, e) == 0 &&
	    textfile_check(path, text.data, text.len, false, e) == 0) {
		textpage_feed(t, text.data, text.len);
		rc = 0;
	}
	buf_finish(&text);
	return rc;
}

/* The VM may be off, but must be one that this client may use. */
static int feed_run(struct call *c, const json_t *args, const char *id,
		    struct textpage *t, struct err *e)
{
	const char *vm = json_string_value(json_object_get(args, "vm"));
	char bytes[STEP_LEN];
	struct machine *m;
	autoclose int fd = -1;
	ssize_t n;

	if (machines_get(call_service(c)->machines, c, vm, &m, e) < 0)
		return -1;
	fd = runs_open(&call_service(c)->home, vm, id, e);
	if (fd < 0)
		return -1;
	while ((n = read(fd, bytes, sizeof(bytes))) != 0) {
		if (n < 0 && errno != EINTR)
			return err_sys(e, "run:%s", id);
		if (n > 0)
			textpage_feed(t, bytes, (size_t)n);
		if (t->more || t->cut)
			break;
	}
	return 0;
}

/* The end of a log, from where a line begins. */
static int read_tail(const char *path, struct buf *out, struct err *e)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW |
					      O_NONBLOCK);
	struct stat st;
	off_t at;
	ssize_t n;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) != 0)
		return err_sys(e, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_STATE, "%s is no file", path);
	at = st.st_size > (off_t)out->cap ? st.st_size - (off_t)out->cap : 0;
	if (lseek(fd, at, SEEK_SET) < 0)
		return err_sys(e, "%s", path);
	while (out->len < out->cap) {
		n = buf_read_fd(out, fd, out->cap - out->len, e);
		if (n < 0)
			return -1;
		if (n == 0)
			break;
	}
	if (at > 0) {
		const char *nl = memchr(out->data, '\n', out->len);

		buf_consume(out, nl ? (size_t)(nl + 1 - out->data) : 0);
	}
	return 0;
}

/* The VM may be off: why it did not come up is what one wants to know. */
static int feed_console(struct call *c, const json_t *args, struct textpage *t,
			struct err *e)
{
	const struct home *h = &call_service(c)->home;
	const char *vm = json_string_value(json_object_get(args, "vm"));
	autofree char *path = datadir_console(h, vm);
	struct machine *m;
	struct buf text;
	int rc;

	if (machines_get(call_service(c)->machines, c, vm, &m, e) < 0)
		return -1;
	buf_init(&text, LIMIT_TEXT_PAGE_LEN);
	rc = read_tail(path, &text, e);
	if (rc == 0 && text.len > 0)
		textpage_feed(t, text.data,
			      consoletext_clean(text.data, text.len));
	buf_finish(&text);
	return rc;
}

static json_t *page_record(const struct textpage *t)
{
	json_t *v = json_object();

	json_object_set_new(v, "text", json_lossy(t->text.data, t->text.len));
	json_object_set_new(v, "first_line",
			    json_integer((json_int_t)t->first));
	json_object_set_new(v, "lines", json_integer((json_int_t)t->lines));
	json_object_set_new(v, "more", json_boolean(t->more || t->cut));
	if (t->cut)
		json_object_set_new(v, "line_cut", json_true());
	return v;
}

int op_vm_read(struct call *c, const json_t *args, json_t **ret_result,
	       struct err *e)
{
	const char *path = json_string_value(json_object_get(args, "path"));
	struct textpage t;
	int64_t offset = 1, limit = 1;
	int rc;

	if (json_get_int(args, "offset", &offset, e) < 0 ||
	    json_get_int(args, "limit", &limit, e) < 0)
		return -1;
	textpage_init(&t, (uint64_t)offset, (uint64_t)limit);
	if (strncmp(path, RUN_PREFIX, strlen(RUN_PREFIX)) == 0)
		rc = feed_run(c, args, path + strlen(RUN_PREFIX), &t, e);
	else if (strcmp(path, CONSOLE) == 0)
		rc = feed_console(c, args, &t, e);
	else
		rc = feed_file(c, args, &t, e);
	if (rc == 0 && t.seen < t.first && t.first > 1)
		rc = err_set(e, ERR_INVALID,
			     "%s has %" PRIu64 " lines; line %" PRIu64
			     " is behind its end",
			     path, t.seen, t.first);
	if (rc == 0)
		*ret_result = page_record(&t);
	textpage_finish(&t);
	return rc;
}

/* ---- vm_write, vm_edit ---- */

static json_t *written_record(const char *path, size_t len)
{
	json_t *v = json_object();

	json_object_set_new(v, "path", json_string(path));
	json_object_set_new(v, "bytes", json_integer((json_int_t)len));
	return v;
}

int op_vm_write(struct call *c, const json_t *args, json_t **ret_result,
		struct err *e)
{
	const json_t *content = json_object_get(args, "content");
	const char *path = guest_path(args);
	size_t len = json_string_length(content);
	struct guest_hold *hold;
	struct guest *g;
	int rc;

	if (find_guest(c, args, &g, e) < 0 ||
	    guest_hold_file(g, path, call_deadline(c), &hold, e) < 0)
		return -1;
	rc = call_check(c, e);
	if (rc == 0)
		rc = guest_write_file(g, path, json_string_value(content), len,
				      call_deadline(c), e);
	guest_hold_free(hold);
	if (rc == 0)
		*ret_result = written_record(path, len);
	return rc;
}

static int edit(struct call *c, struct guest *g, const char *path,
		const struct textfile_change *change, json_t **ret_result,
		struct err *e)
{
	struct buf before, after;
	uint64_t count = 0;
	int rc = -1;

	buf_init(&before, LIMIT_TEXT_LEN);
	buf_init(&after, LIMIT_TEXT_LEN);
	if (read_whole(g, path, call_deadline(c), &before, e) == 0 &&
	    textfile_check(path, before.data, before.len, true, e) == 0 &&
	    textfile_replace(path, &before, change, &after, &count, e) == 0 &&
	    call_check(c, e) == 0)
		rc = guest_write_file(g, path, after.data, after.len,
				      call_deadline(c), e);
	if (rc == 0) {
		*ret_result = written_record(path, after.len);
		json_object_set_new(*ret_result, "replaced",
				    json_integer((json_int_t)count));
	}
	buf_finish(&before);
	buf_finish(&after);
	return rc;
}

int op_vm_edit(struct call *c, const json_t *args, json_t **ret_result,
	       struct err *e)
{
	struct textfile_change change = {.all = false};
	const char *path = guest_path(args);
	struct guest_hold *hold;
	struct guest *g;
	int rc;

	if (json_get_str(args, "old", &change.old_text, e) < 0 ||
	    json_get_str(args, "new", &change.new_text, e) < 0 ||
	    json_opt_bool(args, "all", &change.all, e) < 0 ||
	    find_guest(c, args, &g, e) < 0 ||
	    guest_hold_file(g, path, call_deadline(c), &hold, e) < 0)
		return -1;
	rc = edit(c, g, path, &change, ret_result, e);
	guest_hold_free(hold);
	return rc;
}
