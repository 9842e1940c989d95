#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/path.h"
#include "vmctl/datadir.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* unit_dir() is 0700 in a folder that all may enter; QEMU is played by our
 * own group and a user that is somebody else. */
static struct home make_home(struct datadir_qemu *q)
{
	struct home h = {0};
	struct err e = {0};

	assert_ok(home_init(&h, unit_dir(), &e), &e);
	assert_ok(home_make_dirs(&h, &e), &e);
	*q = (struct datadir_qemu){geteuid() + 12345, getegid()};
	return h;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_mode & 07777;
}

static void make(void **state)
{
	struct datadir_qemu q;
	struct home h = make_home(&q);
	autofree char *vms = datadir_vms(&h);
	struct err e = {0};

	(void)state;
	assert_fails(datadir_check(&h, &q, &e), &e, ERR_DENIED,
		     "sudo install -d -m 2710");
	assert_ok(datadir_make(&h, &q, &e), &e);
	assert_int_equal(mode_of(h.data), 02710);
	assert_int_equal(mode_of(vms), 02710);
	/* its own folder lets QEMU pass, and no more */
	assert_int_equal(mode_of(h.relocated) & 0007, 0001);
	assert_ok(datadir_check(&h, &q, &e), &e);
	assert_ok(datadir_make(&h, &q, &e), &e);
	home_finish(&h);
}

static void wrong(void **state)
{
	struct datadir_qemu q, other;
	struct home h = make_home(&q);
	struct err e = {0};

	(void)state;
	assert_ok(datadir_make(&h, &q, &e), &e);
	other = (struct datadir_qemu){q.uid, q.gid + 54321};
	assert_fails(datadir_check(&h, &other, &e), &e, ERR_DENIED,
		     "another owner or group");
	assert_int_equal(chmod(h.data, 0755), 0);
	assert_fails(datadir_check(&h, &q, &e), &e, ERR_DENIED, "mode");
	assert_ok(datadir_make(&h, &q, &e), &e);
	assert_int_equal(chmod(h.relocated, 0700), 0);
	/* our own group may pass, so QEMU's is made another */
	other = (struct datadir_qemu){q.uid, q.gid};
	assert_fails(datadir_check(&h, &other, &e), &e, ERR_DENIED,
		     "cannot enter");
	home_finish(&h);
}

static void files(void **state)
{
	struct datadir_qemu q;
	struct home h = make_home(&q);
	autofree char *console = datadir_console(&h, "demo");
	autofree char *older = alloc_printf("%s.0", console);
	autofree char *disk = datadir_disk(&h, "demo");
	autofree char *other = datadir_disk(&h, "demo2");
	struct err e = {0};

	(void)state;
	assert_ok(datadir_make(&h, &q, &e), &e);
	assert_ok(datadir_reset_console(&h, "demo", &e), &e);
	assert_int_equal(mode_of(console), 0660);
	assert_ok(datadir_reset_console(&h, "demo", &e), &e);
	assert_ok(path_write_file(older, "x", 1, 0600, &e), &e);
	assert_ok(path_write_file(disk, "x", 1, 0600, &e), &e);
	assert_ok(path_write_file(other, "x", 1, 0600, &e), &e);
	assert_ok(datadir_remove_vm(&h, "demo", &e), &e);
	assert_int_equal(mode_of(console), 0);
	assert_int_equal(mode_of(older), 0);
	assert_int_equal(mode_of(disk), 0);
	assert_int_equal(mode_of(other), 0600);
	assert_ok(datadir_remove_vm(&h, "demo", &e), &e);
	home_finish(&h);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(make),
	cmocka_unit_test(wrong),
	cmocka_unit_test(files),
};
UNIT_MAIN(tests)
