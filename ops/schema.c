#include "ops/schema.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "ops/steps.h"

#include <string.h>

static void put_str(json_t *obj, const char *key, const char *value)
{
	json_object_set_new(obj, key, json_string(value));
}

static void put_int(json_t *obj, const char *key, int64_t value)
{
	json_object_set_new(obj, key, json_integer(value));
}

static json_t *of_type(const char *type)
{
	json_t *s = json_object();

	put_str(s, "type", type);
	return s;
}

/* min and max of 0 mean that the row states none */
static json_t *text_schema(const struct op_param *p)
{
	json_t *s = of_type("string");

	if (p->min > 0)
		put_int(s, "minLength", p->min);
	if (p->max > 0)
		put_int(s, "maxLength", p->max);
	return s;
}

static json_t *name_schema(void)
{
	json_t *s = of_type("string");

	put_int(s, "minLength", 1);
	put_int(s, "maxLength", LIMIT_NAME_LEN);
	put_str(s, "pattern", "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$");
	return s;
}

static json_t *number_schema(const struct op_param *p, const char *type)
{
	json_t *s = of_type(type);

	put_int(s, "minimum", p->min);
	if (p->max > p->min)
		put_int(s, "maximum", p->max);
	return s;
}

static json_t *enum_schema(const struct op_param *p)
{
	json_t *s = of_type("string");
	json_t *choices = json_array();

	for (const char *const *c = p->choices; *c; c++)
		json_array_append_new(choices, json_string(*c));
	json_object_set_new(s, "enum", choices);
	return s;
}

static json_t *array_schema(json_t *items, int64_t min, int64_t max)
{
	json_t *s = of_type("array");

	json_object_set_new(s, "items", items);
	if (min > 0)
		put_int(s, "minItems", min);
	if (max > 0)
		put_int(s, "maxItems", max);
	return s;
}

/* count pixel numbers: a point has two, a region four */
static json_t *pixels_schema(int count)
{
	json_t *item = of_type("integer");

	put_int(item, "minimum", 0);
	put_int(item, "maximum", LIMIT_DESKTOP_SIDE_PX);
	return array_schema(item, count, count);
}

static json_t *strings_map_schema(void)
{
	json_t *s = of_type("object");

	json_object_set_new(s, "additionalProperties", of_type("string"));
	return s;
}

static json_t *type_schema(const struct op_param *p)
{
	switch (p->type) {
	case OP_VM:
	case OP_NEW_VM:
		return name_schema();
	case OP_INT:
	case OP_SIZE:
		return number_schema(p, "integer");
	case OP_NUMBER:
		return number_schema(p, "number");
	case OP_BOOL:
		return of_type("boolean");
	case OP_ENUM:
		return enum_schema(p);
	case OP_STRINGS:
		return array_schema(of_type("string"), p->min, p->max);
	case OP_POINT:
		return pixels_schema(2);
	case OP_POINTS:
		return array_schema(pixels_schema(2), p->min, p->max);
	case OP_REGION:
		return pixels_schema(4);
	case OP_ENV:
		return strings_map_schema();
	case OP_STEPS:
		return steps_schema(p);
	case OP_STRING:
	case OP_TEXT:
	case OP_PATH:
	case OP_ENDPOINT:
	case OP_KEY:
	case OP_LAYERS:
		break;
	}
	return text_schema(p);
}

static json_t *parse_ours(const char *text)
{
	json_t *v = json_parse(text, strlen(text), NULL);

	if (!v)
		abort(); /* the table is static: a test reads every row */
	return v;
}

static json_t *param_schema(const struct op_param *p)
{
	json_t *s = type_schema(p);
	autofree char *help =
		p->unit ? alloc_printf("%s (unit: %s)", p->help, p->unit)
			: alloc_str(p->help);

	put_str(s, "description", help);
	if (p->def)
		json_object_set_new(s, "default", parse_ours(p->def));
	return s;
}

json_t *schema_input(const struct op *op)
{
	json_t *s = of_type("object");
	json_t *properties = json_object();
	json_t *required = json_array();

	for (const struct op_param *p = op->params; p->name; p++) {
		if (p->flags & (OP_CLI_ONLY | OP_FILLED))
			continue;
		json_object_set_new(properties, p->name, param_schema(p));
		if (p->flags & OP_REQUIRED)
			json_array_append_new(required, json_string(p->name));
	}
	json_object_set_new(s, "properties", properties);
	if (json_array_size(required) > 0)
		json_object_set(s, "required", required);
	json_decref(required);
	json_object_set_new(s, "additionalProperties", json_false());
	return s;
}

/* Records hold records, as deep as the table says.
 * NOLINTBEGIN(misc-no-recursion) */
static json_t *fields_schema(const struct op_field *fields, bool all_may_miss);

static json_t *field_schema(const struct op_field *f)
{
	json_t *s = NULL, *each = NULL;

	switch (f->type) {
	case OP_FIELD_INT:
		s = of_type("integer");
		break;
	case OP_FIELD_NUMBER:
		s = of_type("number");
		break;
	case OP_FIELD_BOOL:
		s = of_type("boolean");
		break;
	case OP_FIELD_TEXTS:
		each = of_type("string");
		break;
	case OP_FIELD_INTS:
		each = of_type("integer");
		break;
	case OP_FIELD_RECORD:
		s = fields_schema(f->fields, false);
		break;
	case OP_FIELD_RECORDS:
		each = fields_schema(f->fields, false);
		break;
	case OP_FIELD_TEXT:
	default:
		s = of_type("string");
		break;
	}
	if (each) {
		s = of_type("array");
		json_object_set_new(s, "items", each);
	}
	put_str(s, "description", f->help);
	return s;
}

static json_t *fields_schema(const struct op_field *fields, bool all_may_miss)
{
	json_t *s = of_type("object");
	json_t *properties = json_object();
	json_t *required = json_array();

	for (const struct op_field *f = fields; f->name; f++) {
		json_object_set_new(properties, f->name, field_schema(f));
		if (!f->maybe && !all_may_miss)
			json_array_append_new(required, json_string(f->name));
	}
	json_object_set_new(s, "properties", properties);
	if (json_array_size(required) > 0)
		json_object_set(s, "required", required);
	json_decref(required);
	return s;
}

/* NOLINTEND(misc-no-recursion) */

json_t *schema_output(const struct op *op)
{
	static const struct op_field job = {
		.name = "job",
		.help = "Id for vm_wait, where the work goes on; nothing else "
			"is known then but state: running",
	};
	json_t *s, *properties;

	if (!op->fields || (op->result != OP_RESULT_OBJECT &&
			    op->result != OP_RESULT_TABLE))
		return NULL;
	s = fields_schema(op->fields, op->kind == OP_JOB);
	properties = json_object_get(s, "properties");
	if (op->kind == OP_JOB)
		json_object_set_new(properties, job.name, field_schema(&job));
	return s;
}

json_t *schema_annotations(const struct op *op)
{
	const struct {
		const char *hint;
		unsigned flags;
	} hints[] = {
		{"readOnlyHint", OP_READS},
		{"destructiveHint", OP_DESTROYS},
		/* to look twice changes no more than to look once */
		{"idempotentHint", OP_IDEMPOTENT | OP_READS},
		{"openWorldHint", OP_OPEN_WORLD},
	};
	json_t *a = json_object();

	for (size_t i = 0; i < ARRAY_COUNT(hints); i++)
		json_object_set_new(a, hints[i].hint,
				    json_boolean(op->flags & hints[i].flags));
	return a;
}
