/*
 * mtools write into the image file itself: no mount, no root, and the private
 * key goes from memory through a pipe, never into a temporary file.
 */
#include "vmctl/seed.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IMAGE_LEN ((size_t)1024 * 1024)
#define TEMPLATE_CAP ((size_t)64 * 1024)
#define FILLED_CAP ((size_t)128 * 1024)

/* -- templates --------------------------------------------------------------- */

static const char *value_of(const struct seed *s, const char *name, size_t len,
			    size_t *ret_len)
{
	const struct {
		const char *name;
		const char *value;
		size_t len;
	} values[] = {
		{"INSTANCE_ID", s->instance_id, strlen(s->instance_id)},
		{"HOSTNAME", s->hostname, strlen(s->hostname)},
		{"HOST_KEY", secret_bytes(s->keys->host_private),
		 secret_len(s->keys->host_private)},
		{"HOST_KEY_PUB", s->keys->host_public,
		 strlen(s->keys->host_public)},
		{"AUTHORIZED_KEY", s->keys->client_public,
		 strlen(s->keys->client_public)},
	};

	for (size_t i = 0; i < ARRAY_COUNT(values); i++) {
		if (strlen(values[i].name) == len &&
		    strncmp(values[i].name, name, len) == 0) {
			*ret_len = values[i].len;
			return values[i].value;
		}
	}
	return NULL;
}

/* The value, with `indent` before each line but the first. */
static int add_lines(struct buf *out, const char *value, size_t len,
		     const char *indent, size_t indent_len, struct err *e)
{
	while (len > 0 && value[len - 1] == '\n')
		len--;
	for (size_t i = 0; i < len; i++) {
		if (buf_add(out, value + i, 1, e) ||
		    (value[i] == '\n' && buf_add(out, indent, indent_len, e)))
			return -1;
	}
	return 0;
}

#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"

int seed_fill(const struct seed *s, const char *template, struct buf *out,
	      struct err *e)
{
	const char *line = template;

	for (const char *p = template; *p; p++) {
		size_t len = *p == '@' ? strspn(p + 1, NAME_CHARS) : 0;
		const char *value;
		size_t value_len;

		if (len == 0 || p[1 + len] != '@') {
			if (buf_add(out, p, 1, e))
				return -1;
			if (*p == '\n')
				line = p + 1;
			continue;
		}
		value = value_of(s, p + 1, len, &value_len);
		if (!value)
			return err_set(e, ERR_INVALID,
				       "the template asks for %.*s, which a "
				       "seed does not have",
				       (int)len, p + 1);
		if (add_lines(out, value, value_len, line, strspn(line, " "),
			      e))
			return -1;
		p += len + 1;
	}
	return 0;
}

/* -- the disk ---------------------------------------------------------------- */

static int run_mtool(const char *const *argv, const void *in, size_t in_len,
		     struct deadline d, struct err *e)
{
	const struct proc_run r = {.in = in, .in_len = in_len, .cancel_fd = -1};

	if (proc_run(argv, &r, d, e) == 0)
		return 0;
	if (e && e->code == ERR_NOT_FOUND)
		return err_set(e, ERR_NOT_FOUND,
			       "%s is not installed: sudo apt-get install "
			       "mtools",
			       argv[0]);
	return err_wrap(e, "making the seed disk");
}

static int make_image(const char *path, struct deadline d, struct err *e)
{
	const char *const format[] = {"mformat", "-i", path, "-v", "CIDATA",
				      "-T", "2048", "-h", "16", "-s", "32",
				      "::", NULL};
	const char *const folder[] = {"mmd", "-i", path, "::boxery", NULL};
	autoclose int fd = -1;

	if (unlink(path) && errno != ENOENT)
		return err_sys(e, "removing %s", path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	if (fd < 0)
		return err_sys(e, "%s", path);
	if (fchmod(fd, 0640) || ftruncate(fd, IMAGE_LEN))
		return err_sys(e, "%s", path);
	if (run_mtool(format, NULL, 0, d, e))
		return -1;
	return run_mtool(folder, NULL, 0, d, e);
}

static int put(const char *path, const char *name, const void *p, size_t len,
	       struct deadline d, struct err *e)
{
	autofree char *target = alloc_printf("::%s", name);
	const char *const argv[] = {"mcopy", "-i", path, "-", target, NULL};

	return run_mtool(argv, p, len, d, e);
}

static int put_line(const char *path, const char *name, const char *line,
		    struct deadline d, struct err *e)
{
	autofree char *text = alloc_printf("%s\n", line);

	return put(path, name, text, strlen(text), d, e);
}

static int put_template(const struct seed *s, const char *path,
			const char *name, struct deadline d, struct err *e)
{
	autofree char *from = path_join(s->template_dir, name);
	autofree char *template = NULL;
	struct buf out;
	size_t len;
	int rc;

	if (path_read_file(from, TEMPLATE_CAP, &template, &len, e))
		return -1;
	buf_init(&out, FILLED_CAP);
	/* all of it at once: growing would leave copies of the key behind */
	rc = buf_reserve(&out, FILLED_CAP, e) ? seed_fill(s, template, &out, e)
					      : -1;
	if (rc == 0)
		rc = put(path, name, out.data, out.len, d, e);
	else
		err_wrap(e, "%s", from);
	secret_wipe(out.data, out.len);
	buf_finish(&out);
	return rc;
}

int seed_write(const struct seed *s, const char *path, struct deadline d,
	       struct err *e)
{
	struct secret *key = s->keys->host_private;

	if (make_image(path, d, e) ||
	    put(path, "boxery/ssh_host_ed25519_key", secret_bytes(key),
		secret_len(key), d, e) ||
	    put_line(path, "boxery/ssh_host_ed25519_key.pub",
		     s->keys->host_public, d, e) ||
	    put_line(path, "boxery/authorized_keys", s->keys->client_public, d,
		     e) ||
	    put_line(path, "boxery/hostname", s->hostname, d, e) ||
	    put_line(path, "boxery/instance-id", s->instance_id, d, e) ||
	    put_template(s, path, "meta-data", d, e))
		return -1;
	return put_template(s, path, "user-data", d, e);
}
