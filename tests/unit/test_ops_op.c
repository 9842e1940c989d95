/* What must hold of every row of the table, because much is derived from it. */
#include "tests/support/unit.h"

#include "base/json.h"
#include "ops/argv.h"
#include "ops/help.h"
#include "ops/op.h"
#include "ops/validate.h"

#include <regex.h>
#include <string.h>

static bool matches(const char *pattern, const char *text)
{
	regex_t r;
	bool ok;

	assert_int_equal(regcomp(&r, pattern, REG_EXTENDED | REG_NOSUB), 0);
	ok = regexec(&r, text, 0, NULL, 0) == 0;
	regfree(&r);
	return ok;
}

static void test_names(void **state)
{
	(void)state;
	for (unsigned i = 0; op_at(i); i++) {
		const struct op *op = op_at(i);

		/* MCP's rule for tools is wider; this is also a C name */
		if (!matches("^[a-z][a-z0-9_]{0,63}$", op->name))
			fail_msg("%s: name", op->name);
		if (op->verb && !matches("^[a-z][a-z-]*( [a-z-]+){0,2}$", op->verb))
			fail_msg("%s: verb", op->name);
		for (unsigned j = 0; j < i; j++) {
			assert_string_not_equal(op->name, op_at(j)->name);
			if (op->verb && op_at(j)->verb)
				assert_string_not_equal(op->verb,
							op_at(j)->verb);
		}
		assert_ptr_equal(op_find(op->name), op);
	}
	assert_null(op_find("vm_"));
	assert_null(op_find(""));
}

static void test_flags(void **state)
{
	(void)state;
	for (unsigned i = 0; op_at(i); i++) {
		const struct op *op = op_at(i);
		bool reads = op->flags & OP_READS;
		bool changes = op->flags & OP_CHANGES;

		/* MCP's hints are derived: one of the two, truthfully */
		if (reads == changes)
			fail_msg("%s: reads or changes?", op->name);
		if (reads && (op->flags & OP_DESTROYS))
			fail_msg("%s: reads and destroys?", op->name);
		if (!(op->flags & (OP_AGENT | OP_PERSON)))
			fail_msg("%s: open to nobody", op->name);
		if (!!op->verb != !!(op->flags & OP_PERSON))
			fail_msg("%s: a person's rows have a verb", op->name);
		if ((op->flags & OP_ENDS_WITH_CLIENT) && op->kind != OP_JOB)
			fail_msg("%s: only a job could outlive a client",
				 op->name);
		if (op->result == OP_RESULT_TABLE && !op->columns)
			fail_msg("%s: a table of what?", op->name);
		if (!op->summary[0] || !op->description[0])
			fail_msg("%s: not described", op->name);
		if (op->summary[strlen(op->summary) - 1] == '.')
			fail_msg("%s: the summary ends with a stop", op->name);
	}
}

static void check_param(const struct op *op, const struct op_param *p)
{
	if (!matches("^[a-z][a-z0-9_]*$", p->name))
		fail_msg("%s: %s: name", op->name, p->name);
	if (!p->help || !p->help[0] || p->help[strlen(p->help) - 1] == '.')
		fail_msg("%s: %s: help", op->name, p->name);
	if ((p->type == OP_ENUM) != (p->choices != NULL))
		fail_msg("%s: %s: choices", op->name, p->name);
	if ((p->flags & OP_CLI_ONLY) && (p->flags & OP_MCP_ONLY))
		fail_msg("%s: %s: open to nobody", op->name, p->name);
	if ((p->flags & OP_REQUIRED) && p->def)
		fail_msg("%s: %s: required and with a default", op->name,
			 p->name);
	if (p->max != 0 && p->max < p->min)
		fail_msg("%s: %s: range", op->name, p->name);
	if ((p->type == OP_INT || p->type == OP_SIZE || p->type == OP_NUMBER ||
	     p->type == OP_POINTS) &&
	    p->max <= 0)
		fail_msg("%s: %s: without a range", op->name, p->name);
	for (const struct op_param *q = op->params; q < p; q++)
		assert_string_not_equal(p->name, q->name);
	/* the command line's own options must not hide it */
	for (int i = 0; i < ARGV_OPTION_COUNT; i++) {
		if (strcmp(p->name, argv_options[i].name) == 0)
			fail_msg("%s: %s: is an option of the front-end",
				 op->name, p->name);
	}
}

static void test_params(void **state)
{
	(void)state;
	for (unsigned i = 0; op_at(i); i++) {
		const struct op *op = op_at(i);
		bool optional_seen = false;

		for (const struct op_param *p = op->params; p->name; p++) {
			check_param(op, p);
			if (!(p->flags & OP_POSITIONAL) || !argv_offers(p))
				continue;
			/* else its place would be ambiguous */
			if (optional_seen && (p->flags & OP_REQUIRED))
				fail_msg("%s: %s: required after optional",
					 op->name, p->name);
			optional_seen |= !(p->flags & OP_REQUIRED);
		}
	}
}

/* A default passes the rule of its own parameter. */
static void test_defaults(void **state)
{
	(void)state;
	for (unsigned i = 0; op_at(i); i++) {
		for (const struct op_param *p = op_at(i)->params; p->name;
		     p++) {
			struct op_param two[2] = {*p, {.name = NULL}};
			struct op alone = {.name = op_at(i)->name,
					   .params = two};
			auto_json json_t *args = json_object();
			auto_json json_t *out = NULL;
			struct err e = {0};

			if (!p->def)
				continue;
			two[0].flags = 0;
			json_object_set_new(
				args, p->name,
				json_loads(p->def, JSON_DECODE_ANY, NULL));
			out = validate_args(&alone, args, false, &e);
			if (!out)
				fail_msg("%s", e.msg);
		}
	}
}

static void test_verbs(void **state)
{
	static const struct {
		const char *words[4];
		const char *op;
		int used;
	} lines[] = {
		{{"ls"}, "vm_list", 1},
		{{"service", "status"}, "service_status", 2},
		{{"service", "stop", "x"}, "service_stop", 2},
		{{"service"}, NULL, 0},
		{{"lsx"}, NULL, 0},
		{{"build-base", "--json"}, "build_base", 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(lines); i++) {
		char *words[4];
		const struct op *op;
		int argc = 0;
		int used = 0;

		while (argc < 4 && lines[i].words[argc]) {
			words[argc] = strdup(lines[i].words[argc]);
			argc++;
		}
		op = op_find_verb(argc, words, &used);
		if (!lines[i].op)
			assert_null(op);
		else
			assert_ptr_equal(op, op_find(lines[i].op));
		assert_int_equal(used, lines[i].used);
		while (argc > 0)
			free(words[--argc]);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_names),  cmocka_unit_test(test_flags),
	cmocka_unit_test(test_params), cmocka_unit_test(test_defaults),
	cmocka_unit_test(test_verbs),
};

UNIT_MAIN(tests)
