#include "vmctl/copy_list.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/path.h"
#include "vmctl/copytext.h"
#include "vmctl/guest.h"

#include <inttypes.h>
#include <string.h>

/* a longest path, each byte of it quoted in five, and the command */
#define LINE_LEN ((size_t)8 * LIMIT_PATH_LEN)
#define READ_LEN ((size_t)256 * 1024)

/* ---- entries ------------------------------------------------------------ */

static int take_entry(struct copy_list *l, const struct treewire_entry *n,
		      struct err *e)
{
	struct treewire_record r = {.type = TREE_ENTRY, .entry = *n};

	if (n->type == '?') {
		if (l->special_count >= LIMIT_TREE_COUNT)
			return err_set(e, ERR_LIMIT,
				       "%s: more than %d special files",
				       l->side->vm, LIMIT_TREE_COUNT);
		if (l->special_count++ == 0)
			l->special = alloc_strn(n->path.p, n->path.len);
		return 0;
	}
	if (manifest_add(l->m, n, e) != 0)
		return err_wrap(e, "%s", l->side->vm);
	return copy_say(l->wire, &r, e);
}

static int say_special(struct copy_list *l, struct err *e)
{
	autofree char *text = NULL;
	struct treewire_record r = {.type = TREE_WARN};

	if (l->special_count == 0)
		return 0;
	text = alloc_printf("left out %" PRIu32 " special file%s (%s)",
			    l->special_count, l->special_count == 1 ? "" : "s",
			    l->special);
	r.text = treewire_str(text, strlen(text));
	copy_warn(l->side->report, r.text.p, r.text.len);
	return copy_say(l->wire, &r, e);
}

static int say_missing(const struct copy_list *l, struct err *e)
{
	return err_set(e, ERR_NOT_FOUND, "%s:%s: no such file or directory",
		       l->side->vm, l->side->path);
}

/* ---- by find ------------------------------------------------------------ */

static int find_line(const struct copy_list *l, struct buf *line,
		     struct err *e)
{
	/* find's complaints go to W, its status with them; its output to 3 */
	if (buf_add_str(line, "exec 3>&1; W=$( { find", e) != 0 ||
	    copysh_path(line, l->path, e) != 0)
		return -1;
	return buf_add_str(line,
			   " -name '" MANIFEST_PART_PREFIX "*' -prune -o"
			   " -printf '" COPYTEXT_FIND "' 2>&1 >&3;"
			   " echo \"=$?\"; } | tail -n 2);"
			   " printf '=\\0%s\\0' \"$W\"",
			   e);
}

/* Does this complaint mean that find is another one than GNU's? */
static bool is_other_find(const char *line)
{
	return strstr(line, "printf") || strstr(line, "not found") ||
	       strstr(line, "unrecognized");
}

/* "find: './x': Permission denied\n=1", what find said last. */
static int check_said(struct copy_list *l, struct treewire_str said,
		      struct err *e)
{
	autofree char *text = alloc_strn(said.p, said.len);
	const char *status = strstr(text, "=0");
	bool empty = manifest_count(l->m) == 0 && l->special_count == 0;
	struct err trouble = {0};
	char words[ERR_QUOTE_SIZE];
	char *line = text;

	if (status && (status == text || status[-1] == '\n') && !status[2])
		return 0;
	if (empty && is_other_find(text)) {
		l->sftp = true;
		return 0;
	}
	if (strncmp(line, "find: ", 6) == 0)
		line += 6;
	line[strcspn(line, "\n")] = '\0';
	if (empty && strstr(line, "No such file"))
		return say_missing(l, e);
	err_set(&trouble,
		strstr(line, "ermission denied") ? ERR_DENIED : ERR_SYSTEM,
		"%s: find says %s", l->side->vm,
		err_quote(words, line, strlen(line)));
	/* without a single entry the copy fails, else it is incomplete */
	if (empty) {
		if (e)
			*e = trouble;
		return -1;
	}
	return copy_say_trouble(l->wire, &trouble, e);
}

/* Items until the last; text is what was read and not yet taken. */
static int read_items(struct copy_list *l, struct buf *text, struct err *e)
{
	size_t at = 0;

	for (;;) {
		struct copytext_item item;
		size_t used, n;
		char *to;
		int rc = copytext_find(text->data + at, text->len - at, &item,
				       &used, e);

		if (rc < 0)
			return err_wrap(e, "%s", l->side->vm);
		if (rc > 0) {
			at += used;
			if (item.end)
				return check_said(l, item.said, e);
			if (take_entry(l, &item.entry, e) != 0)
				return -1;
			continue;
		}
		buf_consume(text, at);
		at = 0;
		to = buf_reserve(text, READ_LEN, e);
		if (!to ||
		    copysh_read(l->sh, to, READ_LEN, false, &n, e) < 0)
			return -1;
		buf_commit(text, n);
	}
}

static int list_by_find(struct copy_list *l, struct err *e)
{
	struct buf line, text;
	int rc;

	buf_init(&line, LINE_LEN);
	/* what is left is less than a record, which has a cap of its own */
	buf_init(&text, 2 * READ_LEN);
	rc = find_line(l, &line, e) != 0 ||
	     copysh_line(l->sh, line.data, e) != 0 ||
	     read_items(l, &text, e) != 0;
	buf_finish(&line);
	buf_finish(&text);
	return rc ? -1 : 0;
}

/* ---- by sftp ------------------------------------------------------------ */

static char *guest_path(const struct copy_list *l, const char *path)
{
	return *path ? path_join(l->path, path) : alloc_str(l->path);
}

/* One file system object, listed as path. */
static int take_stat(struct copy_list *l, const char *path,
		     const struct guest_stat *st, struct err *e)
{
	struct treewire_entry n = {.type = st->type,
				   .mode = st->mode & 0777,
				   .mtime_s = st->mtime_s,
				   .path = treewire_str(path, strlen(path))};
	autofree char *target = NULL;

	if (st->type == 'f')
		n.len = st->len;
	if (st->type == 'l') {
		autofree char *where = guest_path(l, path);

		if (guest_read_link(l->side->guest, where, l->side->deadline,
				    &target, e) != 0)
			return -1;
		n.target = treewire_str(target, strlen(target));
		if (n.target.len == 0)
			return err_set(e, ERR_PROTOCOL,
				       "%s: an empty link", l->side->vm);
	}
	return take_entry(l, &n, e);
}

struct in_dir {
	struct copy_list *l;
	const char *path;
};

static int take_name(const char *name, const struct guest_stat *st, void *ctx,
		     struct err *e)
{
	const struct in_dir *d = ctx;
	autofree char *path = NULL;

	if (copy_check(d->l->side, e) != 0)
		return -1;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    manifest_is_part(name))
		return 0;
	if (*name == '\0' || strchr(name, '/'))
		return err_set(e, ERR_PROTOCOL, "%s: lists a malformed name",
			       d->l->side->vm);
	path = *d->path ? path_join(d->path, name) : alloc_str(name);
	return take_stat(d->l, path, st, e);
}

static int list_dir(struct copy_list *l, const char *path, struct err *e)
{
	struct in_dir d = {l, path};
	autofree char *where = guest_path(l, path);
	struct err trouble = {0};

	if (copy_check(l->side, e) != 0)
		return -1;
	if (guest_read_dir(l->side->guest, where, l->side->deadline, take_name,
			   &d, &trouble) == 0)
		return 0;
	if (trouble.code != ERR_DENIED && trouble.code != ERR_NOT_FOUND) {
		if (e)
			*e = trouble;
		return -1;
	}
	return copy_say_trouble(l->wire, &trouble, e);
}

static int list_by_sftp(struct copy_list *l, struct err *e)
{
	struct guest_stat st;

	if (guest_lstat(l->side->guest, l->path, l->side->deadline, &st, e) !=
	    0)
		return e && e->code == ERR_NOT_FOUND ? say_missing(l, e) : -1;
	if (take_stat(l, "", &st, e) != 0)
		return -1;
	/* the manifest grows while it is walked */
	for (uint32_t i = 0; i < manifest_count(l->m); i++) {
		const struct manifest_entry *n = manifest_at(l->m, i);

		if (n->type == 'd' && list_dir(l, n->path, e) != 0)
			return -1;
	}
	return 0;
}

/* ---- the whole ---------------------------------------------------------- */

static int list(struct copy_list *l, struct err *e)
{
	struct treewire_record head = {.type = TREE_HEAD,
				       .version = TREEWIRE_VERSION};
	struct treewire_record end = {.type = TREE_MANIFEST_END};

	head.name.len = manifest_root_name(l->path, &head.name.p);
	if (copy_say(l->wire, &head, e) != 0 || list_by_find(l, e) != 0 ||
	    (l->sftp && list_by_sftp(l, e) != 0) || say_special(l, e) != 0)
		return -1;
	if (manifest_count(l->m) == 0)
		return err_set(e, ERR_INVALID, "%s:%s is %s", l->side->vm,
			       l->side->path,
			       l->special_count ? "a device, socket or pipe"
						: "not listed by find");
	end.count = manifest_count(l->m);
	if (copy_say(l->wire, &end, e) != 0)
		return -1;
	return copy_flush(l->wire, e);
}

int copy_list(struct copy_list *l, struct err *e)
{
	int rc = list(l, e);

	free(l->special);
	l->special = NULL;
	return rc;
}
