/* The table of operations and the table of handlers say the same. */
#include "tests/support/unit.h"

#include "ops/op.h"
#include "vmctl/service.h"

static void test_every_row(void **state)
{
	(void)state;
	for (unsigned i = 0; op_at(i); i++) {
		const struct op *op = op_at(i);
		bool local = op->flags & OP_LOCAL;

		if (local == (service_handler(op) != NULL))
			fail_msg("%s: %s", op->name,
				 local ? "is the front-end's, and has a handler"
				       : "has no handler");
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_every_row),
};

UNIT_MAIN(tests)
