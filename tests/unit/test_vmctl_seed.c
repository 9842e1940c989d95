/* Seeds are read back with mtools, as the kernel would read them. */
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/path.h"
#include "base/proc.h"
#include "vmctl/seed.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CAP (64 * 1024)
#define KEY_TEXT "-----BEGIN-----\nabc\ndef\n-----END-----\n"

static void fill_keys(struct hostkey *k)
{
	*k = (struct hostkey){
		.host_private = secret_copy(KEY_TEXT, strlen(KEY_TEXT)),
		.host_public = alloc_str("ssh-ed25519 HOST boxery-demo"),
		.client_public = alloc_str("ssh-ed25519 CLIENT boxery-demo"),
	};
}

static void filling(void **state)
{
	static const struct {
		const char *template, *want;
	} cases[] = {
		{"a: @HOSTNAME@\n", "a: demo\n"},
		{"@INSTANCE_ID@@HOSTNAME@", "uuid-1demo"},
		{"k: |\n    @HOST_KEY@\nz\n",
		 "k: |\n    -----BEGIN-----\n    abc\n    def\n"
		 "    -----END-----\nz\n"},
		{"mail@example.org, @, @@, @lower@",
		 "mail@example.org, @, @@, @lower@"},
		{"- @AUTHORIZED_KEY@\n", "- ssh-ed25519 CLIENT boxery-demo\n"},
		{"", ""},
	};
	struct hostkey k;
	struct seed s = {"", "demo", "uuid-1", &k};
	struct err e = {0};
	struct buf out;

	(void)state;
	fill_keys(&k);
	buf_init(&out, CAP);
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		buf_reset(&out);
		assert_ok(seed_fill(&s, cases[i].template, &out, &e), &e);
		assert_string_equal(out.data, cases[i].want);
	}
	assert_fails(seed_fill(&s, "x @NOPE@", &out, &e), &e, ERR_INVALID,
		     "NOPE");
	buf_finish(&out);
	hostkey_finish(&k);
}

/* The file in the disk, whole. */
static void read_file(const char *image, const char *name, struct buf *out)
{
	autofree char *from = alloc_printf("::%s", name);
	const char *argv[] = {"mtype", "-i", image, from, NULL};
	const struct proc_run r = {.out = out, .cancel_fd = -1};
	struct err e = {0};

	buf_reset(out);
	assert_ok(proc_run(argv, &r, deadline_in_ms(20000), &e), &e);
}

static void check_file(const char *image, const char *name, const char *want)
{
	struct buf out;

	buf_init(&out, CAP);
	read_file(image, name, &out);
	assert_string_equal(out.data, want);
	buf_finish(&out);
}

/* cloud-init reads it as YAML: the key stands in a block, indented. */
static void check_user_data(const char *image)
{
	struct buf out;

	buf_init(&out, CAP);
	read_file(image, "user-data", &out);
	assert_non_null(strstr(out.data, "\nhostname: demo\n"));
	assert_non_null(strstr(out.data, "  ed25519_private: |\n"
					 "    -----BEGIN-----\n"
					 "    abc\n"
					 "    def\n"
					 "    -----END-----\n"
					 "  ed25519_public: ssh-ed25519 HOST "));
	assert_non_null(strstr(out.data, "- ssh-ed25519 CLIENT "));
	assert_null(strstr(out.data, "@HOST"));
	buf_finish(&out);
}

/* D08: the private half is in the seed, and nowhere else. */
static void disk(void **state)
{
	const char *image = unit_path("seed.img");
	const char *label[] = {"mlabel", "-s", "-i", image, "::", NULL};
	struct hostkey k;
	struct seed s = {"guest/seed", "demo", "uuid-1", &k};
	struct deadline d = deadline_in_ms(60000);
	struct err e = {0};
	struct buf out;
	const struct proc_run r = {.out = &out, .cancel_fd = -1};
	struct stat st;

	(void)state;
	fill_keys(&k);
	assert_ok(seed_write(&s, image, d, &e), &e);
	/* once more: a leftover does not disturb */
	assert_ok(seed_write(&s, image, d, &e), &e);
	assert_int_equal(stat(image, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	check_file(image, "boxery/ssh_host_ed25519_key", KEY_TEXT);
	check_file(image, "boxery/ssh_host_ed25519_key.pub",
		   "ssh-ed25519 HOST boxery-demo\n");
	check_file(image, "boxery/authorized_keys",
		   "ssh-ed25519 CLIENT boxery-demo\n");
	check_file(image, "boxery/hostname", "demo\n");
	check_file(image, "boxery/instance-id", "uuid-1\n");
	check_file(image, "meta-data",
		   "instance-id: uuid-1\nlocal-hostname: demo\n");
	check_user_data(image);
	buf_init(&out, CAP);
	assert_ok(proc_run(label, &r, d, &e), &e);
	assert_non_null(strstr(out.data, "CIDATA"));
	buf_finish(&out);
	hostkey_finish(&k);
}

static void no_templates(void **state)
{
	struct hostkey k;
	struct seed s = {"/nowhere", "demo", "uuid-1", &k};
	struct err e = {0};

	(void)state;
	fill_keys(&k);
	assert_fails(seed_write(&s, unit_path("seed.img"),
				deadline_in_ms(60000), &e),
		     &e, ERR_NOT_FOUND, "/nowhere/meta-data");
	hostkey_finish(&k);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(filling),
	cmocka_unit_test(disk),
	cmocka_unit_test(no_templates),
};
UNIT_MAIN(tests)
