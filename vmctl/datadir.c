#include "vmctl/datadir.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define DIR_MODE 02710
/* virtlogd keeps three older parts of a log by default */
#define CONSOLE_PARTS_COUNT 10

char *datadir_images(const struct home *h)
{
	return path_join(h->data, "images");
}

char *datadir_vms(const struct home *h)
{
	return path_join(h->data, "vms");
}

static char *vm_file(const struct home *h, const char *vm, const char *suffix)
{
	return alloc_printf("%s/vms/%s%s", h->data, vm, suffix);
}

char *datadir_disk(const struct home *h, const char *vm)
{
	return vm_file(h, vm, ".qcow2");
}

char *datadir_seed(const struct home *h, const char *vm)
{
	return vm_file(h, vm, ".seed.img");
}

char *datadir_console(const struct home *h, const char *vm)
{
	return vm_file(h, vm, ".console.log");
}

/* -- the folders ------------------------------------------------------------- */

static int say_command(const struct home *h, const struct datadir_qemu *q,
		       const char *problem, struct err *e)
{
	char text[1024], group[32];
	struct group g, *found = NULL;

	if (getgrgid_r(q->gid, &g, text, sizeof(text), &found) || !found)
		snprintf(group, sizeof(group), "%u", (unsigned)q->gid);
	else
		snprintf(group, sizeof(group), "%s", found->gr_name);
	return err_set(e, ERR_DENIED,
		       "%s: sudo install -d -m 2710 -o %u -g %s %s %s/images "
		       "%s/vms",
		       problem, (unsigned)geteuid(), group, h->data, h->data,
		       h->data);
}

static bool mode_is_right(mode_t mode)
{
	return (mode & DIR_MODE) == DIR_MODE && !(mode & S_IRWXO);
}

static int check_one(const struct home *h, const struct datadir_qemu *q,
		     const char *dir, struct err *e)
{
	struct stat st;
	const char *wrong = NULL;
	autofree char *problem = NULL;

	if (lstat(dir, &st)) {
		if (errno != ENOENT && errno != EACCES)
			return err_sys(e, "%s", dir);
		wrong = errno == ENOENT ? "does not exist" : "is closed to you";
	} else if (!S_ISDIR(st.st_mode)) {
		wrong = "is not a folder";
	} else if (st.st_uid != geteuid() || st.st_gid != q->gid) {
		wrong = "has another owner or group";
	} else if (!mode_is_right(st.st_mode)) {
		wrong = "has another mode than 2710";
	}
	if (!wrong)
		return 0;
	problem = alloc_printf("%s %s", dir, wrong);
	return say_command(h, q, problem, e);
}

/* Can QEMU's user walk through dir? */
static bool may_enter(const struct stat *st, const struct datadir_qemu *q)
{
	if (q->uid == 0)
		return true;
	if (st->st_uid == q->uid)
		return st->st_mode & S_IXUSR;
	if (st->st_gid == q->gid)
		return st->st_mode & S_IXGRP;
	return st->st_mode & S_IXOTH;
}

static int check_way(const struct home *h, const struct datadir_qemu *q,
		     struct err *e)
{
	autofree char *dir = alloc_str(h->data);
	struct stat st;

	for (char *slash = strchr(dir + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (stat(dir, &st))
			return err_sys(e, "%s", dir);
		if (!may_enter(&st, q))
			return err_set(e, ERR_DENIED,
				       "QEMU's user cannot enter %s: chmod o+x "
				       "%s, or use another BOXERY_HOME",
				       dir, dir);
		*slash = '/';
	}
	return 0;
}

int datadir_check(const struct home *h, const struct datadir_qemu *q,
		  struct err *e)
{
	autofree char *images = datadir_images(h);
	autofree char *vms = datadir_vms(h);

	if (check_one(h, q, h->data, e) || check_one(h, q, images, e) ||
	    check_one(h, q, vms, e))
		return -1;
	return check_way(h, q, e);
}

/* Best effort: what we may not do is found by the check afterwards. */
static void make_one(const struct datadir_qemu *q, const char *dir)
{
	bool made = mkdir(dir, 0710) == 0;
	struct stat st;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_gid != q->gid &&
	    fchown(fd, (uid_t)-1, q->gid) && made) {
		/* not ours to make: leave it to the command we name */
		rmdir(dir);
	} else if (fstat(fd, &st) == 0 && !mode_is_right(st.st_mode)) {
		fchmod(fd, DIR_MODE);
	}
	close(fd);
}

int datadir_make(const struct home *h, const struct datadir_qemu *q,
		 struct err *e)
{
	autofree char *images = datadir_images(h);
	autofree char *vms = datadir_vms(h);
	autofree char *parent = alloc_str(h->data);
	struct stat st;

	*strrchr(parent, '/') = '\0';
	if (geteuid() == 0 && path_make_dirs(parent, 0755, e))
		return -1;
	/* A relocated home is boxery's own folder: passing through is all
	 * that others may do, what is below has its own modes. */
	if (h->relocated && stat(h->relocated, &st) == 0 &&
	    st.st_uid == geteuid() && !(st.st_mode & S_IXOTH))
		chmod(h->relocated, (st.st_mode & 07777) | S_IXGRP | S_IXOTH);
	make_one(q, h->data);
	make_one(q, images);
	make_one(q, vms);
	return datadir_check(h, q, e);
}

/* -- files of a machine ------------------------------------------------------ */

int datadir_reset_console(const struct home *h, const char *vm, struct err *e)
{
	autofree char *path = datadir_console(h, vm);
	autoclose int fd = -1;

	if (unlink(path) && errno != ENOENT)
		return err_sys(e, "removing %s", path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0660);
	if (fd < 0)
		return err_sys(e, "%s", path);
	if (fchmod(fd, 0660))
		return err_sys(e, "chmod %s", path);
	return 0;
}

static int remove_file(const char *path, struct err *e)
{
	if (unlink(path) && errno != ENOENT)
		return err_sys(e, "removing %s", path);
	return 0;
}

int datadir_remove_vm(const struct home *h, const char *vm, struct err *e)
{
	autofree char *disk = datadir_disk(h, vm);
	autofree char *seed = datadir_seed(h, vm);
	autofree char *console = datadir_console(h, vm);

	if (remove_file(disk, e) || remove_file(seed, e) ||
	    remove_file(console, e))
		return -1;
	for (int i = 0; i < CONSOLE_PARTS_COUNT; i++) {
		autofree char *part = alloc_printf("%s.%d", console, i);

		if (remove_file(part, e))
			return -1;
	}
	return 0;
}
