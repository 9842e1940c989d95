#include "mcp/resourceuri.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "ops/validate.h"

#include <stdio.h>
#include <string.h>

static const char vm_begin[] = "boxery://vm/";
static const char copied_begin[] = "boxery://copied/";
static const char screenshot_end[] = "/screenshot", console_end[] = "/console";

/* What need not be written as %XX, and so must not be. */
static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c != '\0' && strchr("-._~/", c));
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* free(); NULL for another spelling than ours. */
static char *decode(const char *text)
{
	autofree char *out = alloc_array(strlen(text) + 1, 1);
	size_t n = 0;

	for (; *text; text++) {
		int high, low;

		if (*text != '%') {
			if (!is_plain(*text))
				return NULL;
			out[n++] = *text;
			continue;
		}
		high = hex_value(text[1]);
		low = high < 0 ? -1 : hex_value(text[2]);
		if (low < 0 || high + low == 0 ||
		    is_plain((char)(high * 16 + low)))
			return NULL;
		out[n++] = (char)(high * 16 + low);
		text += 2;
	}
	out[n] = '\0';
	return n > 0 && n <= LIMIT_PATH_LEN ? TAKE_PTR(out) : NULL;
}

static bool parse_vm(const char *rest, struct resourceuri *ret)
{
	size_t len = strcspn(rest, "/");
	autofree char *name = alloc_strn(rest, len);
	struct err e = {0};

	if (validate_vm_name(name, &e) != 0)
		return false;
	if (strcmp(rest + len, screenshot_end) == 0)
		ret->kind = RESOURCEURI_SCREENSHOT;
	else if (strcmp(rest + len, console_end) == 0)
		ret->kind = RESOURCEURI_CONSOLE;
	else
		return false;
	ret->name = TAKE_PTR(name);
	return true;
}

bool resourceuri_parse(const char *uri, struct resourceuri *ret)
{
	struct resourceuri u = {0};

	if (strcmp(uri, RESOURCEURI_VIEW) == 0) {
		u.kind = RESOURCEURI_PAGE;
		u.name = alloc_str("view");
	} else if (strncmp(uri, vm_begin, strlen(vm_begin)) == 0) {
		if (!parse_vm(uri + strlen(vm_begin), &u))
			return false;
	} else if (strncmp(uri, copied_begin, strlen(copied_begin)) == 0) {
		u.kind = RESOURCEURI_COPIED;
		u.name = decode(uri + strlen(copied_begin));
		if (!u.name)
			return false;
	} else {
		return false;
	}
	*ret = u;
	return true;
}

void resourceuri_finish(struct resourceuri *u)
{
	free(u->name);
	u->name = NULL;
}

static char *print_path(const char *path)
{
	char *out = alloc_array(3 * strlen(path) + 1, 1);
	char *at = out;

	for (; *path; path++) {
		if (is_plain(*path))
			*at++ = *path;
		else
			at += snprintf(at, 4, "%%%02X", (unsigned char)*path);
	}
	*at = '\0';
	return out;
}

char *resourceuri_print(enum resourceuri_kind kind, const char *name)
{
	autofree char *path = NULL;

	switch (kind) {
	case RESOURCEURI_SCREENSHOT:
		return alloc_printf("%s%s%s", vm_begin, name, screenshot_end);
	case RESOURCEURI_CONSOLE:
		return alloc_printf("%s%s%s", vm_begin, name, console_end);
	case RESOURCEURI_COPIED:
		path = print_path(name);
		return alloc_printf("%s%s", copied_begin, path);
	case RESOURCEURI_PAGE:
		break;
	}
	return alloc_str(RESOURCEURI_VIEW);
}
