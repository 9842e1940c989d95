/*
 * Writes the seed corpora of fuzz_treewire and fuzz_treesink with our own
 * encoders, and of fuzz_copytext with this system's find and stat:
 *
 *	make tools && build/release/tools/corpus_copy tests/fuzz/corpus
 *
 * Run it when the formats change, and commit what it wrote.
 */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/proc.h"
#include "ops/copyroot.h"
#include "ops/manifest.h"
#include "ops/treesink.h"
#include "ops/treesource.h"
#include "vmctl/copytext.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *root;

static void must(int rc, const struct err *e)
{
	if (rc != 0) {
		fprintf(stderr, "corpus_copy: %s\n", err_msg(e));
		_exit(1);
	}
}

static void save(const char *kind, const char *name, const void *p, size_t len)
{
	autofree char *dir = path_join(root, kind);
	autofree char *path = path_join(dir, name);
	struct err e = {0};

	must(path_make_dirs(dir, 0755, &e), &e);
	must(path_write_file(path, p, len, 0644, &e), &e);
}

/* ---- records ------------------------------------------------------------ */

struct split {
	const char *side;
	unsigned seen[TREE_TYPE_END];
};

/* The first record of each type. */
static int save_record(const struct treewire_record *r, void *ctx,
		       struct err *e)
{
	struct split *s = ctx;
	char name[64];
	struct buf b;

	if (s->seen[r->type]++ > 2)
		return 0;
	buf_init(&b, TREEWIRE_RECORD_LEN);
	must(treewire_encode(&b, r, e), e);
	snprintf(name, sizeof(name), "%s-%02u-%u", s->side, (unsigned)r->type,
		 s->seen[r->type]);
	save("treewire", name, b.data, b.len);
	buf_finish(&b);
	return 0;
}

/* What a real source says to a real sink; a byte of choice in front. */
static void save_session(const char *name, const char *from, const char *to,
			 uint8_t choice, struct split *split)
{
	auto_copyroot struct copyroot *c = NULL;
	struct treesource *source;
	struct treesink *sink;
	static char bytes[65536];
	struct buf all, in;
	struct err e = {0};
	size_t n, m;

	buf_init(&all, SIZE_MAX);
	buf_init(&in, TREEWIRE_RECORD_LEN);
	must(buf_add(&all, &choice, 1, &e), &e);
	must(copyroot_new(NULL, NULL, &c, &e), &e);
	must(treesource_new(c, from, &source, &e), &e);
	must(treesink_new(c, to, &sink, &e), &e);
	do {
		n = treesource_produce(source, bytes, sizeof(bytes));
		must(buf_add(&all, bytes, n, &e), &e);
		must(treewire_feed(&in, bytes, n, save_record, split, &e), &e);
		treesink_feed(sink, bytes, n);
		m = treesink_produce(sink, bytes, sizeof(bytes));
		treesource_feed(source, bytes, m);
	} while (n > 0 || m > 0);
	save("treesink", name, all.data, all.len);
	treesource_free(source);
	treesink_free(sink);
	buf_finish(&all);
	buf_finish(&in);
}

/* What only a sink says, and what an honest source seldom does. */
static void save_rare(void)
{
	const struct treewire_record rare[] = {
		{.type = TREE_WARN, .text = {"left out 1 special file", 23}},
		{.type = TREE_TROUBLE, .code = ERR_STATE, .text = {"x", 1}},
		{.type = TREE_WANT, .index = 1, .offset = 5},
		{.type = TREE_WANT_END, .count = 1},
		{.type = TREE_DROP},
		{.type = TREE_RESULT, .result = {1, 2, 3, 4, 5, 6}},
		{.type = TREE_FAIL, .code = ERR_NOSPACE, .text = {"full", 4}},
	};
	struct split s = {.side = "rare"};
	struct err e = {0};

	for (size_t i = 0; i < ARRAY_COUNT(rare); i++)
		must(save_record(&rare[i], &s, &e), &e);
}

/* ---- the guest's text ---------------------------------------------------- */

static void save_output(const char *name, const char *const *argv)
{
	const struct proc_run run = {.cancel_fd = -1};
	struct proc_run with = run;
	struct err e = {0};
	struct buf out;

	buf_init(&out, SIZE_MAX);
	with.out = &out;
	must(proc_run(argv, &with, deadline_in_ms(20000), &e), &e);
	if (strcmp(name, "find") == 0)
		must(buf_add(&out, "=\0=0", 5, &e), &e);
	save("copytext", name, out.data, out.len);
	buf_finish(&out);
}

int main(int argc, char *argv[])
{
	static const char *const find[] = {"find", "src", "-printf",
					   COPYTEXT_FIND, NULL};
	static const char *const stat_all[] = {
		"stat", "--printf", COPYTEXT_STAT, "--", "./src", "./src/a",
		"./src/link", "/dev/null", NULL};
	static const char *const stat_line[] = {"stat", "--printf", "%s %.9Y",
						"--", "./src/a", NULL};
	char dir[] = "/tmp/boxery-corpus-XXXXXX";
	struct split s = {.side = "source"};
	struct err e = {0};

	if (argc != 2) {
		fprintf(stderr, "usage: corpus_copy DIR\n");
		return 2;
	}
	root = realpath(argv[1], NULL);
	if (!root || !mkdtemp(dir) || chdir(dir) != 0 ||
	    mkdir("src", 0755) != 0 || mkdir("src/sub", 0700) != 0 ||
	    symlink("sub/b", "src/link") != 0 || mkdir("dst", 0755) != 0)
		return 1;
	must(path_write_file("src/a", "hello", 5, 0644, &e), &e);
	must(path_write_file("src/sub/b", "", 0, 0755, &e), &e);
	must(path_write_file("src/sub/new\nline", "x", 1, 0600, &e), &e);
	save_session("tree", "src/.", "dst", 0, &s);
	save_session("again", "src/.", "dst", 0, &s);
	save_session("as", "src", "new", 32, &s);
	save_session("planted", "src", "new2", 63, &s);
	save_session("file", "src/a", "dst/a2", 6, &s);
	save_session("link", "src/link", "dst/l", 9, &s);
	save_rare();
	save_output("find", find);
	save_output("stat", stat_all);
	save_output("line", stat_line);
	must(chdir("/"), &e);
	must(path_remove_tree(dir, &e), &e);
	return 0;
}
