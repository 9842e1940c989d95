#include "grants/envfile.h"

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/path.h"
#include "grants/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "env"
/* a line is too long only if its value is: the name and the escapes of the
 * longest one come on top */
#define FILE_CAP (1 << 20)

/* -- a line ---------------------------------------------------------------- */

struct span {
	const char *p;
	size_t len;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct span trim(struct span s)
{
	for (; s.len > 0 && is_blank(s.p[0]); s.len--)
		s.p++;
	while (s.len > 0 && is_blank(s.p[s.len - 1]))
		s.len--;
	return s;
}

static bool is_name(struct span s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.p[i];
		bool letter = c == '_' || (c >= 'a' && c <= 'z') ||
			      (c >= 'A' && c <= 'Z');

		if (!letter && (i == 0 || c < '0' || c > '9'))
			return false;
	}
	return s.len > 0 && s.len <= LIMIT_GRANT_NAME_LEN;
}

/* The character that a backslash and c stand for; 0: none. */
static char unescape(char c)
{
	switch (c) {
	case 'n':
		return '\n';
	case 't':
		return '\t';
	case '"':
	case '\\':
		return c;
	default:
		return 0;
	}
}

/* What is between the quotes: its length in `to`, which is not written to when
 * NULL; or -1. */
static ssize_t unquote(struct span s, char *to)
{
	ssize_t at = 0;
	size_t i = 1;

	for (; i < s.len && s.p[i] != '"'; i++) {
		char c = s.p[i];

		if (c == '\\') {
			c = i + 1 < s.len ? unescape(s.p[++i]) : 0;
			if (!c)
				return -1;
		}
		if (to)
			to[at] = c;
		at++;
	}
	return i + 1 == s.len ? at : -1;
}

static int line_error(unsigned line, const char *what, struct err *e)
{
	return err_set(e, ERR_INVALID, "config/" FILE_NAME ":%u: %s", line,
		       what);
}

/* One line; *ret_value is set if it is of that name. */
static int read_line(struct span s, unsigned line, const char *name,
		     struct span *ret_value, struct err *e)
{
	const char *equals;
	struct span key, value;

	s = trim(s);
	if (s.len == 0 || s.p[0] == '#')
		return 0;
	equals = memchr(s.p, '=', s.len);
	if (!equals)
		return line_error(line, "must be NAME=VALUE", e);
	key = trim((struct span){s.p, (size_t)(equals - s.p)});
	value = trim(
		(struct span){equals + 1, s.len - (size_t)(equals - s.p) - 1});
	if (!is_name(key))
		return line_error(line,
				  "a name has letters, digits and underscores, "
				  "and does not start with a digit",
				  e);
	if (value.len > 0 && value.p[0] == '"' && unquote(value, NULL) < 0)
		return line_error(line,
				  "a value that starts with a quote must end "
				  "with one; in it, write \\n, \\t, \\\" and "
				  "\\\\",
				  e);
	if (key.len == strlen(name) && memcmp(key.p, name, key.len) == 0)
		*ret_value = value;
	return 0;
}

/* -- the file -------------------------------------------------------------- */

static struct secret *value_of(struct span s)
{
	struct secret *v;
	ssize_t len;

	if (s.len == 0 || s.p[0] != '"')
		return secret_copy(s.p, s.len);
	len = unquote(s, NULL); /* read_line() tried */
	v = secret_new(len > 0 ? (size_t)len : 0);
	unquote(s, secret_bytes(v));
	return v;
}

int envfile_find(const char *text, size_t len, const char *name,
		 struct secret **ret, struct err *e)
{
	struct span found = {0};
	struct secret *v = NULL;
	unsigned line = 0;

	while (len > 0) {
		const char *end = memchr(text, '\n', len);
		size_t line_len = end ? (size_t)(end - text) : len;

		if (read_line((struct span){text, line_len}, ++line, name,
			      &found, e) < 0)
			return -1;
		line_len += end ? 1 : 0;
		text += line_len;
		len -= line_len;
	}
	if (found.p) {
		v = value_of(found);
		if (policy_check_value(name, secret_const_bytes(v),
				       secret_len(v), e) < 0) {
			secret_free(v);
			return -1;
		}
	}
	*ret = v;
	return 0;
}

static int check_file(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INVALID, "%s: must be a regular file",
			       path);
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return err_set(e, ERR_DENIED,
			       "%s: others could read or change it: make it "
			       "yours and chmod 600 it",
			       path);
	if (st.st_size > FILE_CAP)
		return err_set(e, ERR_LIMIT, "%s: over %d bytes", path,
			       FILE_CAP);
	return 0;
}

int envfile_get(const struct home *h, const char *name, struct secret **ret,
		struct err *e)
{
	autofree char *path = path_join(h->config, FILE_NAME);
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY |
					      O_NONBLOCK | O_NOFOLLOW);
	auto_secret struct secret *all = NULL;
	size_t len = 0;

	if (fd < 0 && errno == ENOENT) {
		*ret = NULL;
		return 0;
	}
	if (fd < 0)
		return err_sys(e, "%s", path);
	if (check_file(fd, path, e) < 0)
		return -1;
	all = secret_new(FILE_CAP);
	for (;;) {
		ssize_t n = read(fd, (char *)secret_bytes(all) + len,
				 secret_len(all) - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "%s", path);
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return envfile_find(secret_const_bytes(all), len, name, ret, e);
}
