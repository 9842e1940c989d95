#include "tests/support/tree.h"

#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/crypto.h"
#include "base/path.h"
#include "ops/copyroot.h"
#include "ops/treesink.h"
#include "ops/treesource.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PIECE_LEN (1024 * 1024)

void tree_time(const char *path, int64_t mtime_s)
{
	const struct timespec times[2] = {{.tv_sec = mtime_s, .tv_nsec = 5},
					  {.tv_sec = mtime_s, .tv_nsec = 5}};

	assert_int_equal(
		utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

void tree_file(const char *path, size_t len, unsigned seed, unsigned mode,
	       int64_t mtime_s)
{
	autofree char *bytes = alloc_zero(len + 1);
	struct err e = {0};
	uint32_t x = seed * 2654435761u + 1;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525u + 1013904223u;
		bytes[i] = (char)(x >> 24);
	}
	assert_ok(path_write_file(path, bytes, len, mode, &e), &e);
	tree_time(path, mtime_s);
}

void tree_text(const char *path, const char *text)
{
	struct err e = {0};

	assert_ok(path_write_file(path, text, strlen(text), 0644, &e), &e);
}

char *tree_read(const char *path)
{
	struct err e = {0};
	char *data = NULL;
	size_t len;

	assert_ok(path_read_file(path, 1 << 26, &data, &len, &e), &e);
	return data;
}

void tree_dir(const char *path, unsigned mode)
{
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, mode), 0);
}

void tree_link(const char *path, const char *target)
{
	assert_int_equal(symlink(target, path), 0);
}

/* ---- describing --------------------------------------------------------- */

struct lines {
	char **p;
	size_t count, size;
};

static void describe_one(struct lines *l, const char *path, const char *name)
{
	char target[256] = "", hex[CRYPTO_SHA256_HEX_SIZE] = "";
	struct stat st;
	struct err e = {0};

	assert_int_equal(lstat(path, &st), 0);
	if (S_ISLNK(st.st_mode))
		assert_true(readlink(path, target, sizeof(target) - 1) > 0);
	if (S_ISREG(st.st_mode)) {
		autofree char *data = NULL;
		size_t len;

		assert_ok(path_read_file(path, 1 << 26, &data, &len, &e), &e);
		assert_ok(crypto_sha256_hex(data, len, hex, &e), &e);
	}
	if (l->count == l->size) {
		l->size = l->size ? l->size * 2 : 64;
		l->p = (char **)alloc_resize((void *)l->p, l->size,
					     sizeof(*l->p));
	}
	l->p[l->count++] = alloc_printf(
		"%s %o %" PRId64 ".%09ld %s%s\n", name, st.st_mode,
		(int64_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, hex, target);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Breadth first by a list of directories: names[] relative to root. */
char *tree_describe(const char *root)
{
	struct lines dirs = {0}, out = {0};
	struct buf text;
	struct err e = {0};

	dirs.p = (char **)alloc_array(4096, sizeof(*dirs.p));
	dirs.p[dirs.count++] = alloc_str("");
	describe_one(&out, root, "");
	for (size_t i = 0; i < dirs.count; i++) {
		autofree char *path = path_join(root, dirs.p[i]);
		DIR *d = opendir(path);
		const struct dirent *n;

		while (d && (n = readdir(d))) {
			autofree char *name = NULL, *full = NULL;
			struct stat st;

			if (strcmp(n->d_name, ".") == 0 ||
			    strcmp(n->d_name, "..") == 0)
				continue;
			name = *dirs.p[i] ? path_join(dirs.p[i], n->d_name)
					  : alloc_str(n->d_name);
			full = path_join(root, name);
			describe_one(&out, full, name);
			if (lstat(full, &st) == 0 && S_ISDIR(st.st_mode)) {
				assert_true(dirs.count < 4096);
				dirs.p[dirs.count++] = TAKE_PTR(name);
			}
		}
		if (d)
			closedir(d);
	}
	qsort((void *)out.p, out.count, sizeof(*out.p), compare_lines);
	buf_init(&text, SIZE_MAX);
	for (size_t i = 0; i < out.count; i++) {
		assert_ok(buf_add_str(&text, out.p[i], &e), &e);
		free(out.p[i]);
	}
	for (size_t i = 0; i < dirs.count; i++)
		free(dirs.p[i]);
	free((void *)dirs.p);
	free((void *)out.p);
	return text.data;
}

/* ---- copying ------------------------------------------------------------ */

static int spy(const struct treewire_record *r, void *ctx, struct err *e)
{
	struct tree_copy *c = ctx;

	(void)e;
	if (r->type == TREE_RESULT)
		c->result = r->result;
	if (r->type == TREE_FAIL ||
	    (r->type == TREE_RESULT && r->code != ERR_NONE))
		treewire_to_err(r, &c->err);
	if (r->type == TREE_DATA)
		c->data_len += r->bytes.len;
	if (r->type == TREE_WARN) {
		c->warn_count++;
		snprintf(c->warn, sizeof(c->warn), "%.*s", (int)r->text.len,
			 r->text.p);
	}
	return 0;
}

void tree_pump(struct treesource *source, struct treesink *sink,
	       struct tree_copy *c)
{
	size_t max = c->piece ? c->piece : PIECE_LEN;
	autofree char *bytes = alloc_zero(max);
	struct buf down, up;
	struct err e = {0};
	size_t n = 1, m = 1;

	buf_init(&down, TREEWIRE_RECORD_LEN);
	buf_init(&up, TREEWIRE_RECORD_LEN);
	while (n > 0 || m > 0) {
		n = treesource_produce(source, bytes, max);
		assert_ok(treewire_feed(&down, bytes, n, spy, c, &e), &e);
		treesink_feed(sink, bytes, n);
		m = treesink_produce(sink, bytes, max);
		assert_ok(treewire_feed(&up, bytes, m, spy, c, &e), &e);
		treesource_feed(source, bytes, m);
		if (c->cut_len > 0 && c->data_len >= c->cut_len)
			break;
		if (c->meanwhile)
			c->meanwhile(c->data_len, c->ctx);
	}
	if (c->cut_len == 0) {
		assert_true(treesource_ended(source));
		assert_true(treesink_ended(sink));
	}
	buf_finish(&down);
	buf_finish(&up);
	treesource_free(source);
	treesink_free(sink);
}

void tree_copy(const char *from, const char *to, struct tree_copy *c)
{
	auto_copyroot struct copyroot *root = NULL;
	struct treesource *source = NULL;
	struct treesink *sink = NULL;
	struct err e = {0};

	assert_ok(copyroot_new(NULL, NULL, &root, &e), &e);
	assert_ok(treesource_new(root, from, &source, &e), &e);
	assert_ok(treesink_new(root, to, &sink, &e), &e);
	tree_pump(source, sink, c);
}
