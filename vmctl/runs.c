#include "vmctl/runs.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/crypto.h"
#include "base/limits.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char suffix[] = ".out";

static bool valid_id(const char *id)
{
	return strlen(id) == RUNS_ID_LEN &&
	       strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789") ==
		       RUNS_ID_LEN;
}

/* vm is a label: validated by the operations table. */
static char *folder_of(const struct home *h, const char *vm)
{
	return alloc_printf("%s/runs/%s", h->state, vm);
}

struct old {
	char name[RUNS_ID_LEN + sizeof(suffix)];
	struct timespec when;
	uint64_t len;
};

static int list_old(DIR *dir, struct old *list, int max)
{
	struct dirent *d;
	struct stat st;
	int n = 0;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's is, per stream */
	while (n < max && (d = readdir(dir))) {
		if (strlen(d->d_name) != RUNS_ID_LEN + sizeof(suffix) - 1 ||
		    fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		memcpy(list[n].name, d->d_name, sizeof(list[n].name));
		list[n].when = st.st_mtim;
		list[n].len = (uint64_t)st.st_size;
		n++;
	}
	return n;
}

static int newest_first(const void *a, const void *b)
{
	const struct old *x = a, *y = b;

	if (x->when.tv_sec != y->when.tv_sec)
		return x->when.tv_sec > y->when.tv_sec ? -1 : 1;
	return (x->when.tv_nsec < y->when.tv_nsec) -
	       (x->when.tv_nsec > y->when.tv_nsec);
}

/* Room for one more. Failures leave more than there should be, no harm. */
static void prune(const char *folder)
{
	struct old list[LIMIT_RUNS_COUNT * 2];
	DIR *dir = opendir(folder);
	uint64_t total_len = 0;
	int n;

	if (!dir)
		return;
	n = list_old(dir, list, (int)ARRAY_COUNT(list));
	qsort(list, (size_t)n, sizeof(list[0]), newest_first);
	for (int i = 0; i < n; i++) {
		total_len += list[i].len;
		if (i >= LIMIT_RUNS_COUNT - 1 || total_len > LIMIT_RUNS_LEN)
			unlinkat(dirfd(dir), list[i].name, 0);
	}
	closedir(dir);
}

int runs_create(const struct home *h, const char *vm, struct run *ret,
		struct err *e)
{
	autofree char *folder = folder_of(h, vm);
	autofree char *path = NULL;
	struct run r = {.fd = -1};

	if (path_make_dirs(folder, 0700, e) < 0 ||
	    crypto_random_name(r.id, RUNS_ID_LEN, e) < 0)
		return -1;
	prune(folder);
	path = alloc_printf("%s/%s%s", folder, r.id, suffix);
	r.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (r.fd < 0)
		return err_sys(e, "%s", path);
	*ret = r;
	return 0;
}

void runs_add(struct run *r, const void *p, size_t len)
{
	size_t room = LIMIT_RUN_KEPT_LEN - (size_t)r->kept_len;
	const char *at = p;
	ssize_t n;

	if (len > room || r->fd < 0)
		r->cut = true;
	if (len > room)
		len = room;
	while (r->fd >= 0 && len > 0) {
		n = write(r->fd, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r->cut = true;
			runs_close(r);
			return;
		}
		at += n;
		len -= (size_t)n;
		r->kept_len += (uint64_t)n;
	}
}

void runs_close(struct run *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

int runs_open(const struct home *h, const char *vm, const char *id,
	      struct err *e)
{
	autofree char *folder = folder_of(h, vm);
	autofree char *path = NULL;
	int fd = -1;

	if (valid_id(id)) {
		path = alloc_printf("%s/%s%s", folder, id, suffix);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	}
	if (fd < 0)
		return err_set(e, ERR_NOT_FOUND,
			       "run:%s: no output of that name is kept for %s; "
			       "old ones are removed",
			       id, vm);
	return fd;
}

int runs_forget(const struct home *h, const char *vm, struct err *e)
{
	autofree char *folder = folder_of(h, vm);

	return path_remove_tree(folder, e);
}
