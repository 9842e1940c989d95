/*
 * Reading from a guest.
 *
 * One sh (copysh.h) lists the tree with find and then prints files in batches:
 *
 *	set -- ./a ./b …; cat "$@"; stat "$@" >&2; echo $? >&2
 *
 * A batch's bytes are cut into files by the lengths in the manifest. Whether
 * they were the lengths is told by what comes on stderr: lengths and times as
 * they are afterwards, and how cat ended. If they are those of the manifest
 * still, the batch is CONFIRMed. Else it is DROPped, also when bytes for it
 * are awaited that will never come, and each of its files is read alone,
 * which tells the changed one from the others. Two batches are in flight, so
 * that the guest has work while we verify.
 */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "ops/manifest.h"
#include "ops/wants.h"
#include "vmctl/copy.h"
#include "vmctl/copy_impl.h"
#include "vmctl/copy_list.h"
#include "vmctl/copysh.h"
#include "vmctl/copytext.h"
#include "vmctl/guest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BATCH_FILES 512
#define BATCH_LEN ((uint64_t)4 * 1024 * 1024)
#define BATCH_TEXT_LEN ((size_t)64 * 1024)
/* a longest path, each byte of it quoted in five */
#define LINE_LEN (BATCH_TEXT_LEN + (size_t)8 * LIMIT_PATH_LEN)
#define BATCHES 2
#define READ_LEN ((size_t)256 * 1024)
/* how far output may be ahead of what is said, in time */
#define OVERTAKE_MS 3000
/* "LENGTH TIME": no honest line is longer */
#define SAID_SIZE 96
/* of a complaint */
#define SAID_LEN 16384

struct batch {
	size_t first, count;
};

struct source {
	const struct copy_side *side;
	struct copy_wire wire;
	struct copysh *sh;
	char *path; /* in the guest, without tilde */
	struct manifest *m;
	bool sftp; /* listed by sftp: whole seconds, and stat may be missing */

	struct wants wants;
	bool wanted, finished; /* WANT_END came; RESULT came */
	uint64_t total, done, confirmed; /* bytes */
	struct err result;

	char *text; /* read from the guest: [at, len) is left */
	size_t text_at, text_len;
	size_t next;	     /* the first file that no batch has */
	size_t alone_before; /* files before it go one by one */
	struct batch flight[BATCHES];
	unsigned flight_count;
	size_t verified; /* files of flight[0] that stat told to be good */
	bool good;	 /* all of it */
};

/* ---- reading ------------------------------------------------------------ */

static int open_shell(struct source *s, struct err *e)
{
	struct copysh_opts o = {.guest = s->side->guest,
				.vm = s->side->vm,
				.dir = ".",
				.deadline = s->side->deadline,
				.cancel_fd = s->side->cancel_fd,
				.peer_fd = s->side->link->recv_fd};

	copysh_free(s->sh);
	s->sh = NULL;
	s->text_at = s->text_len = 0;
	return copysh_start(&o, &s->sh, e);
}

/* More text behind what is left: 1; 0 when the guest said something instead,
 * if that may be; -1. */
static int read_more(struct source *s, bool or_said, struct err *e)
{
	size_t n;
	int rc;

	if (s->text_at > 0) {
		memmove(s->text, s->text + s->text_at,
			s->text_len - s->text_at);
		s->text_len -= s->text_at;
		s->text_at = 0;
	}
	if (s->text_len == READ_LEN)
		return err_set(e, ERR_LIMIT, "%s: the guest prints too much",
			       s->side->vm);
	rc = copysh_read(s->sh, s->text + s->text_len, READ_LEN - s->text_len,
			 or_said, &n, e);
	if (rc > 0)
		s->text_len += n;
	return rc;
}

/* ---- listing ------------------------------------------------------------ */

static int list(struct source *s, struct err *e)
{
	struct copy_list l = {.side = s->side,
			      .wire = &s->wire,
			      .path = s->path,
			      .m = s->m};

	if (open_shell(s, e) != 0)
		return -1;
	l.sh = s->sh;
	if (copy_list(&l, e) != 0)
		return -1;
	s->sftp = l.sftp;
	return 0;
}

/* ---- wants -------------------------------------------------------------- */

static int take_want(struct source *s, const struct treewire_record *r,
		     struct err *e)
{
	if (wants_add(&s->wants, s->m, r, e) != 0)
		return -1;
	s->total += manifest_at(s->m, r->index)->len - r->offset;
	return 0;
}

static int take_record(const struct treewire_record *r, void *ctx,
		       struct err *e)
{
	struct source *s = ctx;

	if (r->type == TREE_WANT && !s->wanted)
		return take_want(s, r, e);
	if (r->type == TREE_WANT_END && !s->wanted &&
	    r->count == s->wants.count) {
		s->wanted = true;
		return 0;
	}
	if (r->type == TREE_RESULT && s->wanted) {
		s->side->report->result = r->result;
		if (r->code != ERR_NONE)
			treewire_to_err(r, &s->result);
		s->finished = true;
		return 0;
	}
	return err_set(e, ERR_PROTOCOL, "copy: record %u out of turn",
		       (unsigned)r->type);
}

/* ---- batches ------------------------------------------------------------ */

static const struct manifest_entry *wanted_entry(const struct source *s,
						 size_t i)
{
	return manifest_at(s->m, s->wants.list[i].index);
}

/* Where an entry is in the guest. free() */
static char *guest_path(const struct source *s, const struct manifest_entry *n)
{
	size_t len = strlen(s->path);

	if (!*n->path)
		return alloc_str(s->path);
	return alloc_printf("%s%s%s", s->path,
			    len > 0 && s->path[len - 1] == '/' ? "" : "/",
			    n->path);
}

/* The line that prints a batch. */
static int batch_line(const struct source *s, const struct batch *b,
		      struct buf *line, struct err *e)
{
	uint64_t offset = s->wants.list[b->first].offset;

	buf_reset(line);
	if (buf_add_str(line, "set --", e) != 0)
		return -1;
	for (size_t i = 0; i < b->count; i++) {
		autofree char *path =
			guest_path(s, wanted_entry(s, b->first + i));

		if (copysh_path(line, path, e) != 0)
			return -1;
	}
	if (offset > 0) {
		if (buf_printf(line, e, "; tail -c +%" PRIu64 " -- \"$1\"",
			       offset + 1) != 0)
			return -1;
	} else if (buf_add_str(line, "; cat -- \"$@\"", e) != 0) {
		return -1;
	}
	if (s->sftp)
		return buf_add_str(line,
				   " </dev/null 2>/dev/null;"
				   " echo \"$K end $?\" >&2",
				   e);
	return buf_add_str(line,
			   " </dev/null 2>/dev/null; R=$?;"
			   " { stat --printf \"$K %s %.9Y\\n\" -- \"$@\""
			   " 2>/dev/null; echo \"$K end $R\"; } >&2",
			   e);
}

/* As many files as make a good batch, from `next` on. */
static struct batch next_batch(const struct source *s)
{
	struct batch b = {.first = s->next};
	uint64_t len = 0;
	size_t text_len = 0;

	while (b.first + b.count < s->wants.count && b.count < BATCH_FILES) {
		size_t i = b.first + b.count;
		const struct manifest_entry *n = wanted_entry(s, i);

		len += n->len;
		text_len += strlen(s->path) + strlen(n->path);
		if (b.count > 0 &&
		    (s->sftp || len > BATCH_LEN || text_len > BATCH_TEXT_LEN / 2 ||
		     s->wants.list[i].offset > 0 || i < s->alone_before ||
		     s->wants.list[b.first].offset > 0))
			break;
		b.count++;
	}
	return b;
}

static int send_batches(struct source *s, struct err *e)
{
	struct buf line;
	int rc = 0;

	buf_init(&line, LINE_LEN);
	while (rc == 0 && s->flight_count < BATCHES &&
	       s->next < s->wants.count) {
		struct batch b = next_batch(s);

		rc = batch_line(s, &b, &line, e) != 0 ||
		     copysh_line(s->sh, line.data, e) != 0;
		s->flight[s->flight_count++] = b;
		s->next += b.count;
	}
	buf_finish(&line);
	return rc ? -1 : 0;
}

static int say_data(struct source *s, size_t len, struct err *e)
{
	struct treewire_record r = {
		.type = TREE_DATA,
		.bytes = treewire_str(s->text + s->text_at, len)};

	s->text_at += len;
	s->done += len;
	if (s->side->progress)
		s->side->progress(s->side->ctx, s->done, s->total);
	return copy_say(&s->wire, &r, e);
}

/* One thing that was said of the oldest batch: is it good so far? */
static bool check_said_line(struct source *s, const char *line)
{
	const struct batch *b = &s->flight[0];
	const struct manifest_entry *n;
	uint64_t len;
	int64_t mtime_s;
	uint32_t mtime_ns;

	if (s->sftp || s->verified == b->count) {
		s->good = strcmp(line, "end 0") == 0;
		return s->good;
	}
	n = wanted_entry(s, b->first + s->verified++);
	return copytext_len_time(line, &len, &mtime_s, &mtime_ns, NULL) == 0 &&
	       len == n->len && mtime_s == n->mtime_s &&
	       mtime_ns == n->mtime_ns;
}

/* What has been said of the oldest batch: 1 when it is good, as far as is
 * known, 0 when it is not, -1. */
static int verify(struct source *s, int64_t wait_ms, struct err *e)
{
	while (!s->good) {
		char line[SAID_SIZE];
		int rc = copysh_said(s->sh, line, sizeof(line), wait_ms, e);

		if (rc <= 0)
			return rc < 0 ? -1 : 1;
		if (!check_said_line(s, line))
			return 0;
	}
	return 1;
}

/*
 * All bytes of the oldest batch have come: hear the rest. More output can only
 * be the next batch's, and that starts after all was said of this one: if it
 * fills our memory, the guest prints more than it listed.
 */
static int verify_end(struct source *s, struct err *e)
{
	int rc = verify(s, 0, e);

	while (rc > 0 && !s->good) {
		size_t len = s->text_len - s->text_at;

		if (len > 0 && s->flight_count == 1)
			return 0;
		if (len == READ_LEN) {
			rc = verify(s, OVERTAKE_MS, e);
			return rc > 0 ? s->good : rc;
		}
		if (read_more(s, true, e) < 0)
			return -1;
		rc = verify(s, 0, e);
	}
	/* it was said to be good, but here is more of it */
	if (rc > 0 && s->flight_count == 1 && s->text_len > s->text_at)
		return 0;
	return rc;
}

/* The same for a guest whose stat is not asked. */
static int verify_sftp(struct source *s, const struct batch *b, struct err *e)
{
	const struct manifest_entry *n = wanted_entry(s, b->first);
	autofree char *path = guest_path(s, n);
	struct guest_stat st;

	if (guest_lstat(s->side->guest, path, s->side->deadline, &st, e) != 0)
		return e && e->code != ERR_NOT_FOUND ? -1 : 0;
	return st.type == 'f' && st.len == n->len && st.mtime_s == n->mtime_s;
}

/* The bytes of a wanted file: 1, 0 when they are not what was listed, -1. */
static int pass_bytes(struct source *s, size_t i, struct err *e)
{
	uint64_t left = wanted_entry(s, i)->len - s->wants.list[i].offset;
	struct treewire_record r = {.type = TREE_FILE,
				    .index = s->wants.list[i].index,
				    .offset = s->wants.list[i].offset};

	if (copy_say(&s->wire, &r, e) != 0)
		return -1;
	while (left > 0) {
		size_t n = s->text_len - s->text_at;
		int rc;

		if (n > left)
			n = (size_t)left;
		if (n > TREEWIRE_DATA_LEN)
			n = TREEWIRE_DATA_LEN;
		if (n > 0 && say_data(s, n, e) != 0)
			return -1;
		left -= n;
		if (n > 0)
			continue;
		rc = read_more(s, !s->good, e);
		if (rc == 0)
			rc = verify(s, 0, e);
		if (rc <= 0)
			return rc;
	}
	return 1;
}

/* ---- failures of a batch ------------------------------------------------ */

/* Why could this file not be read as it was listed? */
static void explain(struct source *s, const struct manifest_entry *n,
		    struct err *ret)
{
	autofree char *path = guest_path(s, n);
	const char *shown = *n->path ? n->path : s->path;
	autofree char *safe =
		alloc_printf("%s%s", *path == '/' ? "" : "./", path);
	const char *const argv[] = {"env", "LC_ALL=C", "head", "-c", "1",
				    "--", safe, NULL};
	struct guest_exit how = {0};
	struct err ignored = {0};
	struct buf said;
	const struct guest_run run = {.argv = argv, .err = &said,
				      .cancel_fd = s->side->cancel_fd};

	buf_init(&said, SAID_LEN);
	err_set(ret, ERR_STATE, "%s: changed while it was copied; copy it again",
		shown);
	if (guest_run(s->side->guest, &run, s->side->deadline, &how,
		      &ignored) == 0 &&
	    how.status != 0) {
		if (strstr(said.data, "ermission denied"))
			err_set(ret, ERR_DENIED, "%s: permission denied",
				shown);
		else if (strstr(said.data, "No such file"))
			err_set(ret, ERR_NOT_FOUND,
				"%s: is gone since it was listed", shown);
	}
	buf_finish(&said);
}

/*
 * Start over from a batch that was not what it should be. One file alone has
 * failed (its FILE is still open: TROUBLE ends it); of several each is tried
 * alone.
 */
static int retry(struct source *s, const struct batch *b, struct err *e)
{
	s->flight_count = 0;
	s->next = b->first;
	s->done = s->confirmed;
	if (b->count == 1) {
		struct err trouble = {0};

		explain(s, wanted_entry(s, b->first), &trouble);
		if (copy_say_trouble(&s->wire, &trouble, e) != 0)
			return -1;
		s->next++;
	} else {
		s->alone_before = b->first + b->count;
		if (copy_say_simple(&s->wire, TREE_DROP, e) != 0)
			return -1;
	}
	return open_shell(s, e);
}

/* The oldest batch in flight. */
static int read_batch(struct source *s, struct err *e)
{
	struct batch b = s->flight[0];
	int rc = 1;

	s->verified = 0;
	s->good = false;
	for (size_t i = 0; rc > 0 && i < b.count; i++) {
		rc = pass_bytes(s, b.first + i, e);
		/* a file that is alone ends when it is known to be good */
		if (rc > 0 && b.count > 1 &&
		    copy_say_simple(&s->wire, TREE_FILE_END, e) != 0)
			return -1;
	}
	if (rc > 0)
		rc = verify_end(s, e);
	if (rc > 0 && s->sftp)
		rc = verify_sftp(s, &b, e);
	if (rc < 0)
		return -1;
	if (rc == 0)
		return retry(s, &b, e);
	if (b.count == 1 && copy_say_simple(&s->wire, TREE_FILE_END, e) != 0)
		return -1;
	s->confirmed = s->done;
	s->flight_count--;
	memmove(s->flight, s->flight + 1,
		s->flight_count * sizeof(s->flight[0]));
	return copy_say_simple(&s->wire, TREE_CONFIRM, e);
}

/* ---- the whole ---------------------------------------------------------- */

static int run(struct source *s, struct err *e)
{
	if (list(s, e) != 0)
		return -1;
	while (!s->wanted) {
		if (copy_recv(&s->wire, e) != 0)
			return -1;
	}
	while (s->next < s->wants.count || s->flight_count > 0) {
		if (copy_poll(&s->wire, e) != 0 || send_batches(s, e) != 0 ||
		    read_batch(s, e) != 0)
			return -1;
	}
	if (copy_say_simple(&s->wire, TREE_DONE, e) != 0 ||
	    copy_flush(&s->wire, e) != 0)
		return -1;
	while (!s->finished) {
		if (copy_recv(&s->wire, e) != 0)
			return -1;
	}
	s->wire.ended = true;
	return 0;
}

int copy_from_guest(const struct copy_side *side, struct err *e)
{
	struct source s = {.side = side,
			   .path = copysh_home_path(side->path),
			   .m = manifest_new(),
			   .text = alloc_zero(READ_LEN)};
	int rc;

	copy_wire_init(&s.wire, side, take_record, &s);
	rc = run(&s, e);
	if (rc != 0 && e && e->code == ERR_CANCELLED && !s.wire.ended) {
		struct err told = {0};

		/* it was the other side that ended it: with what? */
		if (copy_poll(&s.wire, &told) != 0)
			*e = told;
	}
	if (rc != 0)
		copy_give_up(&s.wire, e);
	else if (s.result.code != ERR_NONE) {
		if (e)
			*e = s.result;
		rc = -1;
	}
	copysh_free(s.sh);
	copy_wire_finish(&s.wire);
	manifest_free(s.m);
	wants_finish(&s.wants);
	free(s.text);
	free(s.path);
	return rc;
}
