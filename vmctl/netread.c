#include "vmctl/netread.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/proc.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define TABLE_CAP ((size_t)4 << 20) /* the helper's own */
#define OUTPUT_CAP (2 * TABLE_CAP + 256)
#define PROGRAM_CAP ((size_t)4 << 20)
#define SYSCTL "/proc/sys/net/bridge/bridge-nf-call-iptables"
#define FORWARDS_ALL "0xfffd\n" /* all but 01, which a bridge drops */

/* -- what the helper prints ------------------------------------------------ */

struct input {
	const char *at, *end;
};

static bool take(struct input *in, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(in->end - in->at) < len || memcmp(in->at, word, len) != 0)
		return false;
	in->at += len;
	return true;
}

static bool take_number(struct input *in, size_t *ret)
{
	const char *begin = in->at;
	size_t n = 0;

	for (; in->at < in->end && *in->at >= '0' && *in->at <= '9'; in->at++) {
		n = n * 10 + (size_t)(*in->at - '0');
		if (n > TABLE_CAP)
			return false;
	}
	*ret = n;
	return in->at > begin;
}

/* "NAME LEN\n" and so many bytes, which are text. */
static bool take_table(struct input *in, const char *name, char **ret)
{
	size_t len;

	if (!take(in, name) || !take(in, " ") || !take_number(in, &len) ||
	    !take(in, "\n") || (size_t)(in->end - in->at) < len ||
	    memchr(in->at, '\0', len))
		return false;
	*ret = alloc_strn(in->at, len);
	in->at += len;
	return true;
}

int netread_parse(const char *text, size_t len, struct netread *ret,
		  struct err *e)
{
	struct input in = {text, text + len};
	autofree char *ebtables = NULL;
	autofree char *iptables = NULL;

	if (!take_table(&in, "ebtables", &ebtables) ||
	    !take_table(&in, "iptables", &iptables) || !take(&in, "end\n") ||
	    in.at != in.end)
		return err_set(e, ERR_PROTOCOL,
			       "the output of " NETREAD_PATH " is not as "
			       "expected: boxery init");
	ret->ebtables = TAKE_PTR(ebtables);
	ret->iptables = TAKE_PTR(iptables);
	return 0;
}

/* -- reading --------------------------------------------------------------- */

/* Anybody may read these; what is not there says nothing. */
static bool file_says(const char *file, const char *line)
{
	autofree char *text = NULL;
	size_t len;

	return path_read_file(file, 64, &text, &len, NULL) == 0 &&
	       strcmp(text, line) == 0;
}

bool netread_port(const char *dev)
{
	autofree char *file = alloc_printf(
		"/sys/class/net/%s/brport/group_fwd_mask", dev);

	return !strchr(dev, '/') && file_says(file, FORWARDS_ALL);
}

static bool is_roots(const char *file)
{
	struct stat st;

	return lstat(file, &st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static int check_helper(struct err *e)
{
	if (access(NETREAD_PATH, F_OK))
		return err_set(e, ERR_UNAVAILABLE,
			       "only root may read the host's packet filter, "
			       "and the helper for others is not installed: "
			       "boxery init");
	if (!is_roots(NETREAD_PATH))
		return err_set(e, ERR_UNAVAILABLE,
			       "%s does not belong to root alone, so what it "
			       "says is not believed: boxery init",
			       NETREAD_PATH);
	if (access(NETREAD_PATH, X_OK))
		return err_set(e, ERR_UNAVAILABLE,
			       "%s is for members of group libvirt: sudo "
			       "adduser \"$USER\" libvirt, then log in again",
			       NETREAD_PATH);
	/* handed on by whoever started us, and for good */
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return err_set(e, ERR_UNAVAILABLE,
			       "boxery's service was started by a program that "
			       "lets no other gain rights (no_new_privs), which "
			       "%s has to: boxery service restart, from a "
			       "shell",
			       NETREAD_PATH);
	return 0;
}

/* Root needs no capabilities, so no installed copy either. */
static char *find_helper(struct err *e)
{
	char *ours;

	if (geteuid() != 0)
		return check_helper(e) ? NULL : alloc_str(NETREAD_PATH);
	ours = netread_find_ours();
	if (!ours)
		(void)!err_set(e, ERR_UNAVAILABLE,
			       "boxery-netread is not where boxery-host is: "
			       "install boxery again");
	return ours;
}

static int run_helper(struct deadline d, struct netread *ret, struct err *e)
{
	autofree char *helper = find_helper(e);
	const char *const argv[] = {helper, NULL};
	struct buf out;
	const struct proc_run r = {.out = &out, .cancel_fd = -1};
	int rc = -1;

	if (!helper)
		return -1;
	buf_init(&out, OUTPUT_CAP);
	if (proc_run(argv, &r, d, e) == 0)
		rc = netread_parse(out.data, out.len, ret, e);
	buf_finish(&out);
	return rc;
}

int netread(struct deadline d, struct netread *ret, struct err *e)
{
	struct err why = {0};

	if (run_helper(d, ret, &why))
		return err_set(e, ERR_UNAVAILABLE,
			       "the host's packet filter cannot be read: %s",
			       err_msg(&why));
	ret->bridge_calls_iptables = file_says(SYSCTL, "1\n");
	return 0;
}

void netread_finish(struct netread *r)
{
	free(r->ebtables);
	free(r->iptables);
	*r = (struct netread){0};
}

/* -- the helper's installation --------------------------------------------- */

char *netread_find_ours(void)
{
	static const char *const places[] = {
		"../libexec/boxery/boxery-netread", /* PREFIX/bin */
		"boxery-netread",		    /* build/MODE/bin */
	};

	return path_beside_program(places, ARRAY_COUNT(places));
}

/* A member of group libvirt can read the installed one; who cannot has a
 * question for the administrator, not for setup. */
static bool is_outdated(const char *ours)
{
	autofree char *a = NULL;
	autofree char *b = NULL;
	size_t a_len, b_len;

	return path_read_file(NETREAD_PATH, PROGRAM_CAP, &a, &a_len, NULL) ==
		       0 &&
	       path_read_file(ours, PROGRAM_CAP, &b, &b_len, NULL) == 0 &&
	       (a_len != b_len || memcmp(a, b, a_len) != 0);
}

static bool has_caps(void)
{
	const uint32_t want = 1U << CAP_NET_ADMIN | 1U << CAP_NET_RAW;
	struct vfs_cap_data have;

	return getxattr(NETREAD_PATH, "security.capability", &have,
			sizeof(have)) == XATTR_CAPS_SZ_2 &&
	       le32toh(have.magic_etc) ==
		       (VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE) &&
	       le32toh(have.data[0].permitted) == want;
}

enum netread_state netread_state(const char *ours)
{
	struct stat st;

	if (!is_roots(NETREAD_PATH) || stat(NETREAD_PATH, &st) != 0 ||
	    (st.st_mode & S_IRWXO) || is_outdated(ours))
		return NETREAD_ABSENT;
	return has_caps() ? NETREAD_READY : NETREAD_POWERLESS;
}
