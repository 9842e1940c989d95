#include "desktop/keysym.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <xkbcommon/xkbcommon-keysyms.h>
#include <xkbcommon/xkbcommon.h>

enum {
	UNICODE_KEYSYM = 0x01000000,
	NAME_LEN = 64, /* longer than any key's name */
	NEAR = 2,      /* edits between a name and one we suggest */
};

/* Names that are no keysym names, or not the ones people mean. */
static const struct alias {
	const char *name;
	uint32_t keysym;
} aliases[] = {
	{"ctrl", XKB_KEY_Control_L},
	{"control", XKB_KEY_Control_L},
	{"shift", XKB_KEY_Shift_L},
	{"alt", XKB_KEY_Alt_L},
	{"option", XKB_KEY_Alt_L},
	{"super", XKB_KEY_Super_L},
	{"meta", XKB_KEY_Super_L},
	{"win", XKB_KEY_Super_L},
	{"windows", XKB_KEY_Super_L},
	{"cmd", XKB_KEY_Super_L},
	{"command", XKB_KEY_Super_L},
	{"altgr", XKB_KEY_ISO_Level3_Shift},
	{"enter", XKB_KEY_Return},
	{"ret", XKB_KEY_Return},
	{"esc", XKB_KEY_Escape},
	{"del", XKB_KEY_Delete},
	{"ins", XKB_KEY_Insert},
	/* libxkbcommon calls it Prior, and the other Next */
	{"Page_Up", XKB_KEY_Page_Up},
	{"Page_Down", XKB_KEY_Page_Down},
	{"pgup", XKB_KEY_Page_Up},
	{"pageup", XKB_KEY_Page_Up},
	{"page-up", XKB_KEY_Page_Up},
	{"pgdn", XKB_KEY_Page_Down},
	{"pgdown", XKB_KEY_Page_Down},
	{"pagedown", XKB_KEY_Page_Down},
	{"page-down", XKB_KEY_Page_Down},
	{"back", XKB_KEY_BackSpace},
	{"bksp", XKB_KEY_BackSpace},
	{"spacebar", XKB_KEY_space},
	{"arrowleft", XKB_KEY_Left},
	{"arrowright", XKB_KEY_Right},
	{"arrowup", XKB_KEY_Up},
	{"arrowdown", XKB_KEY_Down},
	{"capslock", XKB_KEY_Caps_Lock},
	{"numlock", XKB_KEY_Num_Lock},
	{"printscreen", XKB_KEY_Print},
	{"prtsc", XKB_KEY_Print},
	{"hyphen", XKB_KEY_minus},
	{"dash", XKB_KEY_minus},
	{"dot", XKB_KEY_period},
	{"backtick", XKB_KEY_grave},
	{"tilde", XKB_KEY_asciitilde},
	{"equals", XKB_KEY_equal},
};

/* What a near name is looked for among, besides the aliases. */
static const struct {
	uint32_t first, last;
} common[] = {{0x20, 0x7e}, {0xfe20, 0xfe20}, {0xff08, 0xffff}};

uint32_t keysym_normal(uint32_t keysym)
{
	uint32_t cp;

	/* function, keypad, dead and ISO keys; latin 1 */
	if (keysym < 0x100 || (keysym >= 0xfe00 && keysym <= 0xffff))
		return keysym;
	cp = xkb_keysym_to_utf32(keysym);
	if (cp == 0)
		return keysym;
	return cp < 0x100 ? cp : UNICODE_KEYSYM + cp;
}

static uint32_t from_cp(uint32_t cp)
{
	return cp < 0x100 ? cp : UNICODE_KEYSYM + cp;
}

static bool is_control(uint32_t cp)
{
	return cp < 0x20 || (cp >= 0x7f && cp < 0xa0);
}

uint32_t keysym_twin(uint32_t keysym)
{
	static const uint32_t pairs[][2] = {
		{XKB_KEY_Control_L, XKB_KEY_Control_R},
		{XKB_KEY_Shift_L, XKB_KEY_Shift_R},
		{XKB_KEY_Alt_L, XKB_KEY_Alt_R},
		{XKB_KEY_Super_L, XKB_KEY_Super_R},
		{XKB_KEY_Meta_L, XKB_KEY_Meta_R},
		{XKB_KEY_Hyper_L, XKB_KEY_Hyper_R},
		{XKB_KEY_ISO_Level3_Shift, XKB_KEY_Mode_switch},
	};

	for (size_t i = 0; i < ARRAY_COUNT(pairs); i++) {
		if (pairs[i][0] == keysym)
			return pairs[i][1];
		if (pairs[i][1] == keysym)
			return pairs[i][0];
	}
	return 0;
}

static bool is_modifier(uint32_t keysym)
{
	return keysym_twin(keysym) != 0;
}

int keysym_from_text(const char *text, size_t len, uint32_t *ret,
		     size_t *ret_count, struct err *e)
{
	size_t count = 0, at = 0;

	while (at < len) {
		uint32_t cp;
		size_t n = utf8_next(text + at, len - at, &cp);

		if (n == 0)
			return err_set(e, ERR_INVALID,
				       "text: byte %zu is not valid UTF-8", at);
		at += n;
		if (cp == '\r' && at < len && text[at] == '\n')
			continue;
		if (cp == '\n' || cp == '\r')
			ret[count++] = KEYSYM_RETURN;
		else if (cp == '\t')
			ret[count++] = KEYSYM_TAB;
		else if (is_control(cp))
			return err_set(e, ERR_INVALID,
				       "text: character %zu is control "
				       "character U+%04X, which cannot be "
				       "typed: use vm_key for keys",
				       count + 1, cp);
		else
			ret[count++] = from_cp(cp);
	}
	*ret_count = count;
	return 0;
}

/* ---- names ---- */

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

/* Edits from a to b, case aside (Levenshtein). */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[NAME_LEN + 1];
	size_t b_len = strnlen(b, NAME_LEN);

	for (unsigned j = 0; j <= b_len; j++)
		row[j] = j;
	for (unsigned i = 1; a[i - 1]; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= b_len; j++) {
			unsigned above = row[j];

			row[j] = min3(above + 1, row[j - 1] + 1,
				      diagonal + (lower(a[i - 1]) !=
						  lower(b[j - 1])));
			diagonal = above;
		}
	}
	return row[b_len];
}

struct guess {
	unsigned distance;
	char name[NAME_LEN];
};

static void consider(struct guess *g, const char *name, const char *candidate)
{
	unsigned d = distance(name, candidate);

	if (d >= g->distance)
		return;
	g->distance = d;
	snprintf(g->name, sizeof(g->name), "%s", candidate);
}

static int unknown(const char *name, struct err *e)
{
	struct guess g = {.distance = NEAR + 1};

	for (size_t i = 0; i < ARRAY_COUNT(aliases); i++)
		consider(&g, name, aliases[i].name);
	for (size_t i = 0; i < ARRAY_COUNT(common); i++) {
		for (uint32_t k = common[i].first; k <= common[i].last; k++) {
			char candidate[NAME_LEN];

			if (xkb_keysym_get_name(k, candidate,
						sizeof(candidate)) > 1 &&
			    candidate[0] != '0')
				consider(&g, name, candidate);
		}
	}
	if (g.name[0])
		return err_set(e, ERR_INVALID,
			       "unknown key \"%s\": did you mean %s?", name,
			       g.name);
	return err_set(e, ERR_INVALID,
		       "unknown key \"%s\": use an X keysym name such as "
		       "Return, Page_Up or F5, or the character itself",
		       name);
}

static int from_name(const char *name, uint32_t *ret, struct err *e)
{
	uint32_t cp;
	size_t len = strlen(name);
	xkb_keysym_t k;

	/* a single character is itself, capital or not */
	if (utf8_next(name, len, &cp) == len) {
		if (is_control(cp))
			return unknown(name, e);
		*ret = from_cp(cp);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_COUNT(aliases); i++) {
		if (strcasecmp(name, aliases[i].name) == 0) {
			*ret = aliases[i].keysym;
			return 0;
		}
	}
	k = xkb_keysym_from_name(name, XKB_KEYSYM_NO_FLAGS);
	if (k == XKB_KEY_NoSymbol)
		k = xkb_keysym_from_name(name, XKB_KEYSYM_CASE_INSENSITIVE);
	if (k == XKB_KEY_NoSymbol)
		return unknown(name, e);
	*ret = keysym_normal(k);
	return 0;
}

/* ---- chords ---- */

static int add_part(struct keysym_chord *c, const char *name, struct err *e)
{
	uint32_t k = 0;

	if (from_name(name, &k, e) != 0)
		return -1;
	if (c->key)
		return err_set(e, ERR_INVALID,
			       "in a chord only modifiers may come before the "
			       "last key: press others one after the other, "
			       "separated by spaces");
	if (!is_modifier(k)) {
		c->key = k;
		return 0;
	}
	for (unsigned i = 0; i < c->mods_count; i++) {
		if (c->mods[i] == k)
			return 0;
	}
	if (c->mods_count == KEYSYM_MODS_COUNT)
		return err_set(e, ERR_INVALID, "too many modifiers");
	c->mods[c->mods_count++] = k;
	return 0;
}

/* "Ctrl+C" is how people write ctrl+c. */
static void fold_case(struct keysym_chord *c)
{
	bool command = false;

	for (unsigned i = 0; i < c->mods_count; i++) {
		command |= c->mods[i] != XKB_KEY_Shift_L &&
			   c->mods[i] != XKB_KEY_Shift_R &&
			   c->mods[i] != XKB_KEY_ISO_Level3_Shift;
	}
	if (command && c->key >= 'A' && c->key <= 'Z')
		c->key += 'a' - 'A';
}

/* Parts end at a '+', but for one that is at a part's start: that is the
 * plus key. */
static int parse_chord(const char *text, size_t len, struct keysym_chord *ret,
		       struct err *e)
{
	struct keysym_chord c = {0};
	size_t at = 0;

	while (at < len) {
		char name[NAME_LEN];
		size_t n = 1;

		while (at + n < len && text[at + n] != '+')
			n++;
		if (n >= sizeof(name))
			return err_set(e, ERR_INVALID, "unknown key \"%.*s…\"",
				       24, text + at);
		memcpy(name, text + at, n);
		name[n] = '\0';
		if (add_part(&c, name, e) != 0)
			return -1;
		at += n;
		if (at == len)
			break;
		at++; /* the '+' between parts */
		if (at == len)
			return err_set(e, ERR_INVALID,
				       "\"%.*s\" lacks its last key (the plus "
				       "key is written ++ or plus)",
				       (int)(len < 64 ? len : 64), text);
	}
	fold_case(&c);
	*ret = c;
	return 0;
}

int keysym_parse_chords(const char *text,
			struct keysym_chord ret[KEYSYM_CHORDS_COUNT],
			unsigned *ret_count, struct err *e)
{
	unsigned count = 0;

	for (;;) {
		size_t len;

		text += strspn(text, " ");
		len = strcspn(text, " ");
		if (len == 0)
			break;
		if (count == KEYSYM_CHORDS_COUNT)
			return err_set(e, ERR_LIMIT,
				       "at most %d chords in one call",
				       KEYSYM_CHORDS_COUNT);
		if (parse_chord(text, len, &ret[count], e) != 0)
			return -1;
		count++;
		text += len;
	}
	if (count == 0)
		return err_set(e, ERR_INVALID,
			       "no key given (the space bar is called space)");
	*ret_count = count;
	return 0;
}

int keysym_parse_modifiers(const char *text, struct keysym_chord *ret,
			   struct err *e)
{
	struct keysym_chord c = {0};

	if (parse_chord(text, strlen(text), &c, e) != 0)
		return -1;
	if (c.key || c.mods_count == 0)
		return err_set(e, ERR_INVALID,
			       "modifiers: only ctrl, shift, alt, super and "
			       "the like, joined by +");
	*ret = c;
	return 0;
}
