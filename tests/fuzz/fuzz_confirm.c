/*
 * The first byte picks: an answer as JSON, of which only the spelled out ones
 * are a yes; or an agent's reason in a question, which must stay one quoted
 * line at its end.
 */
#include "base/json.h"
#include "grants/confirm.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void read_answer(const char *text, size_t len)
{
	auto_json json_t *v = json_parse(text, len, NULL);
	auto_json json_t *yes =
		json_pack("{s:{s:s, s:{s:b}}}", "dialog", "action", "accept",
			  "content", "approve", 1);
	const char *line;

	if (!v)
		return;
	if ((confirm_read(CONFIRM_DIALOG, v) == CONFIRM_YES) !=
	    json_equal(v, yes))
		abort();
	if (confirm_read(CONFIRM_TERMINAL, v) != CONFIRM_YES)
		return;
	line = json_string_value(json_object_get(v, "terminal"));
	if (!line || json_object_size(v) != 1 ||
	    strspn(line, "yYeEsS\n") != strlen(line))
		abort();
}

static void ask(const char *text, size_t len)
{
	struct grant g = {.kind = GRANT_ENV, .name = (char[]){"A"}};
	struct grantset set = {&g, 1};
	char *reason = strndup(text, len);
	struct confirm_ask a = {
		.vm = "demo", .grants = &set, .client = "c", .reason = reason};
	auto_json json_t *q = NULL;
	const char *shown;
	const char *start;

	if (!reason)
		abort();
	q = confirm_question(&a);
	shown = json_string_value(json_object_get(q, "terminal"));
	start = shown ? strstr(shown, "Its reason: \"") : NULL;
	if (reason[0] && (!start || strchr(start, '\n')[1] != '\0'))
		abort();
	free(reason);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len == 0)
		return 0;
	if (data[0] & 1)
		ask((const char *)data + 1, len - 1);
	else
		read_answer((const char *)data + 1, len - 1);
	return 0;
}
