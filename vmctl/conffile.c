#include "vmctl/conffile.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FILE_CAP ((size_t)64 * 1024)
#define BLANKS " \t\r"

static char *trim(char *s)
{
	size_t len;

	s += strspn(s, BLANKS);
	len = strlen(s);
	while (len > 0 && strchr(BLANKS, s[len - 1]))
		len--;
	s[len] = '\0';
	return s;
}

int conffile_find(char *text, const char *file, const char *key,
		  const char **ret_value, struct err *e)
{
	const char *found = NULL;
	unsigned number = 0;

	for (char *next = text; next;) {
		char *line = strsep(&next, "\n");
		char *value;

		number++;
		line = trim(line);
		if (*line == '\0' || *line == '#')
			continue;
		value = strchr(line, '=');
		if (!value || value == line)
			return err_set(e, ERR_INVALID,
				       "%s, line %u: expected KEY=VALUE", file,
				       number);
		*value++ = '\0';
		if (strcmp(trim(line), key) == 0)
			found = trim(value);
	}
	*ret_value = found;
	return 0;
}

int conffile_get(const char *path, const char *key, char **ret, struct err *e)
{
	autofree char *text = NULL;
	const char *value;
	struct err ignored = {0};
	size_t len;

	if (path_read_file(path, FILE_CAP, &text, &len, &ignored)) {
		if (ignored.code == ERR_NOT_FOUND) {
			*ret = NULL;
			return 0;
		}
		return err_set(e, ignored.code, "%s", err_msg(&ignored));
	}
	if (strlen(text) != len)
		return err_set(e, ERR_INVALID, "%s: not a text file", path);
	if (conffile_find(text, path, key, &value, e))
		return -1;
	*ret = value ? alloc_str(value) : NULL;
	return 0;
}

int conffile_get_int(const char *path, const char *key, int64_t min,
		     int64_t max, int64_t *ret, struct err *e)
{
	autofree char *value = NULL;
	char *end;
	long long n;

	if (conffile_get(path, key, &value, e))
		return -1;
	if (!value)
		return 0;
	errno = 0;
	n = strtoll(value, &end, 10);
	if (errno || end == value || *end || n < min || n > max)
		return err_set(e, ERR_INVALID,
			       "%s: %s must be a number from %lld to %lld",
			       path, key, (long long)min, (long long)max);
	*ret = n;
	return 0;
}
