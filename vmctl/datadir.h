/*
 * datadir.h - the folder that QEMU works in, and the files of each machine
 *
 * Theory: QEMU runs as a user of its own, who cannot enter a home. So disks
 * lie in home.data: owner us, group QEMU's, mode 2710 with images/ and vms/
 * below. Set-group-id gives each file QEMU's group without our being a member
 * of it; and as chmod of a folder would take that bit away from a user who is
 * no member, there are no folders per machine, only files with its name.
 *
 * Shapes:  paths are the caller's to free().
 * Errors:  ERR_DENIED or ERR_STATE with the sudo command that mends it.
 * Threads: no shared state.
 */
#ifndef VMCTL_DATADIR_H
#define VMCTL_DATADIR_H

#include "base/err.h"
#include "base/home.h"

#include <sys/types.h>

/* Whom QEMU runs as. */
struct datadir_qemu {
	uid_t uid;
	gid_t gid;
};

/* Make what is missing (as root, or where we may) and check all of it. */
int datadir_make(const struct home *h, const struct datadir_qemu *q,
		 struct err *e) __attribute__((warn_unused_result));
/* Change nothing; the first thing that is wrong. */
int datadir_check(const struct home *h, const struct datadir_qemu *q,
		  struct err *e) __attribute__((warn_unused_result));

char *datadir_images(const struct home *h);
char *datadir_vms(const struct home *h);
char *datadir_disk(const struct home *h, const char *vm);
char *datadir_seed(const struct home *h, const char *vm);
char *datadir_console(const struct home *h, const char *vm);
/* An empty console log that QEMU and virtlogd append to and we can read. */
int datadir_reset_console(const struct home *h, const char *vm, struct err *e)
	__attribute__((warn_unused_result));
/* Disk, seed, console and its older parts; missing ones are fine. */
int datadir_remove_vm(const struct home *h, const char *vm, struct err *e)
	__attribute__((warn_unused_result));

#endif
