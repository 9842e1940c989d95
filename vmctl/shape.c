#include "vmctl/shape.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "ops/validate.h"

#include <string.h>

#define FILE_CAP ((size_t)64 * 1024)
#define MIB (1ULL << 20)
#define GIB (1ULL << 30)

static const struct {
	const char *name;
	struct shape shape;
} shapes[] = {
	{"small", {1, 1 * GIB, 8 * GIB}},
	{"standard", {2, 2 * GIB, 16 * GIB}},
	{"large", {4, 8 * GIB, 64 * GIB}},
};

static int find_default(const char *name, struct shape *ret, struct err *e)
{
	for (size_t i = 0; i < ARRAY_COUNT(shapes); i++) {
		if (strcmp(shapes[i].name, name) == 0) {
			*ret = shapes[i].shape;
			return 0;
		}
	}
	return err_set(e, ERR_INVALID,
		       "no shape '%s': small, standard or large", name);
}

/* A number of bytes, or text such as "4G". */
static int get_size(const json_t *v, uint64_t min, uint64_t max,
		    uint64_t *ret, struct err *e)
{
	int64_t n = -1;

	if (json_is_integer(v))
		n = json_integer_value(v);
	else if (!json_is_string(v))
		return err_set(e, ERR_INVALID, "expected a size such as \"4G\"");
	else if (validate_size(json_string_value(v), &n, e))
		return -1;
	if (n < 0 || (uint64_t)n < min || (uint64_t)n > max)
		return err_set(e, ERR_INVALID,
			       "must be from %llu to %llu MiB",
			       (unsigned long long)(min / MIB),
			       (unsigned long long)(max / MIB));
	*ret = (uint64_t)n;
	return 0;
}

static int apply_key(const char *key, const json_t *v, struct shape *s,
		     struct err *e)
{
	if (strcmp(key, "memory") == 0)
		return get_size(v, 256 * MIB, 1024 * GIB, &s->memory_len, e);
	if (strcmp(key, "disk") == 0)
		return get_size(v, GIB, 16384 * GIB, &s->disk_len, e);
	if (strcmp(key, "cpus") != 0)
		return err_set(e, ERR_INVALID,
			       "not known here (cpus, memory, disk are)");
	if (!json_is_integer(v) || json_integer_value(v) < 1 ||
	    json_integer_value(v) > 64)
		return err_set(e, ERR_INVALID, "must be a number from 1 to 64");
	s->cpus = (unsigned)json_integer_value(v);
	return 0;
}

/* Every entry is checked, but only that of `name` is kept. */
static int apply_entry(const char *shape, json_t *entry,
		       const char *name, struct shape *ret, struct err *e)
{
	struct shape s;
	const char *key;
	json_t *v;

	if (find_default(shape, &s, e))
		return -1;
	if (!json_is_object(entry))
		return err_set(e, ERR_INVALID, "%s: expected an object", shape);
	json_object_foreach(entry, key, v) {
		if (apply_key(key, v, &s, e))
			return err_wrap(e, "%s.%s", shape, key);
	}
	if (strcmp(shape, name) == 0)
		*ret = s;
	return 0;
}

int shape_parse(const char *text, size_t len, const char *name,
		struct shape *ret, struct err *e)
{
	auto_json json_t *root = NULL;
	struct shape s;
	const char *key;
	json_t *entry;

	if (find_default(name, &s, e))
		return -1;
	root = json_parse(text, len, e);
	if (!root)
		return -1;
	if (!json_is_object(root))
		return err_set(e, ERR_INVALID, "expected an object of shapes");
	json_object_foreach(root, key, entry) {
		if (apply_entry(key, entry, name, &s, e))
			return -1;
	}
	*ret = s;
	return 0;
}

int shape_load(const char *path, const char *name, struct shape *ret,
	       struct err *e)
{
	autofree char *text = NULL;
	struct err why = {0};
	size_t len;

	if (path_read_file(path, FILE_CAP, &text, &len, &why)) {
		if (why.code == ERR_NOT_FOUND)
			return find_default(name, ret, e);
		return err_set(e, why.code, "%s", err_msg(&why));
	}
	if (shape_parse(text, len, name, ret, e))
		return err_wrap(e, "%s", path);
	return 0;
}
