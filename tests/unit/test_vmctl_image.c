#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/path.h"
#include "vmctl/image.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BASE                                    \
	"{\"name\":\"boot\",\"sha256\":\"b\"}," \
	"{\"name\":\"base\",\"sha256\":\"a\"}"
#define DESKTOP BASE ",{\"name\":\"desktop\",\"sha256\":\"d\"}"

static struct home make_home(void)
{
	struct home h = {0};
	struct err e = {0};
	autofree char *images = NULL;

	assert_ok(home_init(&h, unit_dir(), &e), &e);
	assert_ok(home_make_dirs(&h, &e), &e);
	images = path_join(h.data, "images");
	assert_ok(path_make_dirs(images, 0700, &e), &e);
	return h;
}

static void add_image(const struct home *h, const char *id, const char *built,
		      const char *layers)
{
	autofree char *disk = alloc_printf("%s/images/%s.qcow2", h->data, id);
	autofree char *record = alloc_printf("%s.json", disk);
	autofree char *text =
		alloc_printf("{\"v\":1,\"built\":\"%s\",\"disk_bytes\":1048576,"
			     "\"layers\":[%s]}",
			     built, layers);
	struct err e = {0};

	assert_ok(path_write_file(record, text, strlen(text), 0644, &e), &e);
	assert_ok(path_write_file(disk, "x", 1, 0644, &e), &e);
}

static void records(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{"{\"v\":1,\"built\":\"x\",\"disk_bytes\":1,\"layers\":[]}",
		 NULL},
		{"{\"v\":1,\"built\":\"x\",\"disk_bytes\":1,\"layers\":[" BASE
		 "],\"more\":1}",
		 NULL},
		{"{\"v\":2,\"built\":\"x\",\"disk_bytes\":1,\"layers\":[]}",
		 "newer"},
		{"{\"built\":\"x\",\"disk_bytes\":1,\"layers\":[]}", "v"},
		{"{\"v\":1,\"built\":\"x\",\"disk_bytes\":0,\"layers\":[]}",
		 "disk_bytes"},
		{"{\"v\":1,\"built\":\"x\",\"disk_bytes\":1}", "layers"},
		{"{\"v\":1,\"built\":\"x\",\"disk_bytes\":1,\"layers\":[3]}",
		 "layers"},
		{"{\"v\":1,\"built\":\"0123456789012345678901234567890123\","
		 "\"disk_bytes\":1,\"layers\":[]}",
		 "built"},
		{"[]", ""},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct image image = {.path = NULL};
		struct err e = {0};
		int rc = image_parse_record(cases[i].text,
					    strlen(cases[i].text), &image, &e);

		if (cases[i].error) {
			assert_fails(rc, &e, ERR_INVALID, cases[i].error);
			continue;
		}
		assert_ok(rc, &e);
		image_finish(&image);
	}
}

static void finding(void **state)
{
	struct home h = make_home();
	struct image i;
	struct err e = {0};

	(void)state;
	assert_fails(image_find(&h, true, &i, &e), &e, ERR_NOT_FOUND,
		     "no guest image: run boxery build-base");
	add_image(&h, "old", "2026-01-01T00:00:00Z", DESKTOP);
	add_image(&h, "new", "2026-02-01T00:00:00Z", DESKTOP);
	add_image(&h, "import-1", "2026-03-01T00:00:00Z", "");
	assert_fails(image_find(&h, false, &i, &e), &e, ERR_NOT_FOUND,
		     "build-base --layers base");
	add_image(&h, "plain", "2026-01-01T00:00:00Z", BASE);
	assert_ok(image_find(&h, true, &i, &e), &e);
	assert_string_equal(i.id, "new");
	assert_int_equal(i.disk_len, 1048576);
	assert_true(image_has_layer(&i, "desktop"));
	assert_false(image_has_layer(&i, "browser"));
	image_finish(&i);
	assert_ok(image_find(&h, false, &i, &e), &e);
	assert_string_equal(i.id, "plain");
	image_finish(&i);
	home_finish(&h);
}

/* A record without a disk is a build that was cut off; a broken record, or a
 * file that is being made, hides no other image. */
static void leftovers(void **state)
{
	struct home h = make_home();
	autofree char *record = path_join(h.data, "images/cut.qcow2.json");
	autofree char *part = path_join(h.data, "images/.import-a.qcow2");
	autofree char *odd = path_join(h.data, "images/odd.qcow2");
	struct image i;
	struct err e = {0};

	(void)state;
	add_image(&h, "whole", "2026-01-01T00:00:00Z", DESKTOP);
	assert_ok(path_write_file(record, "{}", 2, 0644, &e), &e);
	assert_ok(path_write_file(part, "x", 1, 0644, &e), &e);
	assert_ok(path_write_file(odd, "x", 1, 0644, &e), &e);
	assert_ok(image_find(&h, true, &i, &e), &e);
	assert_string_equal(i.id, "whole");
	image_finish(&i);
	assert_fails(image_get(&h, "cut", &i, &e), &e, ERR_NOT_FOUND, "cut");
	home_finish(&h);
}

static int import(const struct home *h, const void *bytes, size_t len,
		  struct image *ret, struct err *e)
{
	autofree char *path = NULL;
	autoclose int fd = image_import_open(h, &path, e);
	struct image_import i = {
		.path = path,
		.name = "disk.img",
		.disk_max_len = 1 << 30,
		.cancel_fd = -1,
		.deadline = deadline_in_ms(60000),
	};
	int rc;

	assert_true(fd >= 0);
	assert_ok(fd_write_all(fd, bytes, len, i.deadline, e), e);
	rc = image_import(h, &i, ret, e);
	assert_int_not_equal(access(path, F_OK), 0);
	return rc;
}

static void imports(void **state)
{
	static const size_t len = 1024 * 1024;
	struct home h = make_home();
	autofree char *disk = alloc_array(len, 1);
	struct image i = {.path = NULL}, again = {.path = NULL};
	struct err e = {0};

	(void)state;
	assert_ok(import(&h, disk, len, &i, &e), &e);
	assert_int_equal(strncmp(i.id, "import-", 7), 0);
	assert_int_equal(i.disk_len, len);
	assert_int_equal(access(i.path, F_OK), 0);
	/* the same bytes are the same image */
	assert_ok(import(&h, disk, len, &again, &e), &e);
	assert_string_equal(i.id, again.id);
	image_finish(&again);
	assert_ok(image_remove(&h, i.id, &e), &e);
	assert_int_not_equal(access(i.path, F_OK), 0);
	assert_fails(image_get(&h, i.id, &again, &e), &e, ERR_NOT_FOUND,
		     "import-");
	image_finish(&i);
	/* a small file may stand for more bytes than the host has: M17 */
	memset(disk, 0, len);
	memcpy(disk, "QFI\xfb\0\0\0\2", 8);
	disk[27] = 1; /* 4 GiB */
	assert_fails(import(&h, disk, len, &i, &e), &e, ERR_INVALID,
		     "at least as large as the image's: 4096 MiB");
	/* it names another file: nothing is kept */
	memcpy(disk, "QFI\xfb\0\0\0\3\0\0\0\0\0\0\2\0", 16);
	assert_fails(import(&h, disk, len, &i, &e), &e, ERR_INVALID,
		     "disk.img: the image names a backing file");
	home_finish(&h);
}

/* What a service that was killed was receiving, converting or building. */
static int note_id(struct image *i, void *ctx, struct err *e)
{
	size_t len = strlen(ctx);

	(void)e;
	snprintf((char *)ctx + len, 256 - len, "%s ", i->id);
	return 0;
}

/* What a newer build of the same layers stands in for. */
static void superseded(void **state)
{
	struct home h = make_home();
	struct err e = {0};
	char old[256] = "";

	(void)state;
	add_image(&h, "base-desktop-20260101-000000", "2026-01-01", DESKTOP);
	add_image(&h, "base-desktop-20260201-000000", "2026-02-01", DESKTOP);
	add_image(&h, "base-desktop-20260301-000000", "2026-03-01", DESKTOP);
	/* another set of layers, an import, one of a person's naming */
	add_image(&h, "base-20260101-000000", "2026-01-01", BASE);
	add_image(&h, "import-aa", "2026-01-01", "");
	add_image(&h, "mine", "2026-01-01", DESKTOP);
	assert_ok(image_list_old(&h, note_id, old, &e), &e);
	assert_string_equal(old, "base-desktop-20260201-000000 "
				 "base-desktop-20260101-000000 ");
	assert_true(image_exists(&h, "base-desktop-20260201-000000"));
	assert_ok(image_remove(&h, "base-desktop-20260201-000000", &e), &e);
	assert_false(image_exists(&h, "base-desktop-20260201-000000"));
	assert_ok(image_remove(&h, "base-desktop-20260201-000000", &e), &e);
	old[0] = '\0';
	assert_ok(image_list_old(&h, note_id, old, &e), &e);
	assert_string_equal(old, "base-desktop-20260101-000000 ");
	home_finish(&h);
}

static void sweeping(void **state)
{
	static const char *const names[] = {
		"images/.import-0123456789ab",
		"images/.import-0123456789ab.qcow2",
		"images/base-x.qcow2.part",
		"images/base-x.qcow2.json.part",
	};
	struct home h = make_home();
	struct image i;
	struct err e = {0};

	(void)state;
	image_sweep(&h);
	add_image(&h, "whole", "2026-01-01T00:00:00Z", DESKTOP);
	for (size_t n = 0; n < ARRAY_COUNT(names); n++) {
		autofree char *path = path_join(h.data, names[n]);

		assert_ok(path_write_file(path, "x", 1, 0644, &e), &e);
	}
	image_sweep(&h);
	for (size_t n = 0; n < ARRAY_COUNT(names); n++) {
		autofree char *path = path_join(h.data, names[n]);

		assert_int_not_equal(access(path, F_OK), 0);
	}
	assert_ok(image_get(&h, "whole", &i, &e), &e);
	image_finish(&i);
	home_finish(&h);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(records),   cmocka_unit_test(finding),
	cmocka_unit_test(leftovers), cmocka_unit_test(imports),
	cmocka_unit_test(sweeping),  cmocka_unit_test(superseded),
};
UNIT_MAIN(tests)
