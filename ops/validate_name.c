/* Names, endpoints and sizes: what has a form of its own, whatever operation
 * it is an argument of. */
#include "ops/validate.h"

#include "base/limits.h"

#include <string.h>

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

int validate_vm_name(const char *name, struct err *e)
{
	size_t len = strlen(name);
	bool ok = len > 0 && len <= LIMIT_NAME_LEN && name[0] != '-' &&
		  name[len - 1] != '-';

	for (size_t i = 0; ok && i < len; i++)
		ok = is_name_char(name[i]);
	if (!ok)
		return err_set(e, ERR_INVALID,
			       "\"%.80s\" is no VM name: letters a-z, digits "
			       "and hyphens, at most %d, no hyphen at either "
			       "end",
			       name, LIMIT_NAME_LEN);
	/* endpoints would be ambiguous */
	if (strcmp(name, "local") == 0)
		return err_set(e, ERR_INVALID,
			       "\"local\" is no VM name: it means this "
			       "computer in copies");
	return 0;
}

/* It becomes part of logs, the audit and comparisons. */
int validate_client_name(const char *name, struct err *e)
{
	static const char chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz"
				    "0123456789._-";
	size_t len = strlen(name);

	if (len == 0 || len > LIMIT_NAME_LEN || strspn(name, chars) != len)
		return err_set(e, ERR_INVALID,
			       "\"%.64s\" is no client name: letters, digits, "
			       "dot, hyphen and underscore, at most %d",
			       name, LIMIT_NAME_LEN);
	return 0;
}

int validate_endpoint(const char *text, struct validate_endpoint *ret,
		      struct err *e)
{
	struct validate_endpoint found = {.vm = ""};
	const char *colon = strchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;

	if (!colon || len == 0)
		return err_set(e, ERR_INVALID,
			       "must be local:PATH or VM:PATH, not \"%.80s\"",
			       text);
	found.path = colon + 1;
	if (strlen(found.path) > LIMIT_PATH_LEN)
		return err_set(e, ERR_INVALID, "path is longer than %d bytes",
			       LIMIT_PATH_LEN);
	if (len == strlen("local") && strncmp(text, "local", len) == 0) {
		if (!*found.path)
			return err_set(e, ERR_INVALID,
				       "local: must be followed by a path");
		*ret = found;
		return 0;
	}
	if (len > LIMIT_NAME_LEN)
		return err_set(e, ERR_INVALID,
			       "\"%.80s\" does not start with a VM's name",
			       text);
	memcpy(found.vm, text, len);
	found.vm[len] = '\0';
	if (validate_vm_name(found.vm, e) != 0)
		return -1;
	*ret = found;
	return 0;
}

int validate_size(const char *text, int64_t *ret, struct err *e)
{
	static const char units[] = "KMGTP";
	const char *p = text;
	const char *unit;
	int64_t n = 0;
	int shift = 0;

	if (*p < '0' || *p > '9')
		goto bad;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, *p - '0', &n))
			goto bad;
	}
	unit = *p ? strchr(units, *p & ~0x20) : NULL;
	if (unit) {
		shift = 10 * (int)(unit - units + 1);
		p++;
		if (*p == 'i')
			p++;
	}
	if (*p == 'B' || *p == 'b')
		p++;
	if (*p || n > INT64_MAX >> shift)
		goto bad;
	*ret = n << shift;
	return 0;
bad:
	return err_set(e, ERR_INVALID,
		       "must be a size such as 512M or 4G, not \"%.40s\"",
		       text);
}

bool validate_is_local(const struct op *op, const json_t *args)
{
	for (const struct op_param *p = op->params; p->name; p++) {
		const char *text =
			json_string_value(json_object_get(args, p->name));
		struct validate_endpoint end;

		if (p->type == OP_ENDPOINT && text &&
		    validate_endpoint(text, &end, NULL) == 0 && !end.vm[0])
			return true;
	}
	return false;
}
