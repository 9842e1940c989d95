/*
 * Images that a person brings. The bytes arrive in a file of ours whose name
 * starts with '.', are hashed and judged there, converted beside it, and
 * become an image by one rename after everything else.
 */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/crypto.h"
#include "base/json.h"
#include "base/log.h"
#include "base/path.h"
#include "vmctl/datadir.h"
#include "vmctl/image.h"
#include "vmctl/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Built ones start with their layers' names, the base before all. */
#define IMPORT "import-"

bool image_is_import(const char *id)
{
	return strncmp(id, IMPORT, strlen(IMPORT)) == 0;
}

int image_import_open(const struct home *h, char **ret_path, struct err *e)
{
	autofree char *path = NULL;
	char name[13];
	int fd;

	if (crypto_random_name(name, sizeof(name) - 1, e))
		return -1;
	path = alloc_printf("%s/images/.import-%s", h->data, name);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(e, "%s", path);
	*ret_path = TAKE_PTR(path);
	return fd;
}

/* Hash and header of the whole file, through one mapping. */
static int inspect(const char *path, char ret_hex[CRYPTO_SHA256_HEX_SIZE],
		   struct overlay_header *ret, struct err *e)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	size_t len;
	void *p;
	int rc;

	if (fd < 0 || fstat(fd, &st))
		return err_sys(e, "%s", path);
	if (st.st_size == 0)
		return err_set(e, ERR_INVALID, "the image is empty");
	len = (size_t)st.st_size;
	p = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return err_sys(e, "mapping %s", path);
	rc = overlay_parse_header(p, len, len, ret, e);
	if (rc == 0)
		rc = crypto_sha256_hex(p, len, ret_hex, e);
	munmap(p, len);
	return rc;
}

/* What is known once the file was looked at. */
struct inspected {
	char hex[CRYPTO_SHA256_HEX_SIZE];
	struct overlay_header header;
};

static int write_record(const char *path, const char *name,
			const struct inspected *in, struct err *e)
{
	auto_json json_t *record = NULL;
	autofree char *text = NULL;
	time_t now = time(NULL);
	char built[32];
	struct tm tm;

	gmtime_r(&now, &tm);
	(void)!strftime(built, sizeof(built), "%Y-%m-%dT%H:%M:%SZ", &tm);
	record = json_pack("{s:i, s:s, s:I, s:[], s:{s:o, s:s}}", "v", 1,
			   "built", built, "disk_bytes",
			   (json_int_t)in->header.disk_len, "layers", "source",
			   "name", json_lossy(name, strlen(name)), "sha256",
			   in->hex);
	if (!record)
		return err_set(e, ERR_INTERNAL, "no record of the image");
	text = json_print(record);
	return path_write_file(path, text, strlen(text), 0644, e);
}

static int make_image(const struct home *h, const struct image_import *i,
		      const struct inspected *in, const char *id, struct err *e)
{
	autofree char *part = alloc_printf("%s.qcow2", i->path);
	autofree char *path = alloc_printf("%s/images/%s.qcow2", h->data, id);
	autofree char *record = alloc_printf("%s.json", path);
	int rc;

	rc = overlay_convert(i->path, &in->header, part, i->cancel_fd,
			     i->deadline, e);
	if (rc == 0)
		rc = write_record(record, i->name, in, e);
	if (rc == 0 && rename(part, path))
		rc = err_sys(e, "%s", path);
	if (rc)
		unlink(part);
	return rc;
}

static int import(const struct home *h, const struct image_import *i,
		  struct image *ret, struct err *e)
{
	struct inspected in;
	char id[IMAGE_ID_SIZE];

	if (inspect(i->path, in.hex, &in.header, e))
		return -1;
	if (in.header.disk_len > i->disk_max_len)
		return err_set(e, ERR_INVALID,
			       "the disk must be at least as large as the "
			       "image's: %llu MiB",
			       (unsigned long long)(in.header.disk_len >> 20));
	snprintf(id, sizeof(id), IMPORT "%.32s", in.hex);
	if (image_get(h, id, ret, NULL) == 0)
		return 0;
	if (make_image(h, i, &in, id, e))
		return -1;
	return image_get(h, id, ret, e);
}

int image_import(const struct home *h, const struct image_import *i,
		 struct image *ret, struct err *e)
{
	int rc = import(h, i, ret, e);

	unlink(i->path);
	return rc ? err_wrap(e, "%s", i->name) : 0;
}
