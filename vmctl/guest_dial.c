#include "vmctl/guest_dial.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libssh/libssh.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct {
	enum ssh_options_e option;
	const char *value;
} fixed_options[] = {
	{SSH_OPTIONS_HOSTKEYS, "ssh-ed25519"},
	{SSH_OPTIONS_PUBLICKEY_ACCEPTED_TYPES, "ssh-ed25519"},
	{SSH_OPTIONS_KEY_EXCHANGE, "curve25519-sha256,curve25519-sha256@"
				   "libssh.org,ecdh-sha2-nistp256"},
	{SSH_OPTIONS_CIPHERS_C_S,
	 "aes128-gcm@openssh.com,aes256-gcm@openssh.com,"
	 "chacha20-poly1305@openssh.com,aes256-ctr"},
	{SSH_OPTIONS_CIPHERS_S_C,
	 "aes128-gcm@openssh.com,aes256-gcm@openssh.com,"
	 "chacha20-poly1305@openssh.com,aes256-ctr"},
	{SSH_OPTIONS_HMAC_C_S, "hmac-sha2-256-etm@openssh.com"}, /* with CTR */
	{SSH_OPTIONS_HMAC_S_C, "hmac-sha2-256-etm@openssh.com"},
	{SSH_OPTIONS_COMPRESSION, "no"},
	{SSH_OPTIONS_KNOWNHOSTS, "/dev/null"},
	{SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null"},
	{SSH_OPTIONS_SSH_DIR, "/nonexistent"},
};

/* ---- TCP ---- */

static int parse_address(const char *text, unsigned port,
			 struct sockaddr_storage *ret, socklen_t *ret_len)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		*ret_len = sizeof(*v4);
		return 0;
	}
	if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)port);
		*ret_len = sizeof(*v6);
		return 0;
	}
	return -1;
}

/* A guest that vanished (no RST) is noticed after this, whatever is in
 * flight; the kernel of a live one answers within it, even emulated. */
static void tune_socket(int fd)
{
	const int on = 1, dead_ms = LIMIT_GUEST_DEAD_MS, idle_s = 20,
		  every_s = 10;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms,
		   sizeof(dead_ms));
}

int guest_dial(const char *name, const char *address, unsigned port,
	       struct err *e)
{
	struct sockaddr_storage to;
	autoclose int fd = -1;
	socklen_t len = 0;

	if (parse_address(address, port, &to, &len) < 0)
		return err_set(e, ERR_STATE, "%s has no address yet", name);
	fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		    0);
	if (fd < 0)
		return err_set(e, ERR_SYSTEM, "making a socket: %m");
	tune_socket(fd);
	if (connect(fd, (struct sockaddr *)&to, len) < 0 &&
	    errno != EINPROGRESS)
		return err_set(e, ERR_UNAVAILABLE,
			       "%s does not answer at %s port %u: %m", name,
			       address, port);
	return TAKE_FD(fd);
}

/* ---- ssh ---- */

static int set_options(ssh_session ssh, const char *user, int fd)
{
	const int no = 0;
	int rc = 0;

	rc |= ssh_options_set(ssh, SSH_OPTIONS_PROCESS_CONFIG, &no);
	rc |= ssh_options_set(ssh, SSH_OPTIONS_HOST, "guest");
	rc |= ssh_options_set(ssh, SSH_OPTIONS_USER, user);
	for (size_t i = 0; i < ARRAY_COUNT(fixed_options); i++)
		rc |= ssh_options_set(ssh, fixed_options[i].option,
				      fixed_options[i].value);
	rc |= ssh_options_set(ssh, SSH_OPTIONS_FD, &fd);
	return rc;
}

struct ssh_session_struct *guest_dial_ssh(const char *name, const char *user,
					  int fd, struct err *e)
{
	int error = 0;
	socklen_t len = sizeof(error);
	ssh_session ssh;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error) {
		errno = error;
		err_set(e, ERR_UNAVAILABLE, "%s does not answer: %m", name);
		return NULL;
	}
	ssh = ssh_new();
	if (!ssh || set_options(ssh, user, fd) != 0) {
		err_set(e, ERR_INTERNAL, "libssh refuses: %s",
			ssh ? ssh_get_error(ssh) : "no memory");
		ssh_free(ssh);
		return NULL;
	}
	ssh_set_blocking(ssh, 0);
	return ssh;
}

int guest_dial_step(const char *name, struct ssh_session_struct *ssh,
		    struct err *e)
{
	int rc = ssh_connect(ssh);
	int fd = ssh_get_fd(ssh);
	char words[ERR_QUOTE_SIZE];
	const char *text;

	/* libssh makes it blocking once connected */
	if (fd >= 0 && fd_set_nonblock(fd, NULL) < 0)
		rc = SSH_ERROR;
	if (rc == SSH_AGAIN)
		return 0;
	if (rc == SSH_OK)
		return 1;
	text = ssh_get_error(ssh);
	if (strstr(text, "host key algo"))
		return err_set(e, ERR_DENIED,
			       "Host key verification failed: what answers at "
			       "%s's address offers no ssh-ed25519 key; "
			       "nothing was sent",
			       name);
	return err_set(e, ERR_UNAVAILABLE, "%s does not answer ssh: %s", name,
		       err_quote(words, text, strlen(text)));
}

char *guest_dial_key(struct ssh_session_struct *ssh)
{
	ssh_key key = NULL;
	char *base64 = NULL, *copy = NULL;

	if (ssh_get_server_publickey(ssh, &key) == SSH_OK &&
	    ssh_key_type(key) == SSH_KEYTYPE_ED25519 &&
	    ssh_pki_export_pubkey_base64(key, &base64) == SSH_OK)
		copy = alloc_str(base64);
	ssh_string_free_char(base64);
	ssh_key_free(key);
	return copy;
}
