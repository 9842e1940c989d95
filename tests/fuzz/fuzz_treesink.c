/*
 * A local sink that is fed anything: it may write what it likes beneath its
 * target, and nothing beside it. The first byte picks what is there already.
 */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "ops/copyroot.h"
#include "ops/treesink.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static char base[64];
static int base_fd = -1;

static void must(int ok)
{
	if (!ok)
		abort();
}

static void clean_up(void)
{
	struct err e = {0};

	close(base_fd);
	if (path_remove_tree(base, &e) != 0)
		fprintf(stderr, "%s\n", err_msg(&e));
}

static void make_base(void)
{
	int fd;

	snprintf(base, sizeof(base), "%s/boxery-fuzz-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	must(mkdtemp(base) != NULL);
	base_fd = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	must(base_fd >= 0 && mkdirat(base_fd, "outside", 0755) == 0);
	fd = openat(base_fd, "outside/secret", O_WRONLY | O_CREAT | O_CLOEXEC,
		    0644);
	must(fd >= 0 && write(fd, "kept", 4) == 4);
	close(fd);
	atexit(clean_up);
}

/* base/outside/secret, and base/dst with things in the way. */
static void set_up(uint8_t what)
{
	autofree char *dst = NULL;
	struct err e = {0};

	if (base_fd < 0)
		make_base();
	dst = path_join(base, "dst");
	must(path_remove_tree(dst, &e) == 0);
	must(mkdirat(base_fd, "dst", 0755) == 0);
	if (what & 1)
		must(symlinkat("../outside", base_fd, "dst/sub") == 0);
	else
		must(mkdirat(base_fd, "dst/sub", 0755) == 0);
	if (what & 2)
		must(linkat(base_fd, "outside/secret", base_fd, "dst/a", 0) ==
		     0);
	if (what & 4)
		must(symlinkat("../outside/secret", base_fd, "dst/b") == 0);
	if (what & 8)
		must(mkfifoat(base_fd, "dst/c", 0644) == 0);
	if (what & 16)
		must(symlinkat("../outside", base_fd, "dst/root") == 0);
}

static void check_outside(void)
{
	char text[8] = "";
	struct stat st;
	int fd = openat(base_fd, "outside/secret", O_RDONLY | O_CLOEXEC);
	int dir_fd = openat(base_fd, "outside", O_RDONLY | O_CLOEXEC);
	DIR *dir = fdopendir(dir_fd);
	unsigned names = 0;

	must(fd >= 0 && dir != NULL && read(fd, text, sizeof(text)) == 4 &&
	     memcmp(text, "kept", 4) == 0);
	must(fstat(fd, &st) == 0 && (st.st_mode & 07777) == 0644);
	while (readdir(dir))
		names++;
	must(names == 3);
	close(fd);
	closedir(dir);
	/* and nothing beside dst and outside */
	must(stat(base, &st) == 0 && st.st_nlink == 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	auto_copyroot struct copyroot *root = NULL;
	struct treesink *t = NULL;
	struct err e = {0};
	autofree char *to = NULL;
	char out[512];

	if (len < 2)
		return 0;
	set_up(data[0]);
	to = path_join(base, data[0] & 32 ? "dst/new" : "dst");
	must(copyroot_new(NULL, NULL, &root, &e) == 0);
	must(treesink_new(root, to, &t, &e) == 0);
	for (size_t at = 1, n; at < len && !treesink_ended(t); at += n) {
		n = len - at < 64 ? len - at : 64;
		treesink_feed(t, data + at, n);
		while (treesink_produce(t, out, sizeof(out)) > 0)
			;
	}
	treesink_free(t);
	check_outside();
	return 0;
}
