#include "vmctl/overlay.h"

#include "base/cleanup.h"
#include "base/proc.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define MIB ((uint64_t)1 << 20)
#define SECTOR_LEN 512
/* A virtual size beyond this is an attack on the tools, not an image. */
#define DISK_MAX_LEN ((uint64_t)64 << 40)

static int run_qemu_img(const char *const *argv, const struct proc_run *r,
			struct deadline d, struct err *e)
{
	if (proc_run(argv, r, d, e) == 0)
		return 0;
	if (e && e->code == ERR_NOT_FOUND)
		return err_set(e, ERR_NOT_FOUND,
			       "qemu-img is not installed: sudo apt-get "
			       "install qemu-utils");
	if (e && strstr(e->msg, "No space left on device"))
		e->code = ERR_NOSPACE;
	return -1;
}

int overlay_create(const char *base, const char *path, uint64_t disk_len,
		   struct deadline d, struct err *e)
{
	const struct proc_run r = {.cancel_fd = -1};
	char size[24];
	const char *argv[] = {"qemu-img", "create", "-q",  "-f", "qcow2", "-F",
			      "qcow2",	  "-b",	    base,  path, size,	  NULL};

	snprintf(size, sizeof(size), "%" PRIu64, disk_len);
	if (run_qemu_img(argv, &r, d, e))
		return err_wrap(e, "making the disk %s", path);
	if (chmod(path, 0660))
		return err_sys(e, "chmod %s", path);
	return 0;
}

int overlay_check_space(const char *dir, uint64_t need_len, const char *what,
			struct err *e)
{
	struct statvfs vfs;
	uint64_t free_len;

	if (statvfs(dir, &vfs))
		return err_sys(e, "%s", dir);
	free_len = (uint64_t)vfs.f_bavail * vfs.f_frsize;
	if (free_len < need_len)
		return err_set(e, ERR_NOSPACE,
			       "%s has %" PRIu64 " MiB free and %s needs "
			       "%" PRIu64 " MiB: make room there",
			       dir, free_len / MIB, what, need_len / MIB);
	return 0;
}

/* -- foreign images ---------------------------------------------------------- */

#define MAGIC 0x514649fbu /* "QFI\xfb" */
#define V2_HEADER_LEN 72
#define INCOMPAT_DIRTY 1u
#define INCOMPAT_CORRUPT 2u
#define INCOMPAT_DATA_FILE 4u
#define INCOMPAT_COMPRESSION 8u
#define INCOMPAT_EXTENDED_L2 16u

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static int check_features(uint64_t features, struct err *e)
{
	if (features & INCOMPAT_DATA_FILE)
		return err_set(e, ERR_INVALID,
			       "the image keeps its data in another file, "
			       "which boxery does not open");
	if (features & INCOMPAT_CORRUPT)
		return err_set(e, ERR_INVALID,
			       "the image is marked corrupt (qemu-img check)");
	if (features & ~(uint64_t)(INCOMPAT_DIRTY | INCOMPAT_COMPRESSION |
				   INCOMPAT_EXTENDED_L2))
		return err_set(e, ERR_INVALID,
			       "the image has qcow2 features that boxery does "
			       "not know");
	return 0;
}

static int parse_qcow2(const uint8_t *p, size_t len,
		       struct overlay_header *ret, struct err *e)
{
	uint32_t version;

	if (len < V2_HEADER_LEN)
		return err_set(e, ERR_INVALID, "the image is cut off");
	version = get32(p + 4);
	if (version != 2 && version != 3)
		return err_set(e, ERR_INVALID, "qcow2 version %u is not known",
			       version);
	if (get64(p + 8) != 0 || get32(p + 16) != 0)
		return err_set(e, ERR_INVALID,
			       "the image names a backing file, which boxery "
			       "does not open: flatten it with qemu-img "
			       "convert");
	if (get32(p + 32) != 0)
		return err_set(e, ERR_INVALID, "the image is encrypted");
	if (version == 3 && len < OVERLAY_HEADER_LEN)
		return err_set(e, ERR_INVALID, "the image is cut off");
	if (version == 3 && check_features(get64(p + 72), e))
		return -1;
	*ret = (struct overlay_header){.qcow2 = true, .disk_len = get64(p + 24)};
	return 0;
}

int overlay_parse_header(const void *p, size_t len, uint64_t file_len,
			 struct overlay_header *ret, struct err *e)
{
	struct overlay_header h = {.disk_len = file_len};

	if (len >= 4 && get32(p) == MAGIC) {
		if (parse_qcow2(p, len, &h, e))
			return -1;
	} else if (file_len % SECTOR_LEN != 0) {
		return err_set(e, ERR_INVALID,
			       "neither a qcow2 file nor a raw disk (its size "
			       "is no multiple of 512)");
	}
	if (h.disk_len < MIB || h.disk_len > DISK_MAX_LEN)
		return err_set(e, ERR_INVALID,
			       "a disk of %" PRIu64 " bytes is not one that "
			       "boots",
			       h.disk_len);
	*ret = h;
	return 0;
}

/* The header is judged above; all else of a stranger's image is for qemu-img,
 * which gets no more than an honest image needs. */
#define CONVERT_MEMORY_LEN ((uint64_t)2 << 30)
#define CONVERT_CPU_S 3600
/* tables of the new image: far below a 1024th of the disk, and some MiB */
static uint64_t longest_image(uint64_t disk_len)
{
	return disk_len + disk_len / 1024 + 64 * MIB;
}

int overlay_convert(const char *from, const struct overlay_header *h,
		    const char *to, int cancel_fd, struct deadline d,
		    struct err *e)
{
	const char *argv[] = {"qemu-img", "convert",
			      "-q",	  "-f",
			      h->qcow2 ? "qcow2" : "raw",
			      "-O",	  "qcow2",
			      from,	  to,
			      NULL};
	const struct proc_limits limits = {
		.memory_len = CONVERT_MEMORY_LEN,
		.file_len = longest_image(h->disk_len),
		.cpu_s = CONVERT_CPU_S,
	};
	const struct proc_run r = {.cancel_fd = cancel_fd, .limits = &limits};

	if (run_qemu_img(argv, &r, d, e))
		return err_wrap(e, "converting the image");
	if (chmod(to, 0640))
		return err_sys(e, "chmod %s", to);
	return 0;
}
