#include "base/home.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/crypto.h"
#include "base/path.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define DATA_ROOT "/var/lib/boxery"
#define SOCKET_LEN (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)
/* hex digits of the hash in the instance: 32 bits tell one person's few homes
 * apart, and libvirt's names stay readable */
#define INSTANCE_HEX 8

char *home_by_password(void)
{
	char text[4096];
	struct passwd pw;
	struct passwd *found = NULL;
	int rc = getpwuid_r(getuid(), &pw, text, sizeof(text), &found);

	if (found && pw.pw_dir && pw.pw_dir[0] == '/')
		return alloc_str(pw.pw_dir);
	errno = rc ? rc : ENOENT;
	return NULL;
}

static char *home_of_person(struct err *e)
{
	const char *home = secure_getenv("HOME");
	char *found;

	if (home && home[0] == '/')
		return alloc_str(home);
	if (home && home[0]) {
		err_set(e, ERR_INVALID, "HOME is %s: must be an absolute path",
			home);
		return NULL;
	}
	found = home_by_password();
	if (!found)
		err_sys(e, "uid %u has no home folder: set HOME or BOXERY_HOME",
			(unsigned)getuid());
	return found;
}

static int default_places(struct home *h, struct err *e)
{
	autofree char *home = home_of_person(e);

	if (!home)
		return -1;
	h->config = path_join(home, ".config/boxery");
	h->state = path_join(home, ".local/state/boxery");
	h->data = alloc_printf("%s/%u", DATA_ROOT, (unsigned)getuid());
	h->instance = alloc_printf("u%u", (unsigned)getuid());
	h->run = path_join(h->state, "run");
	return 0;
}

static int relocated_places(struct home *h, const char *dir, struct err *e)
{
	char hex[CRYPTO_SHA256_HEX_SIZE];

	if (dir[0] != '/')
		return err_set(e, ERR_INVALID,
			       "BOXERY_HOME is %s: must be an absolute path",
			       dir);
	/* before the folder exists and after, the same name */
	autofree char *real = path_real(dir);
	if (!real)
		return err_sys(e, "BOXERY_HOME is %s", dir);
	if (crypto_sha256_hex(real, strlen(real), hex, e) < 0)
		return -1;
	h->instance = alloc_printf("h%.*s", INSTANCE_HEX, hex);
	h->relocated = alloc_str(dir);
	for (size_t len = strlen(dir); len > 1 && dir[len - 1] == '/'; len--)
		h->relocated[len - 1] = '\0';
	h->config = path_join(h->relocated, "config");
	h->state = path_join(h->relocated, "state");
	h->data = path_join(h->relocated, "data");
	h->run = path_join(h->relocated, "run");
	return 0;
}

int home_init(struct home *h, const char *dir, struct err *e)
{
	struct home out = {0};
	int rc;

	if (!dir)
		dir = secure_getenv("BOXERY_HOME");
	rc = dir && dir[0] ? relocated_places(&out, dir, e)
			   : default_places(&out, e);
	if (rc == 0) {
		out.socket = path_join(out.run, "host.sock");
		out.db = path_join(out.state, "boxery.db");
		if (strlen(out.socket) > SOCKET_LEN)
			rc = err_set(e, ERR_INVALID,
				     "%s: a socket's path may have %zu bytes, "
				     "this one has %zu: set BOXERY_HOME to a "
				     "shorter path",
				     out.socket, SOCKET_LEN,
				     strlen(out.socket));
	}
	if (rc < 0) {
		home_finish(&out);
		return -1;
	}
	*h = out;
	return 0;
}

void home_finish(struct home *h)
{
	free(h->config);
	free(h->state);
	free(h->data);
	free(h->run);
	free(h->socket);
	free(h->db);
	free(h->instance);
	free(h->relocated);
	*h = (struct home){0};
}

/*
 * A folder that somebody else may change says whatever they like: which socket
 * is the service's, which key is a VM's. Ours are also nobody else's to read.
 */
static int check_own(const char *dir, bool private, struct err *e)
{
	struct stat st;

	if (stat(dir, &st) < 0)
		return err_sys(e, "%s", dir);
	if (st.st_uid != geteuid())
		return err_set(e, ERR_DENIED,
			       "%s belongs to uid %u and not to you, uid %u: "
			       "set BOXERY_HOME to a folder of your own",
			       dir, (unsigned)st.st_uid, (unsigned)geteuid());
	if (private && (st.st_mode & 077) && chmod(dir, 0700) < 0)
		return err_sys(e, "closing %s to others", dir);
	return 0;
}

int home_make_dirs(const struct home *h, struct err *e)
{
	const char *const dirs[] = {h->config, h->state, h->run};

	for (size_t i = 0; i < ARRAY_COUNT(dirs); i++) {
		if (path_make_dirs(dirs[i], 0700, e) < 0 ||
		    check_own(dirs[i], true, e) < 0)
			return -1;
	}
	return h->relocated ? check_own(h->relocated, false, e) : 0;
}
