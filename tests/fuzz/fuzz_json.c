/* Any bytes: as JSON, as text that may be no UTF-8, as part of a message. */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void must_come_back(const json_t *v)
{
	struct err e = {0};
	autofree char *text = json_print(v);
	auto_json json_t *back = json_parse(text, strlen(text), &e);

	must(!strchr(text, '\n'));
	must(json_equal(v, back));
}

static void get_all(const json_t *v)
{
	const char *s = "untouched";
	int64_t i = 7;
	bool b = true;

	must(json_get_str(v, "a", &s, NULL) == 0 || strcmp(s, "untouched") == 0);
	must(json_get_int(v, "a", &i, NULL) == 0 || i == 7);
	must(json_opt_bool(v, "a", &b, NULL) == 0 || b);
}

static void check_escape(const char *p, size_t len)
{
	size_t size = 4 * len + 1;
	autofree char *once = alloc_zero(size);
	autofree char *twice = alloc_zero(size);
	char cut[8];
	size_t n = utf8_escape(once, size, p, len);
	uint32_t cp;

	must(utf8_escape(twice, size, once, n) == n);
	must(strcmp(once, twice) == 0);
	for (size_t i = 0; i < n; i += utf8_next(once + i, n - i, &cp))
		must(utf8_next(once + i, n - i, &cp) > 0 && cp >= ' ');
	n = utf8_escape(cut, sizeof(cut), p, len);
	must(n < sizeof(cut) && memcmp(cut, once, n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *text = (const char *)data;
	struct err e = {0};
	auto_json json_t *v = json_parse(text, len, &e);
	auto_json json_t *lossy = json_lossy(text, len);

	if (v) {
		/* -0.0 and the like print as another number that is equal */
		must_come_back(v);
		get_all(v);
	}
	must(lossy != NULL);
	must_come_back(lossy);
	check_escape(text, len);
	return 0;
}
