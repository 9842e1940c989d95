/*
 * json.h - strict getters over jansson
 *
 * Shapes:  text is parsed with duplicate keys, trailing bytes, NULs and
 *          nesting over LIMIT_JSON_DEPTH refused. Getters borrow from the
 *          object and leave ret_* untouched on failure; the opt_ forms
 *          succeed with ret_* untouched when the key is absent or null.
 * Errors:  ERR_INVALID naming the key ("x: expected an integer").
 * Threads: as jansson: one owner of a value at a time; references counted
 *          atomically are not assumed.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

json_t *json_parse(const char *text, size_t len, struct err *e)
	__attribute__((warn_unused_result));
/* Compact, one line, valid UTF-8; free(). NULL, which is what json_pack() gives
 * for text that is no UTF-8, prints as null. */
char *json_print(const json_t *v);
int json_get_str(const json_t *obj, const char *key, const char **ret,
		 struct err *e) __attribute__((warn_unused_result));
int json_opt_str(const json_t *obj, const char *key, const char **ret,
		 struct err *e) __attribute__((warn_unused_result));
int json_get_int(const json_t *obj, const char *key, int64_t *ret,
		 struct err *e) __attribute__((warn_unused_result));
int json_opt_int(const json_t *obj, const char *key, int64_t *ret,
		 struct err *e) __attribute__((warn_unused_result));
int json_opt_bool(const json_t *obj, const char *key, bool *ret,
		  struct err *e) __attribute__((warn_unused_result));
/* A JSON string from bytes that may not be UTF-8: bad ones become U+FFFD. */
json_t *json_lossy(const char *p, size_t len);

static inline void cleanup_json_(json_t **v)
{
	json_decref(*v);
}
#define auto_json __attribute__((cleanup(cleanup_json_)))

#endif
