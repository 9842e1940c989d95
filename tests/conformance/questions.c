#include "tests/conformance/questions.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/elicit.h"
#include "mcp/present.h"

#include <string.h>

#define STEPS_COUNT 2

struct question {
	const char *name, *schema;
	const char *says;		/* before what came back */
	const char *steps[STEPS_COUNT]; /* {KEY: request} each */
	unsigned needs;
};

#define FORM(message, properties, required)                                    \
	"{\"method\":\"elicitation/create\",\"params\":{\"message\":\""        \
	message "\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{" \
	properties "},\"required\":[" required "]}}}"
#define SAMPLE(text, count)                                                    \
	"{\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[{"   \
	"\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"" text    \
	"\"}}],\"maxTokens\":" count "}}"
#define ROOTS "{\"method\":\"roots/list\",\"params\":{}}"
#define NAME FORM("What is your name?", "\"name\":{\"type\":\"string\"}", "\"name\"")
#define CONFIRM FORM("Please confirm", "\"ok\":{\"type\":\"boolean\"}", "\"ok\"")
#define STRING_ARG(name)                                                       \
	"{\"type\":\"object\",\"properties\":{\"" name                         \
	"\":{\"type\":\"string\"}},\"required\":[\"" name "\"]}"

#define DEFAULTS                                                               \
	"\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"             \
	"\"age\":{\"type\":\"integer\",\"default\":30},"                       \
	"\"score\":{\"type\":\"number\",\"default\":95.5},"                    \
	"\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\","   \
	"\"pending\"],\"default\":\"active\"},"                                \
	"\"verified\":{\"type\":\"boolean\",\"default\":true}"

#define TITLED(value, title) "{\"const\":\"" value "\",\"title\":\"" title "\"}"
#define TITLES                                                                 \
	TITLED("value1", "First Option")                                       \
	"," TITLED("value2", "Second Option") "," TITLED("value3",             \
							 "Third Option")
#define OPTIONS "[\"option1\",\"option2\",\"option3\"]"
#define ENUMS                                                                  \
	"\"untitledSingle\":{\"type\":\"string\",\"enum\":" OPTIONS "},"       \
	"\"titledSingle\":{\"type\":\"string\",\"oneOf\":[" TITLES "]},"       \
	"\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\","     \
	"\"opt3\"],\"enumNames\":[\"Option One\",\"Option Two\","              \
	"\"Option Three\"]},"                                                  \
	"\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":"           \
	"\"string\",\"enum\":" OPTIONS "}},"                                   \
	"\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":[" TITLES    \
	"]}}"

static const struct question questions[] = {
	{.name = "test_elicitation",
	 .schema = STRING_ARG("message"),
	 .says = "User response",
	 .steps = {"{\"user\":" FORM(
		 "", "\"username\":{\"type\":\"string\",\"description\":"
		     "\"User's response\"},\"email\":{\"type\":\"string\","
		     "\"description\":\"User's email address\"}",
		 "\"username\",\"email\"") "}"}},
	{.name = "test_elicitation_sep1034_defaults",
	 .says = "Elicitation completed",
	 .steps = {"{\"all\":" FORM("Is this right?", DEFAULTS, "") "}"}},
	{.name = "test_elicitation_sep1330_enums",
	 .says = "Elicitation completed",
	 .steps = {"{\"all\":" FORM("Which ones?", ENUMS, "") "}"}},
	{.name = "test_streaming_elicitation",
	 .says = "User response",
	 .steps = {"{\"user\":" NAME "}"}},
	{.name = "test_sampling",
	 .schema = STRING_ARG("prompt"),
	 .says = "LLM response",
	 .steps = {"{\"llm\":" SAMPLE("", "100") "}"}},
	{.name = "test_missing_capability",
	 .says = "LLM response",
	 .steps = {"{\"llm\":" SAMPLE("Hello", "100") "}"},
	 .needs = ELICIT_SAMPLING},
	{.name = "test_input_required_result_elicitation",
	 .says = "Hello",
	 .steps = {"{\"user_name\":" NAME "}"}},
	{.name = "test_input_required_result_sampling",
	 .says = "LLM response",
	 .steps = {"{\"capital_question\":" SAMPLE(
		 "What is the capital of France?", "100") "}"}},
	{.name = "test_input_required_result_list_roots",
	 .says = "Roots",
	 .steps = {"{\"client_roots\":" ROOTS "}"}},
	{.name = "test_input_required_result_request_state",
	 .says = "state-ok",
	 .steps = {"{\"confirm\":" CONFIRM "}"}},
	{.name = "test_input_required_result_tampered_state",
	 .says = "state-ok",
	 .steps = {"{\"confirm\":" CONFIRM "}"}},
	{.name = "test_input_required_result_multiple_inputs",
	 .says = "All inputs",
	 .steps = {"{\"user_name\":" NAME
		   ",\"greeting\":" SAMPLE("Generate a greeting", "50")
		   ",\"client_roots\":" ROOTS "}"}},
	{.name = "test_input_required_result_multi_round",
	 .says = "Both steps",
	 .steps = {"{\"step1\":" FORM("Step 1: What is your name?",
				      "\"name\":{\"type\":\"string\"}",
				      "\"name\"") "}",
		   "{\"step2\":" FORM("Step 2: What is your favorite color?",
				      "\"color\":{\"type\":\"string\"}",
				      "\"color\"") "}"}},
	{.name = "test_input_required_result_capabilities",
	 .says = "What was declared",
	 .steps = {"{\"form\":" NAME ",\"llm\":" SAMPLE("Hello", "50") "}"}},
};

const struct question *questions_at(size_t i)
{
	return i < ARRAY_COUNT(questions) ? &questions[i] : NULL;
}

const char *questions_name(const struct question *q)
{
	return q->name;
}

const char *questions_schema(const struct question *q)
{
	return q->schema;
}

unsigned questions_needs(const struct question *q)
{
	return q->needs;
}

/* What the words of a question are, where the caller says it. */
static void fill_in(json_t *requests, const json_t *args)
{
	json_t *message = json_object_get(args, "message");
	json_t *prompt = json_object_get(args, "prompt");
	json_t *params = json_object_get(json_object_get(requests, "user"),
					 "params");
	json_t *content;

	if (message && params)
		json_object_set(params, "message", message);
	params = json_object_get(json_object_get(requests, "llm"), "params");
	content = json_object_get(
		json_array_get(json_object_get(params, "messages"), 0),
		"content");
	if (prompt && content)
		json_object_set(content, "text", prompt);
}

static json_t *ask_step(const struct question *q, size_t i,
			const struct tools_call *c)
{
	auto_json json_t *requests =
		json_parse(q->steps[i], strlen(q->steps[i]), NULL);

	fill_in(requests, c->args);
	return c->ask(c->ctx, requests);
}

json_t *questions_call(const struct question *q, const struct tools_call *c)
{
	auto_json json_t *all = json_object();
	autofree char *text = NULL, *said = NULL;

	for (size_t i = 0; i < STEPS_COUNT && q->steps[i]; i++) {
		auto_json json_t *answers = ask_step(q, i, c);

		if (!answers)
			return present_error("the client did not answer");
		json_object_update(all, answers);
	}
	text = json_print(all);
	said = alloc_printf("%s: %s", q->says, text);
	return json_pack("{s:[{s:s, s:s}]}", "content", "type", "text", "text",
			 said);
}

json_t *questions_prompt(const struct library_ask *a, struct jsonrpc_fault *f)
{
	static const char request[] =
		"{\"user_context\":" FORM(
			"What context should the prompt use?",
			"\"context\":{\"type\":\"string\"}",
			"\"context\"") "}";
	auto_json json_t *requests =
		json_parse(request, strlen(request), NULL);
	auto_json json_t *answers = a->elicit(a->ctx, requests);
	autofree char *text = NULL;

	if (!answers) {
		jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
				  "the client did not answer");
		return NULL;
	}
	text = json_print(answers);
	return json_pack("{s:[{s:s, s:{s:s, s:s}}]}", "messages", "role",
			 "user", "content", "type", "text", "text", text);
}
