#include "vmctl/sshconfig.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "ops/validate.h"
#include "vmctl/hostkey.h"
#include "vmctl/registry.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CONFIG_CAP ((size_t)1024 * 1024)
#define ALIAS "boxery-"

/* -- writing -----------------------------------------------------------------
 */

/* A path in quotes; % is ssh's own escape. */
static int add_path(struct buf *out, const char *path, struct err *e)
{
	if (strpbrk(path, "\"\n\r\\"))
		return err_set(e, ERR_INVALID,
			       "%s: ssh cannot be told a path with quotes, "
			       "backslashes or newlines",
			       path);
	if (buf_add_str(out, "\"", e))
		return -1;
	for (; *path; path++) {
		if (buf_add(out, path, 1, e) ||
		    (*path == '%' && buf_add_str(out, "%", e)))
			return -1;
	}
	return buf_add_str(out, "\"", e);
}

static int add_host(const struct home *h, const struct sshconfig_host *host,
		    struct buf *out, struct err *e)
{
	autofree char *key = hostkey_client_path(h, host->name);

	if (buf_printf(out, e,
		       "Host " ALIAS "%s %s\n"
		       "\tHostName %s\n"
		       "\tHostKeyAlias " ALIAS "%s\n"
		       "\tIdentityFile ",
		       host->name, host->name, host->address, host->name) ||
	    add_path(out, key, e))
		return -1;
	return buf_add_str(out, "\n\n", e);
}

/* --home only where the default would not find the same files. */
static int add_command(const struct home *h, const char *program,
		       struct buf *out, struct err *e)
{
	if (buf_add_str(out, "\tKnownHostsCommand ", e) ||
	    add_path(out, program, e))
		return -1;
	if (h->relocated &&
	    (buf_add_str(out, " --home ", e) || add_path(out, h->relocated, e)))
		return -1;
	return buf_add_str(out, " known-hosts %H\n", e);
}

int sshconfig_format(const struct home *h, const char *program,
		     const struct sshconfig_host *hosts, size_t count,
		     struct buf *out, struct err *e)
{
	if (buf_add_str(out,
			"# Written by boxery; changes are lost. Use it with "
			"boxery ssh NAME.\n\n",
			e))
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (add_host(h, &hosts[i], out, e))
			return -1;
	}
	if (buf_add_str(out,
			"Host *\n"
			"\tUser agent\n"
			"\tPort 22\n",
			e) ||
	    add_command(h, program, out, e))
		return -1;
	return buf_add_str(out,
			   "\tStrictHostKeyChecking yes\n"
			   "\tHostKeyAlgorithms ssh-ed25519\n"
			   "\tUserKnownHostsFile /dev/null\n"
			   "\tGlobalKnownHostsFile /dev/null\n"
			   "\tUpdateHostKeys no\n"
			   "\tVerifyHostKeyDNS no\n"
			   "\tCheckHostIP no\n"
			   "\tIdentitiesOnly yes\n"
			   "\tIdentityAgent none\n"
			   "\tPreferredAuthentications publickey\n"
			   "\tPasswordAuthentication no\n"
			   "\tKbdInteractiveAuthentication no\n"
			   "\tGSSAPIAuthentication no\n"
			   "\tHostbasedAuthentication no\n"
			   "\tForwardAgent no\n"
			   "\tForwardX11 no\n"
			   "\tForwardX11Trusted no\n"
			   "\tClearAllForwardings yes\n"
			   "\tPermitLocalCommand no\n"
			   "\tControlMaster no\n"
			   "\tControlPath none\n"
			   "\tTunnel no\n"
			   "\tConnectTimeout 60\n"
			   "\tServerAliveInterval 15\n"
			   "\tServerAliveCountMax 8\n",
			   e);
}

struct hosts {
	struct sshconfig_host *list;
	size_t count;
};

static int collect(const struct vm_record *v, void *ctx, struct err *e)
{
	struct hosts *h = ctx;
	struct sshconfig_host *at;

	(void)e;
	h->list = alloc_resize(h->list, h->count + 1, sizeof(*h->list));
	at = &h->list[h->count++];
	snprintf(at->name, sizeof(at->name), "%s", v->name);
	snprintf(at->address, sizeof(at->address), "%s", v->address);
	return 0;
}

/* Where we were started from, with the lock of sshconfig_update() held. Asked
 * once, at the service's start: of a program that was replaced since, as by an
 * upgrade, the link says "(deleted)". */
static const char *own_program(struct err *e)
{
	static char program[PATH_MAX];
	ssize_t n;

	if (program[0])
		return program;
	n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	if (n < 0) {
		err_sys(e, "/proc/self/exe");
		return NULL;
	}
	return program;
}

static int write_config(const struct home *h, const struct hosts *hosts,
			struct err *e)
{
	autofree char *path = path_join(h->config, "ssh_config");
	const char *program = own_program(e);
	struct buf out;
	int rc;

	if (!program)
		return -1;
	buf_init(&out, CONFIG_CAP);
	rc = sshconfig_format(h, program, hosts->list, hosts->count, &out, e);
	if (rc == 0)
		rc = path_write_file(path, out.data, out.len, 0600, e);
	buf_finish(&out);
	return rc;
}

int sshconfig_update(const struct home *h, struct registry *r, struct err *e)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct hosts hosts = {0};
	int rc;

	/* read and written under one lock: the newest records win */
	pthread_mutex_lock(&lock);
	rc = registry_list(r, collect, &hosts, e);
	if (rc == 0)
		rc = write_config(h, &hosts, e);
	pthread_mutex_unlock(&lock);
	free(hosts.list);
	return rc;
}

/* -- answering ---------------------------------------------------------------
 */

int sshconfig_known_hosts(const struct home *h, const char *host,
			  struct buf *out, struct err *e)
{
	autofree char *line = NULL;
	const char *name = host + strlen(ALIAS);
	struct err why = {0};

	if (strncmp(host, ALIAS, strlen(ALIAS)) != 0 ||
	    validate_vm_name(name, NULL))
		return 0;
	if (hostkey_read(h, name, &line, &why)) {
		if (why.code == ERR_NOT_FOUND)
			return 0;
		return err_set(e, why.code, "%s", err_msg(&why));
	}
	return buf_printf(out, e, "%s %s\n", host, line);
}
