#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/path.h"
#include "base/proc.h"
#include "vmctl/overlay.h"

#include <endian.h>
#include <string.h>
#include <sys/stat.h>

#define MIB ((uint64_t)1 << 20)

/* A version 3 header, as QEMU's docs/interop/qcow2.txt lays it out. */
struct header {
	uint8_t bytes[OVERLAY_HEADER_LEN];
};

static void put32(struct header *h, size_t at, uint32_t v)
{
	v = htobe32(v);
	memcpy(h->bytes + at, &v, sizeof(v));
}

static void put64(struct header *h, size_t at, uint64_t v)
{
	v = htobe64(v);
	memcpy(h->bytes + at, &v, sizeof(v));
}

static struct header good(void)
{
	struct header h = {{0}};

	put32(&h, 0, 0x514649fb);
	put32(&h, 4, 3);
	put64(&h, 24, 8 * MIB);
	return h;
}

static void headers(void **state)
{
	static const struct {
		size_t at;
		unsigned bits;
		uint64_t value;
		const char *error; /* NULL: accepted */
	} cases[] = {
		{4, 32, 2, NULL},
		{4, 32, 4, "version 4"},
		{4, 32, 1, "version 1"},
		{8, 64, 512, "backing file"},
		{16, 32, 7, "backing file"},
		{24, 64, 0, "not one that boots"},
		{24, 64, UINT64_MAX, "not one that boots"},
		{32, 32, 1, "encrypted"},
		{72, 64, 1, NULL},  /* not cleanly closed */
		{72, 64, 2, "corrupt"},
		{72, 64, 4, "another file"},
		{72, 64, 8, NULL},  /* zstd */
		{72, 64, 16, NULL}, /* subclusters */
		{72, 64, 32, "does not know"},
		{72, 64, 1ULL << 63, "does not know"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct header h = good();
		struct overlay_header got = {0};
		struct err e = {0};
		int rc;

		if (cases[i].bits == 32)
			put32(&h, cases[i].at, (uint32_t)cases[i].value);
		else
			put64(&h, cases[i].at, cases[i].value);
		rc = overlay_parse_header(h.bytes, sizeof(h.bytes), 1 * MIB,
					  &got, &e);
		if (cases[i].error) {
			assert_fails(rc, &e, ERR_INVALID, cases[i].error);
			continue;
		}
		assert_ok(rc, &e);
		assert_true(got.qcow2);
		assert_int_equal(got.disk_len, 8 * MIB);
	}
}

static void cut_off(void **state)
{
	struct header h = good();
	struct overlay_header got;

	(void)state;
	for (size_t len = 4; len < sizeof(h.bytes); len++) {
		struct err e = {0};

		assert_fails(overlay_parse_header(h.bytes, len, MIB, &got, &e),
			     &e, ERR_INVALID, "cut off");
	}
}

static void raw(void **state)
{
	static const char boot[512] = "some boot sector";
	struct overlay_header got;
	struct err e = {0};

	(void)state;
	assert_ok(overlay_parse_header(boot, sizeof(boot), 2 * MIB, &got, &e),
		  &e);
	assert_false(got.qcow2);
	assert_int_equal(got.disk_len, 2 * MIB);
	assert_fails(overlay_parse_header(boot, 10, 2 * MIB + 1, &got, &e), &e,
		     ERR_INVALID, "multiple of 512");
	assert_fails(overlay_parse_header(boot, 0, 0, &got, &e), &e,
		     ERR_INVALID, "");
}

static char *info(const char *path)
{
	const char *argv[] = {"qemu-img", "info", "--output=json", path, NULL};
	struct err e = {0};
	struct buf out;
	const struct proc_run r = {.out = &out, .cancel_fd = -1};
	char *text;

	buf_init(&out, 64 * 1024);
	assert_ok(proc_run(argv, &r, deadline_in_ms(30000), &e), &e);
	text = buf_take(&out);
	buf_finish(&out);
	return text;
}

/* The chain names its parts with their formats, and QEMU's group may write. */
static void create(void **state)
{
	autofree char *base = alloc_str(unit_path("base.qcow2"));
	autofree char *disk = alloc_str(unit_path("disk.qcow2"));
	autofree char *raw_path = alloc_str(unit_path("raw"));
	autofree char *sectors = alloc_array(2 * MIB, 1);
	struct overlay_header h = {false, 2 * MIB};
	struct deadline d = deadline_in_ms(60000);
	autofree char *text = NULL;
	struct err e = {0};
	struct stat st;

	(void)state;
	assert_ok(path_write_file(raw_path, sectors, 2 * MIB, 0600, &e), &e);
	assert_ok(overlay_convert(raw_path, &h, base, -1, d, &e), &e);
	assert_ok(overlay_create(base, disk, 64 * MIB, d, &e), &e);
	assert_int_equal(stat(disk, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	text = info(disk);
	assert_non_null(strstr(text, "\"virtual-size\": 67108864"));
	assert_non_null(strstr(text, "\"backing-filename-format\": \"qcow2\""));
	assert_non_null(strstr(text, base));
	assert_fails(overlay_create("/nowhere", disk, MIB, d, &e), &e,
		     ERR_SYSTEM, "backing image");
}

static void space(void **state)
{
	struct err e = {0};

	(void)state;
	assert_ok(overlay_check_space(unit_dir(), 1, "x", &e), &e);
	assert_fails(overlay_check_space(unit_dir(), 1ULL << 60, "a new VM",
					 &e),
		     &e, ERR_NOSPACE, "a new VM needs 1099511627776 MiB");
	assert_fails(overlay_check_space("/nowhere", 1, "x", &e), &e,
		     ERR_NOT_FOUND, "/nowhere");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(headers), cmocka_unit_test(cut_off),
	cmocka_unit_test(raw),	   cmocka_unit_test(create),
	cmocka_unit_test(space),
};
UNIT_MAIN(tests)
