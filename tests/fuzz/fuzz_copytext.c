/* What a hostile guest's find and stat may print. */
#include "vmctl/copytext.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void parse_find(const char *p, size_t len)
{
	struct copytext_item item;
	struct err e = {0};
	size_t used;

	while (copytext_find(p, len, &item, &used, &e) > 0) {
		if (used == 0 || used > len || item.entry.mode > 0777 ||
		    item.entry.mtime_ns > 999999999)
			abort();
		p += used;
		len -= used;
	}
}

static void parse_stat(const char *p, size_t len)
{
	struct copytext_stat st;
	struct err e = {0};
	size_t used;

	while (len > 0 && copytext_stat(p, len, &st, &used, &e) == 0) {
		if (used == 0 || used > len || strlen(st.path) >= used)
			abort();
		p += used;
		len -= used;
	}
}

static void parse_line(const char *p, size_t len)
{
	char line[96] = "", text[COPYTEXT_TIME_SIZE], again[160];
	uint64_t n, n_again;
	int64_t s, s_again;
	uint32_t ns, ns_again;
	struct err e = {0};

	memcpy(line, p, len < sizeof(line) - 1 ? len : sizeof(line) - 1);
	if (copytext_len_time(line, &n, &s, &ns, &e) != 0)
		return;
	/* what is printed of a time is read as that time */
	copytext_time(s, ns, text);
	memcpy(again, "0 ", 2);
	memcpy(again + 2, text, strlen(text) + 1);
	if (copytext_len_time(again, &n_again, &s_again, &ns_again, &e) != 0)
		return; /* at the very end of the range */
	if (s != s_again || ns != ns_again)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *p = (const char *)data;

	if (len == 0)
		return 0;
	parse_find(p, len);
	parse_stat(p, len);
	parse_line(p, len);
	return 0;
}
