#include "grants/grantset.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/limits.h"

#include <string.h>

static int compare(const void *a, const void *b)
{
	autofree char *text_a = grant_print(a);
	autofree char *text_b = grant_print(b);

	return strcmp(text_a, text_b);
}

static int check_slots(const struct grantset *s, struct err *e)
{
	for (size_t i = 0; i < s->count; i++) {
		autofree char *slot = grant_slot(&s->grants[i]);

		for (size_t j = 0; slot && j < i; j++) {
			autofree char *other = grant_slot(&s->grants[j]);

			if (other && strcmp(slot, other) == 0)
				return err_set(e, ERR_INVALID,
					       "%s: two grants would be in "
					       "this place; give one of them "
					       "another (file:PATH=>TARGET)",
					       slot);
		}
	}
	return 0;
}

int grantset_normalize(struct grantset *s, struct err *e)
{
	size_t kept = 0;

	if (s->count > 0)
		qsort(s->grants, s->count, sizeof(*s->grants), compare);
	for (size_t i = 0; i < s->count; i++) {
		if (kept > 0 &&
		    grant_equal(&s->grants[kept - 1], &s->grants[i])) {
			grant_finish(&s->grants[i]);
			continue;
		}
		if (kept != i) {
			s->grants[kept] = s->grants[i];
			s->grants[i] = (struct grant){0};
		}
		kept++;
	}
	s->count = kept;
	return check_slots(s, e);
}

static int parse_all(const json_t *texts, struct grantset *s, struct err *e)
{
	size_t i;
	json_t *v;

	json_array_foreach(texts, i, v)
	{
		if (!json_is_string(v))
			return err_set(e, ERR_INVALID,
				       "grants: must be an array of texts");
		if (grant_parse(json_string_value(v), json_string_length(v),
				&s->grants[s->count], e) < 0)
			return -1;
		s->count++;
	}
	return grantset_normalize(s, e);
}

int grantset_parse(const json_t *texts, struct grantset *ret, struct err *e)
{
	struct grantset s = {0};
	size_t count = json_array_size(texts);

	if (!json_is_array(texts) || count == 0)
		return err_set(e, ERR_INVALID,
			       "grants: must be an array with one text or "
			       "more");
	if (count > LIMIT_GRANTS_ASKED_COUNT)
		return err_set(e, ERR_LIMIT,
			       "grants: at most %d may be asked for at once",
			       LIMIT_GRANTS_ASKED_COUNT);
	s.grants = alloc_array(count, sizeof(*s.grants));
	if (parse_all(texts, &s, e) < 0) {
		grantset_finish(&s);
		return -1;
	}
	*ret = s;
	return 0;
}

json_t *grantset_json(const struct grantset *s)
{
	json_t *texts = json_array();

	for (size_t i = 0; i < s->count; i++) {
		autofree char *text = grant_print(&s->grants[i]);

		json_array_append_new(texts, json_string(text));
	}
	return texts;
}

void grantset_finish(struct grantset *s)
{
	for (size_t i = 0; i < s->count; i++)
		grant_finish(&s->grants[i]);
	free(s->grants);
	*s = (struct grantset){0};
}
