#include "cli/render.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#define COLUMNS_MAX 16
#define CELL_SIZE 1024
#define DEPTH_MAX 8

/* Columns that text takes on a terminal. */
static size_t width_of(const char *text)
{
	size_t len = strlen(text);
	size_t width = 0;
	uint32_t cp;

	for (size_t at = 0; at < len;) {
		size_t n = utf8_next(text + at, len - at, &cp);
		int w = n > 0 ? wcwidth((wchar_t)cp) : 1;

		/* the C locale knows nothing beyond ASCII */
		width += w >= 0 ? (size_t)w : 1;
		at += n > 0 ? n : 1;
	}
	return width;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text);
	size_t end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static void put_bytes(char *cell, int64_t n)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	double v = (double)n;
	int unit = -1;

	while (v >= 1024 && unit + 1 < (int)ARRAY_COUNT(units)) {
		v /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(cell, CELL_SIZE, "%" PRId64 " bytes", n);
	else if (v == (double)(int64_t)v)
		snprintf(cell, CELL_SIZE, "%.0f %s", v, units[unit]);
	else
		snprintf(cell, CELL_SIZE, "%.1f %s", v, units[unit]);
}

/* Words as a person lists them: a, b. */
static bool put_words(char *cell, const json_t *list)
{
	struct buf line;
	bool words = json_is_array(list);

	for (size_t i = 0; i < json_array_size(list); i++)
		words = words && json_is_string(json_array_get(list, i));
	if (!words)
		return false;
	buf_init(&line, CELL_SIZE);
	/* what is longer than a cell is cut there in any case */
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *word = json_string_value(json_array_get(list, i));

		if (buf_printf(&line, NULL, "%s%s", i ? ", " : "", word))
			break;
	}
	utf8_escape(cell, CELL_SIZE, line.len ? line.data : "", line.len);
	buf_finish(&line);
	return true;
}

/* One value on one line. */
static void put_cell(char *cell, const char *key, const json_t *v)
{
	autofree char *text = NULL;

	if (!v || json_is_null(v)) {
		snprintf(cell, CELL_SIZE, "-");
	} else if (json_is_string(v)) {
		utf8_escape(cell, CELL_SIZE, json_string_value(v),
			    json_string_length(v));
	} else if (json_is_boolean(v)) {
		snprintf(cell, CELL_SIZE, "%s", json_is_true(v) ? "yes" : "no");
	} else if (json_is_integer(v)) {
		if (ends_with(key, "_bytes") || ends_with(key, "_len"))
			put_bytes(cell, json_integer_value(v));
		else
			snprintf(cell, CELL_SIZE, "%" JSON_INTEGER_FORMAT,
				 json_integer_value(v));
	} else if (json_is_real(v)) {
		snprintf(cell, CELL_SIZE, "%g", json_real_value(v));
	} else if (!put_words(cell, v)) {
		text = json_dumps(v, JSON_COMPACT);
		utf8_escape(cell, CELL_SIZE, text ? text : "",
			    text ? strlen(text) : 0);
	}
	if (!*cell)
		snprintf(cell, CELL_SIZE, "-");
}

/* ---- tables
 * ------------------------------------------------------------------- */

struct column {
	char key[64];
	size_t width;
	bool optional; /* left out when no row has it */
};

static size_t split_columns(const char *keys, struct column *cols)
{
	size_t count = 0;

	while (*keys && count < COLUMNS_MAX) {
		size_t len = strcspn(keys, ",");

		cols[count].optional = len > 0 && keys[len - 1] == '?';
		snprintf(cols[count].key, sizeof(cols[count].key), "%.*s",
			 (int)len - cols[count].optional, keys);
		cols[count].width = strlen(cols[count].key);
		count++;
		keys += len;
		keys += *keys == ',';
	}
	return count;
}

static int add_padded(struct buf *out, const char *text, size_t width,
		      struct err *e)
{
	size_t have = width_of(text);
	int pad = have < width ? (int)(width - have) : 0;

	return buf_printf(out, e, "%s%*s", text, pad, "");
}

static int add_heading(struct buf *out, const struct column *cols, size_t count,
		       struct err *e)
{
	for (size_t i = 0; i < count; i++) {
		char name[sizeof(cols[i].key)];

		memcpy(name, cols[i].key, sizeof(name));
		for (char *c = name; *c; c++) {
			if (*c >= 'a' && *c <= 'z')
				*c = (char)(*c - 'a' + 'A');
			else if (*c == '_')
				*c = ' ';
		}
		if (i + 1 == count)
			return buf_printf(out, e, "%s\n", name);
		if (add_padded(out, name, cols[i].width + 2, e) != 0)
			return -1;
	}
	return 0;
}

static bool is_anywhere(const json_t *rows, const char *key)
{
	for (size_t r = 0; r < json_array_size(rows); r++) {
		if (json_object_get(json_array_get(rows, r), key))
			return true;
	}
	return false;
}

static size_t drop_absent(struct column *cols, size_t count, const json_t *rows)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (!cols[i].optional || is_anywhere(rows, cols[i].key))
			cols[kept++] = cols[i];
	}
	return kept;
}

static int render_table(struct buf *out, const char *keys, const json_t *rows,
			struct err *e)
{
	struct column cols[COLUMNS_MAX];
	size_t count = split_columns(keys, cols);
	char cell[CELL_SIZE];

	count = drop_absent(cols, count, rows);
	for (size_t r = 0; r < json_array_size(rows); r++) {
		const json_t *row = json_array_get(rows, r);

		for (size_t i = 0; i < count; i++) {
			size_t width;

			put_cell(cell, cols[i].key,
				 json_object_get(row, cols[i].key));
			width = width_of(cell);
			if (width > cols[i].width)
				cols[i].width = width;
		}
	}
	if (add_heading(out, cols, count, e) != 0)
		return -1;
	for (size_t r = 0; r < json_array_size(rows); r++) {
		const json_t *row = json_array_get(rows, r);

		for (size_t i = 0; i < count; i++) {
			bool last = i + 1 == count;

			put_cell(cell, cols[i].key,
				 json_object_get(row, cols[i].key));
			if (add_padded(out, cell, last ? 0 : cols[i].width + 2,
				       e) != 0 ||
			    (last && buf_add_str(out, "\n", e) != 0))
				return -1;
		}
	}
	return 0;
}

/* ---- records
 * ------------------------------------------------------------------- */

static bool is_nested(const json_t *v)
{
	return json_is_object(v) ||
	       (json_is_array(v) && json_is_object(json_array_get(v, 0)));
}

/* Records in records: to DEPTH_MAX, deeper ones are shown as JSON.
 * NOLINTBEGIN(misc-no-recursion) */
static int render_record(struct buf *out, const json_t *record, int depth,
			 struct err *e);

static int render_nested(struct buf *out, const char *key, const json_t *v,
			 int depth, struct err *e)
{
	if (buf_printf(out, e, "%*s%s\n", depth * 2, "", key) != 0)
		return -1;
	if (json_is_object(v))
		return render_record(out, v, depth + 1, e);
	for (size_t i = 0; i < json_array_size(v); i++) {
		if (render_record(out, json_array_get(v, i), depth + 1, e) != 0)
			return -1;
	}
	return 0;
}

static int render_record(struct buf *out, const json_t *record, int depth,
			 struct err *e)
{
	json_t *walk = (json_t *)(uintptr_t)record; /* iterators want it so */
	char name[128], cell[CELL_SIZE];
	size_t width = 0;
	const char *key;
	json_t *v;

	json_object_foreach(walk, key, v)
	{
		utf8_escape(name, sizeof(name), key, strlen(key));
		if (!is_nested(v) && width_of(name) > width)
			width = width_of(name);
	}
	json_object_foreach(walk, key, v)
	{
		utf8_escape(name, sizeof(name), key, strlen(key));
		if (is_nested(v) && depth < DEPTH_MAX) {
			if (render_nested(out, name, v, depth, e) != 0)
				return -1;
			continue;
		}
		put_cell(cell, key, v);
		if (buf_printf(out, e, "%*s", depth * 2, "") != 0 ||
		    add_padded(out, name, width + 2, e) != 0 ||
		    buf_printf(out, e, "%s\n", cell) != 0)
			return -1;
	}
	return 0;
}

/* NOLINTEND(misc-no-recursion) */

/* ---- one line
 * ------------------------------------------------------------------- */

/* The brief with its keys' values. *ret_told: false when one has no value, as
 * where the answer is another than usual. */
static int render_brief(struct buf *out, const char *brief,
			const json_t *result, bool *ret_told, struct err *e)
{
	char cell[CELL_SIZE], key[64];
	struct buf line;
	int rc = 0;

	*ret_told = false;
	buf_init(&line, 16 * (size_t)CELL_SIZE);
	while (*brief && rc == 0) {
		size_t len = strcspn(brief, "{");

		rc = buf_add(&line, brief, len, e);
		brief += len;
		if (!*brief || rc != 0)
			break;
		len = strcspn(brief, "}");
		snprintf(key, sizeof(key), "%.*s", (int)len - 1, brief + 1);
		brief += len + 1;
		if (!json_object_get(result, key))
			goto out;
		put_cell(cell, key, json_object_get(result, key));
		rc = buf_add_str(&line, cell, e);
	}
	if (rc == 0)
		rc = buf_printf(out, e, "%.*s\n", (int)line.len, line.data);
	*ret_told = rc == 0;
out:
	buf_finish(&line);
	return rc;
}

static int render_warnings(struct buf *out, const json_t *result, struct err *e)
{
	const json_t *list = json_object_get(result, "warnings");
	char cell[CELL_SIZE];

	for (size_t i = 0; i < json_array_size(list); i++) {
		put_cell(cell, "warnings", json_array_get(list, i));
		if (buf_printf(out, e, "warning: %s\n", cell) != 0)
			return -1;
	}
	return 0;
}

int render_result(struct buf *out, const struct op *op, const json_t *result,
		  struct err *e)
{
	const char *text = json_string_value(json_object_get(result, "text"));
	bool told = false;

	/* a click that was done needs no words */
	if (json_object_size(result) == 1 &&
	    json_is_true(json_object_get(result, "done")))
		return 0;
	if (op->brief && render_brief(out, op->brief, result, &told, e) != 0)
		return -1;
	if (told)
		return render_warnings(out, result, e);
	if (op->result == OP_RESULT_TABLE && op->columns)
		return render_table(out, op->columns,
				    json_object_get(result, "rows"), e);
	/* only a text to say: say it without its key */
	if (text && json_object_size(result) == 1) {
		char line[CELL_SIZE];

		utf8_escape(line, sizeof(line), text, strlen(text));
		return buf_printf(out, e, "%s\n", line);
	}
	return render_record(out, result, 0, e);
}

int render_json(struct buf *out, const json_t *result, bool tty, struct err *e)
{
	/* on a terminal, ASCII: no byte of a guest's is acted upon */
	autofree char *text =
		json_dumps(result, tty ? JSON_INDENT(2) | JSON_ENSURE_ASCII
				       : JSON_COMPACT);

	if (!text)
		return err_set(e, ERR_INTERNAL, "the result is no JSON");
	return buf_printf(out, e, "%s\n", text);
}
