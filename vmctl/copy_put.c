#include "vmctl/copy_put.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/crypto.h"
#include "base/limits.h"
#include "vmctl/copysh.h"
#include "vmctl/copytext.h"
#include "vmctl/tarstream.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * Two things are collected: `list`, a command with as many words as fit (so
 * that mkdir, chmod and touch run once for many), and `archive` with `moves`,
 * small files. Each is sent before something that could depend on it.
 */
struct copy_put {
	const struct copy_side *side;
	char *base;
	bool tar;
	struct copysh *sh;
	char stage[MANIFEST_PART_SIZE];
	bool staged;

	struct buf list;
	char verb[64]; /* what `list` starts with; "": nothing is collected */

	struct buf archive;
	struct buf moves; /* NUL-terminated directories, one a group */
	char *group_dir;  /* of the current group */
	unsigned group;	  /* never used twice */
	unsigned first_group;
	unsigned small_count;
};

#define LIST_LEN ((size_t)32 * 1024)
#define LINE_LEN (LIST_LEN + (size_t)16 * LIMIT_PATH_LEN)
#define ARCHIVE_FLUSH_LEN ((size_t)1024 * 1024)
#define ARCHIVE_FLUSH_COUNT ((size_t)1024)
#define ARCHIVE_LEN                                                            \
	(ARCHIVE_FLUSH_LEN + COPY_PUT_SMALL_LEN + 2 * TARSTREAM_OVERHEAD_LEN)

static int say_line(struct copy_put *p, const char *text, struct err *e)
{
	if (copysh_line(p->sh, text, e) != 0)
		return -1;
	return copysh_push(p->sh, e);
}

/* ---- lists -------------------------------------------------------------- */

static int send_list(struct copy_put *p, struct err *e)
{
	if (!p->verb[0])
		return 0;
	p->verb[0] = '\0';
	return say_line(p, p->list.data, e);
}

/* One more word for a command that takes many. */
static int add_to_list(struct copy_put *p, const char *verb, const char *path,
		       struct err *e)
{
	if (strcmp(p->verb, verb) != 0 || p->list.len > LIST_LEN) {
		if (send_list(p, e) != 0)
			return -1;
		snprintf(p->verb, sizeof(p->verb), "%s", verb);
		buf_reset(&p->list);
		if (buf_printf(&p->list, e, "%s --", verb) != 0)
			return -1;
	}
	return copysh_path(&p->list, path, e);
}

static int set_time(struct copy_put *p, const char *touch, const char *path,
		    const struct manifest_entry *n, struct err *e)
{
	char when[COPYTEXT_TIME_SIZE], verb[64];

	copytext_time(n->mtime_s, n->mtime_ns, when);
	snprintf(verb, sizeof(verb), "%s -d @%s", touch, when);
	return add_to_list(p, verb, path, e);
}

static int set_mode(struct copy_put *p, const char *path,
		    const struct manifest_entry *n, struct err *e)
{
	char verb[32];

	snprintf(verb, sizeof(verb), "chmod %03o", n->mode & 0777u);
	return add_to_list(p, verb, path, e);
}

int copy_put_dir(struct copy_put *p, const char *path, struct err *e)
{
	return add_to_list(p, "mkdir", path, e);
}

int copy_put_open_dir(struct copy_put *p, const char *path, struct err *e)
{
	return add_to_list(p, "chmod u+rwx", path, e);
}

int copy_put_dir_time(struct copy_put *p, const char *path,
		      const struct manifest_entry *n, struct err *e)
{
	return set_time(p, "touch -m", path, n, e);
}

int copy_put_dir_mode(struct copy_put *p, const char *path,
		      const struct manifest_entry *n, struct err *e)
{
	return set_mode(p, path, n, e);
}

/* ---- one command -------------------------------------------------------- */

/* "COMMAND path", or "COMMAND path path". */
static int run_on(struct copy_put *p, const char *command, const char *first,
		  const char *second, struct err *e)
{
	struct buf line;
	int rc;

	buf_init(&line, LINE_LEN);
	rc = send_list(p, e) != 0 || buf_add_str(&line, command, e) != 0 ||
	     copysh_path(&line, first, e) != 0 ||
	     (second && copysh_path(&line, second, e) != 0) ||
	     say_line(p, line.data, e) != 0;
	buf_finish(&line);
	return rc ? -1 : 0;
}

/* The partial name beside path. free() */
static char *part_of(const char *path, const struct manifest_entry *n)
{
	const char *slash = strrchr(path, '/');
	char part[MANIFEST_PART_SIZE];

	manifest_part_name(path, n, part);
	return alloc_printf("%.*s%s", slash ? (int)(slash - path) + 1 : 0,
			    path, part);
}

/* ---- large files -------------------------------------------------------- */

int copy_put_begin(struct copy_put *p, const char *path,
		   const struct manifest_entry *n, uint64_t offset,
		   struct err *e)
{
	autofree char *part = part_of(path, n);
	char command[128];

	/* ">" makes the file and fails if something is there (noclobber) */
	if (offset == 0 && run_on(p, "rm -f --", part, NULL, e) != 0)
		return -1;
	snprintf(command, sizeof(command),
		 "dd bs=256K iflag=fullblock,count_bytes status=none "
		 "count=%" PRIu64 " %s",
		 n->len - offset, offset > 0 ? ">>" : ">");
	return run_on(p, command, part, NULL, e);
}

int copy_put_bytes(struct copy_put *p, const void *bytes, size_t len,
		   struct err *e)
{
	return copysh_write(p->sh, bytes, len, e);
}

int copy_put_keep(struct copy_put *p, const char *path,
		  const struct manifest_entry *n, struct err *e)
{
	autofree char *part = part_of(path, n);

	if (set_time(p, "touch -m", part, n, e) != 0 ||
	    set_mode(p, part, n, e) != 0)
		return -1;
	return run_on(p, "mv -f -T --", part, path, e);
}

int copy_put_drop(struct copy_put *p, const char *path,
		  const struct manifest_entry *n, struct err *e)
{
	autofree char *part = part_of(path, n);

	return run_on(p, "rm -f --", part, NULL, e);
}

/* ---- small files -------------------------------------------------------- */

static int put_link(struct copy_put *p, const char *path,
		    const struct manifest_entry *n, struct err *e)
{
	autofree char *part = part_of(path, n);
	struct buf line;
	int rc;

	buf_init(&line, LINE_LEN);
	/* the target is a word and no path: it stays as it is */
	rc = run_on(p, "rm -f --", part, NULL, e) != 0 ||
	     buf_add_str(&line, "ln -s -T --", e) != 0 ||
	     copysh_word(&line, n->target, e) != 0 ||
	     copysh_path(&line, part, e) != 0 ||
	     say_line(p, line.data, e) != 0 ||
	     set_time(p, "touch -m -h", part, n, e) != 0 ||
	     run_on(p, "mv -f -T --", part, path, e) != 0;
	buf_finish(&line);
	return rc ? -1 : 0;
}

static int put_alone(struct copy_put *p, const char *path,
		     const struct manifest_entry *n, const char *bytes,
		     struct err *e)
{
	if (n->target)
		return put_link(p, path, n, e);
	if (copy_put_begin(p, path, n, 0, e) != 0 ||
	    copy_put_bytes(p, bytes, n->len, e) != 0)
		return -1;
	return copy_put_keep(p, path, n, e);
}

/* Files of one directory form a group: they are moved by one mv. */
static int open_group(struct copy_put *p, const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	const char *dir = slash ? path : ".";

	if (!slash)
		len = 1;
	if (p->small_count > 0 && strlen(p->group_dir) == len &&
	    memcmp(p->group_dir, dir, len) == 0)
		return 0;
	free(p->group_dir);
	p->group_dir = alloc_strn(dir, len);
	p->group++;
	return buf_add(&p->moves, p->group_dir, len + 1, e);
}

int copy_put_small(struct copy_put *p, const char *path,
		   const struct manifest_entry *n, const char *bytes,
		   struct err *e)
{
	const char *slash = strrchr(path, '/');
	autofree char *member = NULL;
	struct tarstream_entry x = {.target = n->target,
				    .mode = n->mode,
				    .mtime_s = n->mtime_s,
				    .mtime_ns = n->mtime_ns,
				    .bytes = bytes,
				    .len = n->len};

	if (!p->tar)
		return put_alone(p, path, n, bytes, e);
	if (open_group(p, path, e) != 0)
		return -1;
	member = alloc_printf("%u/%s", p->group, slash ? slash + 1 : path);
	x.name = member;
	if (tarstream_add(&p->archive, &x, e) != 0)
		return -1;
	p->small_count++;
	if (p->archive.len >= ARCHIVE_FLUSH_LEN ||
	    p->small_count >= ARCHIVE_FLUSH_COUNT)
		return copy_put_flush(p, e);
	return 0;
}

/* Names in the stage, e.g. "STAGE/17". */
static int make_groups(struct copy_put *p, struct err *e)
{
	if (!p->staged && run_on(p, "mkdir --", p->stage, NULL, e) != 0)
		return -1;
	p->staged = true;
	for (unsigned g = p->first_group; g <= p->group; g++) {
		char name[MANIFEST_PART_SIZE + 16];

		snprintf(name, sizeof(name), "%s/%u", p->stage, g);
		if (add_to_list(p, "mkdir", name, e) != 0)
			return -1;
	}
	return send_list(p, e);
}

static int move_groups(struct copy_put *p, struct err *e)
{
	const char *dir = p->moves.data;

	for (unsigned g = p->first_group; g <= p->group; g++) {
		char command[128 + MANIFEST_PART_SIZE];

		snprintf(command, sizeof(command),
			 "find ./%s/%u -mindepth 1 -exec mv -f -t \"$1\" -- "
			 "{} +",
			 p->stage, g);
		if (run_on(p, "set --", dir, NULL, e) != 0 ||
		    say_line(p, command, e) != 0)
			return -1;
		dir += strlen(dir) + 1;
	}
	return 0;
}

int copy_put_flush(struct copy_put *p, struct err *e)
{
	char command[256];

	if (p->small_count == 0)
		return send_list(p, e);
	if (make_groups(p, e) != 0 || tarstream_end(&p->archive, e) != 0)
		return -1;
	snprintf(command, sizeof(command),
		 "dd bs=64K iflag=fullblock,count_bytes status=none count=%zu |"
		 " tar -x -p --no-same-owner -f - -C ./%s",
		 p->archive.len, p->stage);
	if (say_line(p, command, e) != 0 ||
	    copysh_write(p->sh, p->archive.data, p->archive.len, e) != 0 ||
	    move_groups(p, e) != 0)
		return -1;
	buf_reset(&p->archive);
	buf_reset(&p->moves);
	p->small_count = 0;
	p->first_group = p->group + 1;
	return 0;
}

/* ---- life --------------------------------------------------------------- */

static int open_shell(struct copy_put *p, struct err *e)
{
	const struct copysh_opts o = {.guest = p->side->guest,
				      .vm = p->side->vm,
				      .dir = p->base,
				      .deadline = p->side->deadline,
				      .cancel_fd = p->side->cancel_fd,
				      .peer_fd = -1};

	return copysh_start(&o, &p->sh, e);
}

int copy_put_cut(struct copy_put *p, struct err *e)
{
	if (copysh_cut(p->sh, e) != 0)
		return -1;
	copysh_free(p->sh);
	p->sh = NULL;
	return open_shell(p, e);
}

int copy_put_finish(struct copy_put *p, struct err *e)
{
	if (copy_put_flush(p, e) != 0 ||
	    (p->staged && run_on(p, "rm -rf --", p->stage, NULL, e) != 0))
		return -1;
	return copysh_finish(p->sh, e);
}

/* A stage of its own for each copy. What one that was killed left behind is
 * removed by the next that comes a day later. */
static int name_stage(struct copy_put *p, struct err *e)
{
	char random[17];

	if (crypto_random_name(random, sizeof(random) - 1, e) != 0)
		return -1;
	snprintf(p->stage, sizeof(p->stage), "%s%s", MANIFEST_PART_PREFIX,
		 random);
	return say_line(p,
			   "find . -maxdepth 1 -type d "
			   "-name '" MANIFEST_PART_PREFIX "*' -mmin +1440 "
			   "-exec rm -rf -- {} + || :",
			   e);
}

int copy_put_new(const struct copy_side *s, const char *base, bool tar,
		 struct copy_put **ret, struct err *e)
{
	struct copy_put *p = ALLOC_NEW(struct copy_put);

	p->side = s;
	p->base = alloc_str(base);
	p->tar = tar;
	p->first_group = 1;
	buf_init(&p->list, LINE_LEN);
	buf_init(&p->archive, ARCHIVE_LEN);
	buf_init(&p->moves, (ARCHIVE_FLUSH_COUNT + 1) * (size_t)(LIMIT_PATH_LEN + 1));
	if (open_shell(p, e) != 0 || name_stage(p, e) != 0) {
		copy_put_free(p);
		return -1;
	}
	*ret = p;
	return 0;
}

void copy_put_free(struct copy_put *p)
{
	if (!p)
		return;
	copysh_free(p->sh);
	free(p->base);
	free(p->group_dir);
	buf_finish(&p->list);
	buf_finish(&p->archive);
	buf_finish(&p->moves);
	free(p);
}
