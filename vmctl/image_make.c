/*
 * Images from guest/build-image. It writes beside the image and renames last;
 * its work folder has a fixed name, so that the next build removes what one
 * that was killed left behind.
 */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/path.h"
#include "base/proc.h"
#include "vmctl/datadir.h"
#include "vmctl/image.h"
#include "vmctl/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* the finished image beside what build-image needs in its work folder */
#define BUILD_NEED_LEN ((uint64_t)3 << 30)
#define HASH_CAP 1024
/* it removes gigabytes of work files before it ends */
#define BUILD_TERM_MS 60000

/* -- building ---------------------------------------------------------------- */

/* Locked until the fd is closed, also by our death. */
static int lock_build(const struct home *h, struct err *e)
{
	autofree char *path = path_join(h->state, "build.lock");
	autoclose int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_sys(e, "%s", path);
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno == EWOULDBLOCK)
			return err_set(e, ERR_BUSY,
				       "an image is being built already: wait "
				       "for it");
		return err_sys(e, "locking %s", path);
	}
	return TAKE_FD(fd);
}

/* "base,desktop" and the time, such as base-desktop-20260131-120000 */
static void make_id(const char *layers, char ret[IMAGE_ID_SIZE])
{
	time_t now = time(NULL);
	char date[20];
	struct tm tm;

	gmtime_r(&now, &tm);
	(void)!strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &tm);
	snprintf(ret, IMAGE_ID_SIZE, "%.40s-%s", layers, date);
	for (char *p = ret; *p; p++) {
		if (*p == ',')
			*p = '-';
	}
}

/* "progress PERCENT TEXT" */
static void on_line(const char *line, void *ctx)
{
	static const char word[] = "progress ";
	const struct image_build *b = ctx;
	char *text;
	long percent;

	if (strncmp(line, word, strlen(word)) != 0)
		return;
	percent = strtol(line + strlen(word), &text, 10);
	if (*text == ' ' && percent >= 0 && percent <= 100)
		b->progress(b->ctx, (int)percent, text + 1);
}

/* build-image ends with "error TEXT" on stderr, which proc_run() quotes. */
static int fail_build(struct err *e)
{
	const char *text = strstr(e->msg, "error ");
	struct err why = {.code = e->code};

	if (!text || e->code == ERR_CANCELLED)
		return err_wrap(e, "building the image");
	err_set(&why, strstr(text, "no space left") ? ERR_NOSPACE : e->code,
		"building the image: %s", text + strlen("error "));
	*e = why;
	return -1;
}

/*
 * The work folder of a build that was killed may hold files of subordinate
 * ids, which only a namespace with those ids can remove.
 */
static int remove_work(const char *dir, struct deadline d, struct err *e)
{
	const char *const argv[] = {"unshare", "--map-root-user", "--map-auto",
				    "--", "rm", "-rf", "--", dir, NULL};
	const struct proc_run r = {.cancel_fd = -1};

	if (access(dir, F_OK) && errno == ENOENT)
		return 0;
	if (geteuid() == 0)
		return path_remove_tree(dir, e);
	return proc_run(argv, &r, d, e);
}

static int run_build(const struct home *h, const struct image_build *b,
		     const char *id, struct err *e)
{
	autofree char *script = path_join(b->guest_dir, "build-image");
	autofree char *out = alloc_printf("%s/images/%s.qcow2", h->data, id);
	autofree char *work = alloc_printf("/var/tmp/boxery-%s-build",
					   h->instance);
	const char *const argv[] = {script,   "--out",	out,  "--layers",
				    b->layers, "--work", work, NULL};
	struct image_build told = *b;
	const struct proc_run r = {.line = on_line,
				   .line_ctx = &told,
				   .cancel_fd = b->cancel_fd,
				   .term_ms = BUILD_TERM_MS};
	struct err why = {0};
	int rc;

	if (remove_work(work, b->deadline, e) ||
	    path_make_dirs(work, 0755, e))
		return -1;
	rc = proc_run(argv, &r, b->deadline, &why);
	if (rc) {
		fail_build(&why);
		if (e)
			*e = why;
	}
	if (remove_work(work, deadline_in_ms(BUILD_TERM_MS), &why))
		log_warn("%s: %s", work, err_msg(&why));
	return rc;
}

int image_build(const struct home *h, const struct image_build *b,
		struct image *ret, struct err *e)
{
	autofree char *images = datadir_images(h);
	autoclose int lock = lock_build(h, e);
	char id[IMAGE_ID_SIZE];

	if (lock < 0 || overlay_check_space(images, BUILD_NEED_LEN,
					    "a guest image", e))
		return -1;
	make_id(b->layers, id);
	if (run_build(h, b, id, e))
		return -1;
	return image_get(h, id, ret, e);
}

/* -- is an image current? ---------------------------------------------------- */

/* The hash of a layer's files as they are now. */
static int layer_hash(const struct image_build *b, const char *layer,
		      struct buf *out, struct err *e)
{
	autofree char *script = path_join(b->guest_dir, "build-image");
	const char *const argv[] = {script, "--hash", layer, NULL};
	const struct proc_run r = {.out = out, .cancel_fd = b->cancel_fd};
	struct err why = {0};

	buf_reset(out);
	if (proc_run(argv, &r, b->deadline, &why)) {
		fail_build(&why);
		if (e)
			*e = why;
		return -1;
	}
	while (out->len && out->data[out->len - 1] == '\n')
		out->data[--out->len] = '\0';
	return 0;
}

/* [{name, sha256}] of the wanted layers, with the implicit first one. */
static json_t *current_layers(const struct image_build *b, struct err *e)
{
	autofree char *names = alloc_printf("boot,%s", b->layers);
	auto_json json_t *layers = json_array();
	struct buf hash;
	int rc = 0;

	buf_init(&hash, HASH_CAP);
	for (char *next = names; next && rc == 0;) {
		const char *name = strsep(&next, ",");

		rc = layer_hash(b, name, &hash, e);
		if (rc == 0)
			json_array_append_new(
				layers, json_pack("{s:s, s:s}", "name", name,
						  "sha256", hash.data));
	}
	buf_finish(&hash);
	return rc == 0 ? TAKE_PTR(layers) : NULL;
}

struct current {
	json_t *layers;
	struct image *ret;
	bool found;
};

static int match_current(struct image *i, void *ctx, struct err *e)
{
	struct current *c = ctx;

	(void)e;
	if (c->found || !json_equal(i->layers, c->layers))
		return 0;
	*c->ret = *i;
	*i = (struct image){.path = NULL};
	c->found = true;
	return 0;
}

int image_find_current(const struct home *h, const struct image_build *b,
		       struct image *ret, struct err *e)
{
	auto_json json_t *layers = current_layers(b, e);
	struct current c = {layers, ret, false};

	if (!layers || image_list(h, match_current, &c, e))
		return -1;
	if (!c.found)
		return err_set(e, ERR_NOT_FOUND,
			       "no image of the layers %s as they are now: run "
			       "boxery build-base",
			       b->layers);
	return 0;
}
