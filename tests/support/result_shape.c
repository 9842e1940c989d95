#include "tests/support/result_shape.h"

#include <string.h>

static int check_record(const char *where, const struct op_field *fields,
			const json_t *v, struct err *e);

static bool is_text(const json_t *v)
{
	return json_is_string(v);
}

static bool is_int(const json_t *v)
{
	return json_is_integer(v);
}

static bool all_are(const json_t *list, bool (*is)(const json_t *v))
{
	if (!json_is_array(list))
		return false;
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (!is(json_array_get(list, i)))
			return false;
	}
	return true;
}

static bool has_type(const struct op_field *f, const json_t *v)
{
	switch (f->type) {
	case OP_FIELD_TEXT:
		return json_is_string(v);
	case OP_FIELD_INT:
		return json_is_integer(v);
	case OP_FIELD_NUMBER:
		return json_is_number(v);
	case OP_FIELD_BOOL:
		return json_is_boolean(v);
	case OP_FIELD_TEXTS:
		return all_are(v, is_text);
	case OP_FIELD_INTS:
		return all_are(v, is_int);
	case OP_FIELD_RECORD:
		return json_is_object(v);
	case OP_FIELD_RECORDS:
		return json_is_array(v);
	default:
		return false;
	}
}

/* The table's own depth: NOLINTBEGIN(misc-no-recursion) */
static int check_field(const char *where, const struct op_field *f,
		       const json_t *v, struct err *e)
{
	if (!v)
		return f->maybe ? 0
				: err_set(e, ERR_INTERNAL, "%s: no %s", where,
					  f->name);
	if (!has_type(f, v))
		return err_set(e, ERR_INTERNAL, "%s: %s is of another type",
			       where, f->name);
	if (f->type == OP_FIELD_RECORD)
		return check_record(f->name, f->fields, v, e);
	if (f->type != OP_FIELD_RECORDS)
		return 0;
	for (size_t i = 0; i < json_array_size(v); i++) {
		if (check_record(f->name, f->fields, json_array_get(v, i), e))
			return -1;
	}
	return 0;
}

static int check_record(const char *where, const struct op_field *fields,
			const json_t *v, struct err *e)
{
	json_t *walk = (json_t *)(uintptr_t)v; /* iterators want it so */
	const struct op_field *f;
	const char *key;
	json_t *member;

	if (!json_is_object(v))
		return err_set(e, ERR_INTERNAL, "%s: no record", where);
	for (f = fields; f->name; f++) {
		if (check_field(where, f, json_object_get(v, f->name), e))
			return -1;
	}
	json_object_foreach(walk, key, member)
	{
		for (f = fields; f->name && strcmp(f->name, key) != 0; f++)
			;
		if (!f->name)
			return err_set(e, ERR_INTERNAL, "%s: nobody told of %s",
				       where, key);
	}
	return 0;
}

/* NOLINTEND(misc-no-recursion) */

int shape_check(const struct op *op, const json_t *result, struct err *e)
{
	return op && op->fields ? check_record(op->name, op->fields, result, e)
				: 0;
}
