#include "ops/op.h"

#include "base/cleanup.h"

#include <string.h>

const struct op *op_find(const char *name)
{
	for (unsigned i = 0; op_at(i); i++) {
		if (strcmp(op_at(i)->name, name) == 0)
			return op_at(i);
	}
	return NULL;
}

/* How many words of argv the verb takes, or 0 when it does not match. */
static int verb_match(const char *verb, int argc, char *const argv[])
{
	int used = 0;

	while (*verb) {
		size_t len = strcspn(verb, " ");

		if (used >= argc || strlen(argv[used]) != len ||
		    strncmp(argv[used], verb, len) != 0)
			return 0;
		used++;
		verb += len;
		verb += strspn(verb, " ");
	}
	return used;
}

const struct op *op_find_verb(int argc, char *const argv[], int *ret_used)
{
	const struct op *best = NULL;
	int best_used = 0;

	for (unsigned i = 0; op_at(i); i++) {
		int used;

		if (!op_at(i)->verb)
			continue;
		used = verb_match(op_at(i)->verb, argc, argv);
		if (used > best_used) {
			best = op_at(i);
			best_used = used;
		}
	}
	if (best)
		*ret_used = best_used;
	return best;
}

const struct op_param *op_param_find(const struct op *op, const char *name)
{
	for (const struct op_param *p = op->params; p->name; p++) {
		if (strcmp(p->name, name) == 0)
			return p;
	}
	return NULL;
}
