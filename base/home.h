/*
 * home.h - where everything of ours lies
 *
 * Shapes:  struct home holds absolute paths. With BOXERY_HOME=DIR (or
 *          home_init's dir) they are DIR/{config,state,data,run}; else
 *          ~/.config/boxery, ~/.local/state/boxery,
 *          /var/lib/boxery/UID and ~/.local/state/boxery/run.
 *          HOME is taken from the password database when the environment
 *          has none. instance names this home in libvirt: "u<UID>", or "h"
 *          and eight hex digits of the SHA-256 of the real DIR.
 * Errors:  ERR_INVALID for a relative DIR or a socket path over 107 bytes.
 * Threads: read-only after home_init().
 */
#ifndef BASE_HOME_H
#define BASE_HOME_H

#include "base/err.h"

struct home {
	char *config;	/* 0700: host-keys/, ssh_config, shapes.json, … */
	char *state;	/* 0700: boxery.db, jobs' output, locks, logs */
	char *data;	/* made by init: images/, vms/, QEMU must reach it */
	char *run;	/* 0700: sockets */
	char *socket;	/* run/host.sock */
	char *db;	/* state/boxery.db */
	char *instance;
	char *relocated; /* the DIR of BOXERY_HOME, or NULL */
};

/* dir: --home, or NULL for $BOXERY_HOME, or the default places. */
int home_init(struct home *h, const char *dir, struct err *e)
	__attribute__((warn_unused_result));
void home_finish(struct home *h);
/* Make config, state, run (0700). data is made by `init` only. ERR_DENIED when
 * one of them, or DIR, is somebody else's. */
int home_make_dirs(const struct home *h, struct err *e)
	__attribute__((warn_unused_result));
/* The home folder by the password database: HOME may say another. NULL when
 * there is none. free() */
char *home_by_password(void);

#endif
