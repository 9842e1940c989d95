/* What a guest's sftp server sends: packets are found whole, and whatever is in
 * them is read as each of the replies that we may expect. */
#include "base/alloc.h"
#include "vmctl/guest_wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* NAME: what a listing would keep must be usable as a name. */
static void read_names(struct guest_reply r)
{
	struct guest_text name, long_name;
	struct guest_stat st;
	uint32_t count = 0;

	if (guest_wire_get_u32(&r, &count, NULL) < 0)
		return;
	for (; count > 0; count--) {
		if (guest_wire_get_text(&r, &name, NULL) < 0 ||
		    guest_wire_get_text(&r, &long_name, NULL) < 0 ||
		    guest_wire_get_attrs(&r, &st, NULL) < 0)
			return;
		if (guest_wire_check_name(&name, NULL) < 0)
			continue;
		char *copy = alloc_strn(name.p, name.len);

		if (strlen(copy) != name.len || strchr(copy, '/'))
			abort();
		free(copy);
	}
}

static void read_attrs(struct guest_reply r)
{
	struct guest_stat st = {.type = 'x'};
	int rc = guest_wire_get_attrs(&r, &st, NULL);

	if (rc < 0 ? st.type != 'x'
		   : !strchr("fdl?", st.type) || st.mode > 07777)
		abort();
}

static void read_texts(struct guest_reply r)
{
	struct guest_text text;
	uint32_t sum = 0;

	while (guest_wire_get_text(&r, &text, NULL) == 0)
		for (size_t i = 0; i < text.len; i++)
			sum += (uint8_t)text.p[i];
	if (sum == UINT32_MAX) /* so that each byte was looked at */
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct guest_reply r;
	size_t used = 0;

	while (guest_wire_next(data, len, &r, &used, NULL) > 0) {
		if (used > len || used < 9 || r.left != used - 9)
			abort();
		read_names(r);
		read_attrs(r);
		read_texts(r);
		data += used;
		len -= used;
	}
	return 0;
}
