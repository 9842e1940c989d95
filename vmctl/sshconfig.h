/*
 * sshconfig.h - what OpenSSH is told: config/ssh_config, and host keys when it
 * asks
 *
 * `boxery ssh` runs `ssh -F config/ssh_config NAME`, so that nothing of the
 * person's own configuration, agent or known hosts takes part, and ssh asks
 * `boxery-host known-hosts boxery-NAME` which key NAME must have.
 *
 * Shapes:  one Host section a machine, options that hold for all at the end.
 * Errors:  ERR_INVALID for a path that ssh_config(5) cannot carry.
 * Threads: sshconfig_update() serialises itself.
 * Source:  ssh_config(5): KnownHostsCommand, HostKeyAlias, TOKENS.
 */
#ifndef VMCTL_SSHCONFIG_H
#define VMCTL_SSHCONFIG_H

#include "base/buf.h"
#include "base/err.h"
#include "base/home.h"

#include <stddef.h>

struct registry;

struct sshconfig_host {
	char name[64];
	char address[16];
};
/* The text. program: boxery-host's absolute path. */
int sshconfig_format(const struct home *h, const char *program,
		     const struct sshconfig_host *hosts, size_t count,
		     struct buf *out, struct err *e)
	__attribute__((warn_unused_result));
/* Write config/ssh_config anew from the records. */
int sshconfig_update(const struct home *h, struct registry *r, struct err *e)
	__attribute__((warn_unused_result));
/*
 * The known_hosts line for what ssh asks ("boxery-NAME"), with newline. No
 * line for a machine without a pin or a host that is none of ours: ssh then
 * refuses with "Host key verification failed".
 */
int sshconfig_known_hosts(const struct home *h, const char *host,
			  struct buf *out, struct err *e)
	__attribute__((warn_unused_result));

#endif
