#include "grants/terms.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct unit {
	char letter;
	const char *word;
	int64_t len_s;
} units[] = {
	{'w', "week", 7LL * 24 * 3600},
	{'d', "day", 24LL * 3600},
	{'h', "hour", 3600},
	{'m', "minute", 60},
	{'s', "second", 1},
};

/* The largest unit that counts s without a rest. */
static const struct unit *unit_of(int64_t s)
{
	size_t i = 0;

	while (s % units[i].len_s != 0)
		i++;
	return &units[i];
}

int terms_parse_duration(const char *text, int64_t *ret_s, struct err *e)
{
	const char *p = text;
	int64_t n = 0;

	for (; *p >= '0' && *p <= '9' && n <= LIMIT_GRANT_S; p++)
		n = n * 10 + (*p - '0');
	for (size_t i = 0; n > 0 && i < ARRAY_COUNT(units); i++) {
		if (p[0] != units[i].letter || p[1] != '\0')
			continue;
		if (n > LIMIT_GRANT_S / units[i].len_s)
			return err_set(e, ERR_INVALID,
				       "for %.20s: longer than 366 days", text);
		*ret_s = n * units[i].len_s;
		return 0;
	}
	return err_set(e, ERR_INVALID,
		       "for \"%.20s\": must be a number with a unit: 90s, 30m, "
		       "2h, 7d or 4w",
		       text);
}

/* Exactly `count` digits, then the character `then` (none for 0). */
static bool take_number(const char **at, int count, char then, int *ret)
{
	const char *p = *at;
	int n = 0;

	for (int i = 0; i < count; i++, p++) {
		if (*p < '0' || *p > '9')
			return false;
		n = n * 10 + (*p - '0');
	}
	if (then && *p++ != then)
		return false;
	*ret = n;
	*at = p;
	return true;
}

/* Z or +hh:mm, at the end; seconds east. */
static bool take_zone(const char *p, int *ret_s)
{
	int sign = *p == '-' ? -1 : 1;
	int hours = 0;
	int minutes = 0;

	if (strcmp(p, "Z") == 0) {
		*ret_s = 0;
		return true;
	}
	if (*p != '+' && *p != '-')
		return false;
	p++;
	if (!take_number(&p, 2, ':', &hours) ||
	    !take_number(&p, 2, 0, &minutes) || *p || hours > 23 ||
	    minutes > 59)
		return false;
	*ret_s = sign * (hours * 3600 + minutes * 60);
	return true;
}

static bool take_time(const char *p, int64_t *ret_s)
{
	struct tm tm = {0};
	struct tm want;
	int zone_s = 0;
	time_t s;

	if (!take_number(&p, 4, '-', &tm.tm_year) ||
	    !take_number(&p, 2, '-', &tm.tm_mon) ||
	    !take_number(&p, 2, 'T', &tm.tm_mday) ||
	    !take_number(&p, 2, ':', &tm.tm_hour) ||
	    !take_number(&p, 2, 0, &tm.tm_min))
		return false;
	if (*p == ':') {
		p++;
		if (!take_number(&p, 2, 0, &tm.tm_sec))
			return false;
	}
	if (!take_zone(p, &zone_s))
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	want = tm;
	s = timegm(&tm);
	/* February 30 would become March */
	if (tm.tm_year != want.tm_year || tm.tm_mon != want.tm_mon ||
	    tm.tm_mday != want.tm_mday || tm.tm_hour != want.tm_hour ||
	    tm.tm_min != want.tm_min || tm.tm_sec != want.tm_sec)
		return false;
	*ret_s = s - zone_s;
	return true;
}

int terms_parse_time(const char *text, int64_t *ret_s, struct err *e)
{
	if (!take_time(text, ret_s))
		return err_set(e, ERR_INVALID,
			       "until \"%.40s\": must be a time with its zone, "
			       "such as 2026-12-24T18:00:00Z or "
			       "2026-12-24T18:00+01:00",
			       text);
	return 0;
}

const char *terms_print_time(int64_t s, char ret[TERMS_TIME_SIZE])
{
	time_t t = (time_t)s;
	struct tm tm;

	if (!gmtime_r(&t, &tm) ||
	    strftime(ret, TERMS_TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(ret, TERMS_TIME_SIZE, "%" PRId64, s);
	return ret;
}

int terms_parse(const char *for_text, const char *until_text, int64_t uses,
		int64_t now_s, struct terms *ret, struct err *e)
{
	struct terms t = {.uses = uses};

	if (for_text && until_text)
		return err_set(e, ERR_INVALID,
			       "give either for or until, not both");
	if (for_text && terms_parse_duration(for_text, &t.for_s, e) < 0)
		return -1;
	if (until_text) {
		if (terms_parse_time(until_text, &t.until_s, e) < 0)
			return -1;
		if (t.until_s <= now_s)
			return err_set(e, ERR_INVALID, "until %s: has passed",
				       until_text);
		if (t.until_s - now_s > LIMIT_GRANT_S)
			return err_set(e, ERR_INVALID,
				       "until %s: is more than 366 days away",
				       until_text);
	}
	if (uses < 0 || uses > LIMIT_GRANT_USES_COUNT)
		return err_set(e, ERR_INVALID, "uses: must be 1 to %d",
			       LIMIT_GRANT_USES_COUNT);
	*ret = t;
	return 0;
}

int terms_check(const struct terms *t, const struct grant *g, struct err *e)
{
	if (t->uses > 0 && (g->kind == GRANT_ENV || g->kind == GRANT_FILE))
		return err_set(e, ERR_INVALID,
			       "uses: a value that lies in the VM can be read "
			       "any number of times, so uses of %s: cannot be "
			       "counted; limit its time (for) instead",
			       grant_kind_name(g->kind));
	return 0;
}

int64_t terms_end(const struct terms *t, int64_t now_s)
{
	return t->for_s ? now_s + t->for_s : t->until_s;
}

bool terms_within(const struct terms *t, int64_t end_s, int64_t uses_left,
		  int64_t now_s)
{
	int64_t asked_s = terms_end(t, now_s);

	if ((end_s != 0 && end_s <= now_s) || uses_left == 0)
		return false; /* nothing is held any more */
	if (end_s != 0 && (asked_s == 0 || asked_s > end_s))
		return false;
	return uses_left == TERMS_USES_ANY ||
	       (t->uses > 0 && t->uses <= uses_left);
}

char *terms_print(const struct terms *t)
{
	char when[64] = "";
	char times[64] = "";

	if (t->for_s) {
		const struct unit *u = unit_of(t->for_s);

		snprintf(when, sizeof(when), "--for %" PRId64 "%c",
			 t->for_s / u->len_s, u->letter);
	} else if (t->until_s) {
		char text[TERMS_TIME_SIZE];

		snprintf(when, sizeof(when), "--until %s",
			 terms_print_time(t->until_s, text));
	}
	if (t->uses)
		snprintf(times, sizeof(times), "%s--uses %" PRId64,
			 when[0] ? " " : "", t->uses);
	return alloc_printf("%s%s", when, times);
}

char *terms_words(const struct terms *t)
{
	char when[80];
	char times[80] = "";

	if (t->for_s) {
		const struct unit *u = unit_of(t->for_s);
		int64_t n = t->for_s / u->len_s;

		snprintf(when, sizeof(when),
			 "For %" PRId64 " %s%s from your yes", n, u->word,
			 n == 1 ? "" : "s");
	} else if (t->until_s) {
		char text[TERMS_TIME_SIZE];

		snprintf(when, sizeof(when), "Until %s",
			 terms_print_time(t->until_s, text));
	} else {
		snprintf(when, sizeof(when),
			 "Without end, until you revoke it");
	}
	if (t->uses)
		snprintf(times, sizeof(times), ", at most %" PRId64 " time%s",
			 t->uses, t->uses == 1 ? "" : "s");
	return alloc_printf("%s%s.", when, times);
}
