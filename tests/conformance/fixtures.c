#include "tests/conformance/fixtures.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/json.h"
#include "base/limits.h"
#include "tests/conformance/questions.h"
#include "tests/conformance/shelf.h"

#include <string.h>

#define NO_ARGUMENTS "{\"type\":\"object\"}"
/* a red pixel, and no sound */
#define PNG                                                                    \
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAF" \
	"BQIAX8jx0gAAAABJRU5ErkJggg=="
#define WAV "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="

#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define IMAGE "{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"}"
#define RESOURCE(uri, mime, text)                                              \
	"{\"type\":\"resource\",\"resource\":{\"uri\":\"" uri                  \
	"\",\"mimeType\":\"" mime "\",\"text\":\"" text "\"}}"
#define CONTENT(blocks) "{\"content\":[" blocks "]}"

static const char schema_2020_12[] =
	"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
	"\"type\":\"object\",\"$defs\":{\"address\":{\"$anchor\":"
	"\"addressDef\",\"type\":\"object\",\"properties\":{\"street\":"
	"{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"
	"\"properties\":{\"name\":{\"type\":\"string\"},\"address\":"
	"{\"$ref\":\"#/$defs/address\"},\"contactMethod\":{\"type\":"
	"\"string\",\"enum\":[\"phone\",\"email\"]},\"phone\":{\"type\":"
	"\"string\"},\"email\":{\"type\":\"string\"}},\"allOf\":[{\"anyOf\":"
	"[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],\"if\":"
	"{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"
	"\"required\":[\"contactMethod\"]},\"then\":{\"required\":"
	"[\"phone\"]},\"else\":{\"required\":[\"email\"]},"
	"\"additionalProperties\":false}";

static const struct toolset_header region_header[] = {{"region", "Region"},
						      {NULL, NULL}};

struct fixture {
	const char *name, *schema;
	const char *result; /* what it always gives */
	const struct toolset_header *headers;
	const char *const *log; /* said at level info, ends with NULL */
	const struct question *question; /* it asks this, and nothing else */
	unsigned changes;	/* topics that it tells of (feed.h) */
	bool is_slow; /* progress of 0, 50 and 100 on the way */
	bool pauses;
};

static const char *const log_three[] = {"Tool execution started",
					"Tool processing data",
					"Tool execution completed", NULL};
static const char *const log_one[] = {"A line for whoever asked", NULL};

static const struct fixture fixtures[] = {
	{.name = "test_simple_text",
	 .result = CONTENT(
		 TEXT("This is a simple text response for testing."))},
	{.name = "test_image_content", .result = CONTENT(IMAGE)},
	{.name = "test_audio_content",
	 .result = CONTENT("{\"type\":\"audio\",\"data\":\"" WAV
			   "\",\"mimeType\":\"audio/wav\"}")},
	{.name = "test_embedded_resource",
	 .result = CONTENT(RESOURCE("test://embedded-resource", "text/plain",
				    "This is an embedded resource content."))},
	{.name = "test_multiple_content_types",
	 .result = CONTENT(
		 TEXT("Multiple content types test:") "," IMAGE "," RESOURCE(
			 "test://mixed-content-resource", "application/json",
			 "{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}"))},
	{.name = "test_error_handling",
	 .result = "{\"isError\":true,\"content\":[" TEXT(
		 "This tool intentionally returns an error for testing") "]}"},
	{.name = "test_tool_with_progress",
	 .result = CONTENT(TEXT("Progress was reported.")),
	 .is_slow = true},
	{.name = "test_tool_with_logging",
	 .result = CONTENT(TEXT("Three lines were logged.")),
	 .log = log_three},
	{.name = "test_logging_tool",
	 .result = CONTENT(TEXT("A line was logged.")),
	 .log = log_one},
	{.name = "test_trigger_tool_change",
	 .result = CONTENT(TEXT("The list of tools has changed.")),
	 .changes = FEED_TOOLS},
	{.name = "test_trigger_prompt_change",
	 .result = CONTENT(TEXT("The list of prompts has changed.")),
	 .changes = FEED_PROMPTS},
	{.name = "test_reconnection",
	 .result = CONTENT(TEXT("Reconnected.")),
	 .pauses = true},
	{.name = "json_schema_2020_12_tool",
	 .schema = schema_2020_12,
	 .result = CONTENT(TEXT("taken"))},
	{.name = "test_x_mcp_header",
	 .schema = "{\"type\":\"object\",\"properties\":{\"region\":"
		   "{\"type\":\"string\",\"x-mcp-header\":\"Region\"}}}",
	 .result = CONTENT(TEXT("taken")),
	 .headers = region_header},
};

struct fixtures {
	char *list;
	struct feed *feed;
	struct fixture *all; /* those, and the questions */
	size_t count;
};

static void collect(struct fixtures *x)
{
	const struct question *q;

	x->count = ARRAY_COUNT(fixtures);
	while (questions_at(x->count - ARRAY_COUNT(fixtures)))
		x->count++;
	x->all = alloc_array(x->count, sizeof(*x->all));
	memcpy(x->all, fixtures, sizeof(fixtures));
	for (size_t i = ARRAY_COUNT(fixtures); i < x->count; i++) {
		q = questions_at(i - ARRAY_COUNT(fixtures));
		x->all[i].name = questions_name(q);
		x->all[i].schema = questions_schema(q);
		x->all[i].question = q;
	}
}

static char *make_list(const struct fixtures *x)
{
	auto_json json_t *list = json_array();

	for (size_t i = 0; i < x->count; i++) {
		const struct fixture *f = &x->all[i];
		json_t *tool = json_object();
		struct err e = {0};
		const char *schema = f->schema ? f->schema : NO_ARGUMENTS;

		json_object_set_new(tool, "name", json_string(f->name));
		json_object_set_new(tool, "description",
				    json_string("A fixture"));
		json_object_set_new(tool, "inputSchema",
				    json_parse(schema, strlen(schema), &e));
		json_array_append_new(list, tool);
	}
	return json_print(list);
}

static const char *list_fixtures(void *ctx)
{
	const struct fixtures *x = ctx;

	return x->list;
}

static const void *find_fixture(void *ctx, const char *name)
{
	const struct fixtures *x = ctx;

	for (size_t i = 0; i < x->count; i++) {
		if (strcmp(x->all[i].name, name) == 0)
			return &x->all[i];
	}
	return NULL;
}

static bool is_long(void *ctx, const void *tool)
{
	const struct fixture *f = tool;

	(void)ctx;
	return f->is_slow || f->pauses || f->question;
}

static const char *lane_of(void *ctx, const void *tool, const json_t *args)
{
	(void)ctx;
	(void)tool;
	(void)args;
	return NULL;
}

static json_t *call_fixture(void *ctx, const struct tools_call *c)
{
	const struct fixture *f = c->tool;
	const struct fixtures *x = ctx;
	struct err e = {0};

	if (f->question)
		return questions_call(f->question, c);
	for (size_t i = 0; f->log && f->log[i]; i++) {
		c->log(c->ctx, LEVEL_INFO, f->log[i]);
		deadline_sleep_ms(50);
	}
	for (int done = 0; f->is_slow && done <= 100; done += 50) {
		struct client_progress p = {.done = done, .total = 100};

		c->progress(c->ctx, &p);
		deadline_sleep_ms(120);
	}
	for (unsigned topic = FEED_TOOLS; topic <= FEED_PROMPTS; topic *= 2) {
		if (f->changes & topic)
			feed_tell(x->feed, topic, NULL);
	}
	if (f->pauses) {
		deadline_sleep_ms(100);
		c->pause(c->ctx);
		deadline_sleep_ms(500);
	}
	return json_parse(f->result, strlen(f->result), &e);
}

static const struct toolset_header *headers_of(void *ctx, const void *tool)
{
	const struct fixture *f = tool;

	(void)ctx;
	return f->headers;
}

static unsigned needs(void *ctx, const void *tool)
{
	const struct fixture *f = tool;

	(void)ctx;
	return f->question ? questions_needs(f->question) : 0;
}

struct toolset fixtures_tools(void)
{
	struct fixtures *x = ALLOC_NEW(struct fixtures);

	collect(x);
	x->list = make_list(x);
	x->feed = feed_new(NULL);
	return (struct toolset){
		.ctx = x,
		.list = list_fixtures,
		.find = find_fixture,
		.is_long = is_long,
		.lane = lane_of,
		.call = call_fixture,
		.headers = headers_of,
		.needs = needs,
		.rounds = rounds_new("everybody", LIMIT_ROUND_MS),
		.library = fixtures_library(x->feed),
	};
}

void fixtures_free(struct toolset *t)
{
	struct fixtures *x = t->ctx;

	feed_free(x->feed);
	rounds_free(t->rounds);
	free(x->all);
	free(x->list);
	free(x);
}
