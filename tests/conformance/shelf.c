#include "tests/conformance/shelf.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "tests/conformance/questions.h"

#include <string.h>

#define PNG                                                                    \
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAF" \
	"BQIAX8jx0gAAAABJRU5ErkJggg=="
#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define MESSAGE(content) "{\"role\":\"user\",\"content\":" content "}"

static const char resources[] =
	"{\"resources\":["
	"{\"uri\":\"test://static-text\",\"name\":\"static-text\","
	"\"description\":\"A fixture\",\"mimeType\":\"text/plain\"},"
	"{\"uri\":\"test://static-binary\",\"name\":\"static-binary\","
	"\"description\":\"A fixture\",\"mimeType\":\"image/png\"},"
	"{\"uri\":\"test://watched-resource\",\"name\":\"watched-resource\","
	"\"description\":\"A fixture\",\"mimeType\":\"text/plain\"}]}";

static const char templates[] =
	"{\"resourceTemplates\":[{\"uriTemplate\":\"test://template/{id}/data\","
	"\"name\":\"template\",\"description\":\"A fixture\","
	"\"mimeType\":\"application/json\"}]}";

static const char prompts[] =
	"{\"prompts\":["
	"{\"name\":\"test_simple_prompt\",\"description\":\"A fixture\"},"
	"{\"name\":\"test_prompt_with_arguments\",\"description\":"
	"\"A fixture\",\"arguments\":[{\"name\":\"arg1\",\"required\":true},"
	"{\"name\":\"arg2\",\"required\":true}]},"
	"{\"name\":\"test_prompt_with_embedded_resource\",\"description\":"
	"\"A fixture\",\"arguments\":[{\"name\":\"resourceUri\","
	"\"required\":true}]},"
	"{\"name\":\"test_prompt_with_image\",\"description\":\"A fixture\"},"
	"{\"name\":\"test_input_required_result_prompt\",\"description\":"
	"\"A fixture\"}]}";

static const struct {
	const char *uri, *result;
} contents[] = {
	{"test://static-text",
	 "{\"contents\":[{\"uri\":\"test://static-text\",\"mimeType\":"
	 "\"text/plain\",\"text\":\"This is the content of the static text "
	 "resource.\"}]}"},
	{"test://static-binary",
	 "{\"contents\":[{\"uri\":\"test://static-binary\",\"mimeType\":"
	 "\"image/png\",\"blob\":\"" PNG "\"}]}"},
	{"test://watched-resource",
	 "{\"contents\":[{\"uri\":\"test://watched-resource\",\"mimeType\":"
	 "\"text/plain\",\"text\":\"It is watched.\"}]}"},
};

static json_t *fixed(const char *text)
{
	struct err e = {0};

	return json_parse(text, strlen(text), &e);
}

static json_t *text_message(const char *text)
{
	return json_pack("{s:s, s:{s:s, s:s}}", "role", "user", "content",
			 "type", "text", "text", text);
}

static json_t *read_template(const char *uri, struct jsonrpc_fault *f)
{
	static const char begin[] = "test://template/", end[] = "/data";
	size_t len = strlen(uri), id_len;
	autofree char *id = NULL, *text = NULL;

	if (len <= strlen(begin) + strlen(end) ||
	    strncmp(uri, begin, strlen(begin)) != 0 ||
	    strcmp(uri + len - strlen(end), end) != 0)
		return library_not_found(f, uri);
	id_len = len - strlen(begin) - strlen(end);
	id = alloc_strn(uri + strlen(begin), id_len);
	text = alloc_printf("{\"id\":\"%s\",\"templateTest\":true,"
			    "\"data\":\"Data for ID: %s\"}",
			    id, id);
	return json_pack("{s:[{s:s, s:s, s:s}]}", "contents", "uri", uri,
			 "mimeType", "application/json", "text", text);
}

static json_t *read_resource(const char *uri, struct jsonrpc_fault *f)
{
	for (size_t i = 0; i < ARRAY_COUNT(contents); i++) {
		if (strcmp(contents[i].uri, uri) == 0)
			return fixed(contents[i].result);
	}
	return read_template(uri, f);
}

static const char *arg(const struct ask *a, const char *name)
{
	const char *v = json_string_value(json_object_get(a->args, name));

	return v ? v : "";
}

static json_t *get_prompt(const struct ask *a, struct jsonrpc_fault *f)
{
	autofree char *text = NULL;

	if (strcmp(a->prompt, "test_simple_prompt") == 0)
		return json_pack("{s:[o]}", "messages",
				 text_message("This is a simple prompt for "
					      "testing."));
	if (strcmp(a->prompt, "test_prompt_with_arguments") == 0) {
		text = alloc_printf("Prompt with arguments: arg1='%s', "
				    "arg2='%s'",
				    arg(a, "arg1"), arg(a, "arg2"));
		return json_pack("{s:[o]}", "messages", text_message(text));
	}
	if (strcmp(a->prompt, "test_prompt_with_embedded_resource") == 0)
		return json_pack(
			"{s:[{s:s, s:{s:s, s:{s:s, s:s, s:s}}}, o]}",
			"messages", "role", "user", "content", "type",
			"resource", "resource", "uri", arg(a, "resourceUri"),
			"mimeType", "text/plain", "text",
			"Embedded resource content for testing.",
			text_message("Please process the embedded resource "
				     "above."));
	if (strcmp(a->prompt, "test_prompt_with_image") == 0)
		return fixed("{\"messages\":[" MESSAGE(
			"{\"type\":\"image\",\"data\":\"" PNG
			"\",\"mimeType\":\"image/png\"}") "," MESSAGE(TEXT("Please analyze the image above.")) "]}");
	jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS, "unknown prompt: %.100s",
			  a->prompt);
	return NULL;
}

static json_t *answer(void *ctx, const struct library_ask *a,
		      struct jsonrpc_fault *f)
{
	(void)ctx;
	if (a->ask->kind == ASK_RESOURCES_LIST)
		return fixed(resources);
	if (a->ask->kind == ASK_TEMPLATES_LIST)
		return fixed(templates);
	if (a->ask->kind == ASK_PROMPTS_LIST)
		return fixed(prompts);
	if (a->ask->kind == ASK_RESOURCE_READ)
		return read_resource(a->ask->uri, f);
	if (a->ask->kind == ASK_PROMPT_GET &&
	    strcmp(a->ask->prompt, "test_input_required_result_prompt") == 0)
		return questions_prompt(a, f);
	if (a->ask->kind == ASK_PROMPT_GET)
		return get_prompt(a->ask, f);
	return fixed("{\"completion\":{\"values\":[],\"total\":0,"
		     "\"hasMore\":false}}");
}

static bool may_watch(void *ctx, const char *uri)
{
	(void)ctx;
	return strncmp(uri, "test://", 7) == 0;
}

struct library fixtures_library(struct feed *feed)
{
	return (struct library){
		.answer = answer, .may_watch = may_watch, .feed = feed};
}
