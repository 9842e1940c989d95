#include "ops/table.h"

#include "base/cleanup.h"

static const struct op *const groups[] = {
	table_machines,
	table_work,
	table_desktop,
	table_grants,
	table_host,
};

const struct op *op_at(unsigned i)
{
	for (unsigned g = 0; g < ARRAY_COUNT(groups); g++) {
		for (const struct op *op = groups[g]; op->name; op++) {
			if (i-- == 0)
				return op;
		}
	}
	return NULL;
}

unsigned op_count(void)
{
	unsigned count = 0;

	while (op_at(count))
		count++;
	return count;
}
