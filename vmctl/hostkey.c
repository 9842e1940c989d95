#include "vmctl/hostkey.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/crypto.h"
#include "base/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEY_TYPE "ssh-ed25519 "
/* type, 51 bytes of key in base64, comment */
#define LINE_CAP 512
#define BASE64_LEN 68
/* two strings, each behind its length: the type, and 32 bytes */
#define BLOB_LEN 51
#define BLOB_HEAD "\0\0\0\013ssh-ed25519\0\0\0\040"

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

static int decode_line(const char *line, uint8_t ret_blob[BLOB_LEN],
		       struct err *e)
{
	const char *key = line + strlen(KEY_TYPE);
	uint8_t blob[BLOB_LEN];
	size_t len;

	if (strncmp(line, KEY_TYPE, strlen(KEY_TYPE)) != 0)
		return err_set(e, ERR_INVALID, "not an ssh-ed25519 key");
	if (strcspn(key, " ") < BASE64_LEN ||
	    (key[BASE64_LEN] && key[BASE64_LEN] != ' ') ||
	    crypto_base64_decode(key, BASE64_LEN, blob, sizeof(blob), &len,
				 NULL) ||
	    memcmp(blob, BLOB_HEAD, sizeof(BLOB_HEAD) - 1) != 0)
		return err_set(e, ERR_INVALID,
			       "not the base64 of an ed25519 key");
	memcpy(ret_blob, blob, sizeof(blob));
	return 0;
}

int hostkey_check_line(const char *line, struct err *e)
{
	uint8_t blob[BLOB_LEN];

	if (decode_line(line, blob, e))
		return -1;
	for (const char *p = line; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return err_set(e, ERR_INVALID,
				       "more than one line, or a control "
				       "character");
	}
	return 0;
}

int hostkey_pin(const struct home *h, const char *name, const char *line,
		struct err *e)
{
	autofree char *path = pin_path(h, name);
	autofree char *own = NULL;

	if (hostkey_check_line(line, e) || make_folders(h, e))
		return -1;
	own = alloc_printf("%.*s boxery-%s", (int)strlen(KEY_TYPE) + BASE64_LEN,
			   line, name);
	return write_line(path, own, e);
}

int hostkey_fingerprint(const char *line,
			char ret[HOSTKEY_FINGERPRINT_SIZE], struct err *e)
{
	uint8_t digest[CRYPTO_SHA256_LEN];
	autofree char *text = NULL;
	uint8_t blob[BLOB_LEN];

	if (decode_line(line, blob, e) ||
	    crypto_sha256(blob, sizeof(blob), digest, e))
		return -1;
	text = crypto_base64(digest, sizeof(digest));
	/* without the padding, which is one '=' for 32 bytes */
	snprintf(ret, HOSTKEY_FINGERPRINT_SIZE, "SHA256:%.43s", text);
	return 0;
}

bool hostkey_same(const char *a, const char *b)
{
	uint8_t x[BLOB_LEN], y[BLOB_LEN];

	return decode_line(a, x, NULL) == 0 && decode_line(b, y, NULL) == 0 &&
	       memcmp(x, y, sizeof(x)) == 0;
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
