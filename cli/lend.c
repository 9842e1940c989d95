#include "cli/lend.h"

#include "base/cleanup.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#define ENV "env:"
#define OWN "BOXERY_"

static void add_value(json_t *values, const char *text)
{
	const char *name, *value;

	if (!text || strncmp(text, ENV, strlen(ENV)) != 0)
		return;
	name = text + strlen(ENV);
	if (strncmp(name, OWN, strlen(OWN)) == 0)
		return;
	/* no thread ever runs: NOLINTNEXTLINE(concurrency-mt-unsafe) */
	value = getenv(name);
	if (value)
		json_object_set_new(values, name, json_string(value));
}

static void fill_values(json_t *args)
{
	const json_t *texts = json_object_get(args, "grants");
	auto_json json_t *values = json_object();

	if (!texts)
		texts = json_object_get(args, "grant");
	for (size_t i = 0; i < json_array_size(texts); i++)
		add_value(values,
			  json_string_value(json_array_get(texts, i)));
	if (json_object_size(values) > 0)
		json_object_set(args, "values", values);
}

void lend_fill(const struct op *op, json_t *args)
{
	const char *socket;

	if (op_param_find(op, "values"))
		fill_values(args);
	if (!op_param_find(op, "agent_socket"))
		return;
	/* no thread ever runs: NOLINTNEXTLINE(concurrency-mt-unsafe) */
	socket = getenv("SSH_AUTH_SOCK");
	if (socket && socket[0] == '/')
		json_object_set_new(args, "agent_socket", json_string(socket));
}
