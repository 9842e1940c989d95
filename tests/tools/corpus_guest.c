/*
 * Writes the seed corpus of fuzz_guest_wire with our own encoder:
 *
 *	make tools && build/release/tools/corpus_guest tests/fuzz/corpus
 *
 * Run it when the format changes, and commit what it wrote.
 */
#include "base/cleanup.h"
#include "base/path.h"
#include "vmctl/guest_wire.h"

#include <stdio.h>

static const char *root;
static struct buf b;
static int failed;

static void save(const char *name, int rc)
{
	autofree char *dir = path_join(root, "guest_wire");
	autofree char *path = path_join(dir, name);
	struct err e = {0};

	if (rc < 0 || path_make_dirs(dir, 0755, &e) < 0 ||
	    path_write_file(path, b.data, b.len, 0644, &e) < 0) {
		fprintf(stderr, "%s: %s\n", name, err_msg(&e));
		failed = 1;
	}
	buf_reset(&b);
}

int main(int argc, char *argv[])
{
	if (argc != 2)
		return 2;
	root = argv[1];
	buf_init(&b, GUEST_WIRE_PACKET_LEN);
	save("version", guest_wire_put(&b, GUEST_WIRE_VERSION, 3, NULL, "ssss",
				       "posix-rename@openssh.com", "1",
				       "fsync@openssh.com", "1"));
	save("status", guest_wire_put(&b, GUEST_WIRE_STATUS, 1, NULL, "uss",
				      (uint32_t)GUEST_WIRE_NO_SUCH_FILE,
				      "No such file", ""));
	save("handle", guest_wire_put(&b, GUEST_WIRE_HANDLE, 2, NULL, "b",
				      "\0\0\0\x01", (size_t)4));
	save("data", guest_wire_put(&b, GUEST_WIRE_DATA, 3, NULL, "s",
				    "what is in the file\n"));
	save("attrs", guest_wire_put(&b, GUEST_WIRE_ATTRS, 4, NULL, "uquuuuu",
				     0xfU, (uint64_t)1 << 33, 1000U, 1000U,
				     0100644U, 1000000000U, 1000000001U));
	save("attrs_extended",
	     guest_wire_put(&b, GUEST_WIRE_ATTRS, 4, NULL, "uuss", 0x80000000U,
			    1U, "acl", "x"));
	save("names",
	     guest_wire_put(&b, GUEST_WIRE_NAME, 5, NULL, "ussuussuu", 2U,
			    "a.txt", "-rw-r--r-- a.txt", GUEST_WIRE_ATTR_MODE,
			    0100644U, "link", "lrwxrwxrwx link",
			    GUEST_WIRE_ATTR_MODE, 0120777U));
	save("two",
	     guest_wire_put(&b, GUEST_WIRE_STATUS, 6, NULL, "uss", 0U, "", "") |
		     guest_wire_put(&b, GUEST_WIRE_NAME, 7, NULL, "ussu", 1U,
				    "/home/agent", "", 0U));
	buf_finish(&b);
	return failed;
}
