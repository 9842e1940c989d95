#include "vmctl/hostkey.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/crypto.h"
#include "base/path.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define KEY_TYPE "ssh-ed25519 "
/* type, 51 bytes of key in base64, comment */
#define LINE_CAP 512
#define BASE64                                                                 \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
#define ED25519_BASE64_LEN 68

static char *pin_path(const struct home *h, const char *name)
{
	return alloc_printf("%s/host-keys/%s", h->config, name);
}

char *hostkey_client_path(const struct home *h, const char *name)
{
	return alloc_printf("%s/keys/%s", h->config, name);
}

static char *client_public_path(const struct home *h, const char *name)
{
	return alloc_printf("%s/keys/%s.pub", h->config, name);
}

static int make_folders(const struct home *h, struct err *e)
{
	autofree char *pins = path_join(h->config, "host-keys");
	autofree char *keys = path_join(h->config, "keys");

	return path_make_dirs(pins, 0700, e) || path_make_dirs(keys, 0700, e)
		       ? -1
		       : 0;
}

static int write_line(const char *path, const char *line, struct err *e)
{
	autofree char *text = alloc_printf("%s\n", line);

	return path_write_file(path, text, strlen(text), 0600, e);
}

static int write_files(const struct home *h, const char *name,
		       struct secret *client, const struct hostkey *k,
		       struct err *e)
{
	autofree char *pin = pin_path(h, name);
	autofree char *key = hostkey_client_path(h, name);
	autofree char *public = client_public_path(h, name);

	if (make_folders(h, e) ||
	    path_write_file(key, secret_bytes(client), secret_len(client),
			    0600, e) ||
	    write_line(public, k->client_public, e))
		return -1;
	return write_line(pin, k->host_public, e);
}

int hostkey_create(const struct home *h, const char *name,
		   struct hostkey *ret, struct err *e)
{
	auto_secret struct secret *client = NULL;
	autofree char *comment = alloc_printf("boxery-%s", name);
	struct hostkey k = {0};

	if (crypto_ed25519_new(comment, &k.host_private, &k.host_public, e) ||
	    crypto_ed25519_new(comment, &client, &k.client_public, e) ||
	    write_files(h, name, client, &k, e)) {
		hostkey_finish(&k);
		return -1;
	}
	*ret = k;
	return 0;
}

void hostkey_finish(struct hostkey *k)
{
	secret_free(k->host_private);
	free(k->host_public);
	free(k->client_public);
	*k = (struct hostkey){0};
}

int hostkey_check_line(const char *line, struct err *e)
{
	const char *key = line + strlen(KEY_TYPE);
	size_t len;

	if (strncmp(line, KEY_TYPE, strlen(KEY_TYPE)) != 0)
		return err_set(e, ERR_INVALID, "not an ssh-ed25519 key");
	len = strspn(key, BASE64);
	if (len != ED25519_BASE64_LEN || (key[len] && key[len] != ' '))
		return err_set(e, ERR_INVALID,
			       "not the base64 of an ed25519 key");
	for (const char *p = key + len; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return err_set(e, ERR_INVALID,
				       "more than one line, or a control "
				       "character");
	}
	return 0;
}

int hostkey_read(const struct home *h, const char *name, char **ret_line,
		 struct err *e)
{
	autofree char *path = pin_path(h, name);
	autofree char *line = NULL;
	size_t len;

	if (path_read_file(path, LINE_CAP, &line, &len, e))
		return -1;
	if (len > 0 && line[len - 1] == '\n')
		line[--len] = '\0';
	if (strlen(line) != len)
		return err_set(e, ERR_INVALID, "%s: not a text file", path);
	if (hostkey_check_line(line, e))
		return err_wrap(e, "%s", path);
	*ret_line = TAKE_PTR(line);
	return 0;
}

static int remove_file(const char *path, struct err *e)
{
	if (unlink(path) && errno != ENOENT)
		return err_sys(e, "removing %s", path);
	return 0;
}

int hostkey_remove(const struct home *h, const char *name, struct err *e)
{
	autofree char *pin = pin_path(h, name);
	autofree char *key = hostkey_client_path(h, name);
	autofree char *public = client_public_path(h, name);

	if (remove_file(pin, e) || remove_file(key, e))
		return -1;
	return remove_file(public, e);
}
