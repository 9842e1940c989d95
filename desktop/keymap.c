#include "desktop/keymap.h"
#include "desktop/keysym.h"

#include <string.h>

enum { FIRST_KEYCODE = 8 };

static struct keymap_slot *slot_of(struct keymap *k, uint8_t keycode)
{
	for (unsigned i = 0; i < k->slots_count; i++) {
		if (k->slots[i].keycode == keycode)
			return &k->slots[i];
	}
	return NULL;
}

static void add_slot(struct keymap *k, const struct keymap *old,
		     unsigned keycode, uint32_t keysym)
{
	struct keymap_slot *s = &k->slots[k->slots_count++];

	*s = (struct keymap_slot){.keycode = (uint8_t)keycode,
				  .keysym = keysym};
	for (unsigned i = 0; i < old->slots_count; i++) {
		if (old->slots[i].keycode == keycode &&
		    old->slots[i].keysym == keysym)
			s->used_at = old->slots[i].used_at;
	}
}

void keymap_load(struct keymap *k, const struct xkbmap *map,
		 const bool unused[XKBMAP_KEYCODES],
		 const bool bound[XKBMAP_KEYCODES])
{
	struct keymap fresh = {.clock = k->clock};

	for (unsigned i = FIRST_KEYCODE; i < XKBMAP_KEYCODES; i++) {
		const struct xkbmap_key *key = &map->keys[i];

		fresh.plain[i] = keysym_normal(key->plain);
		fresh.shifted[i] = keysym_normal(key->shifted);
		if (key->mods)
			continue;
		if (!key->used && unused[i])
			add_slot(&fresh, k, i, 0);
		else if (bound[i] && key->plain && key->plain == key->shifted)
			add_slot(&fresh, k, i, fresh.plain[i]);
	}
	*k = fresh;
}

bool keymap_find(const struct keymap *k, uint32_t keysym,
		 struct keymap_stroke *ret)
{
	for (unsigned i = FIRST_KEYCODE; i < XKBMAP_KEYCODES; i++) {
		if (k->plain[i] != keysym && k->shifted[i] != keysym)
			continue;
		ret->keycode = (uint8_t)i;
		ret->shift = k->plain[i] != keysym;
		return true;
	}
	return false;
}

/* A free slot from the bottom, else the one not pressed for longest; none
 * that the plan being made needs. */
static struct keymap_slot *pick_slot(struct keymap *k)
{
	struct keymap_slot *oldest = NULL;

	for (unsigned i = 0; i < k->slots_count; i++) {
		struct keymap_slot *s = &k->slots[i];

		if (s->keysym == 0)
			return s;
		if (s->used_at < k->clock &&
		    (!oldest || s->used_at < oldest->used_at))
			oldest = s;
	}
	return oldest;
}

int keymap_plan(struct keymap *k, const uint32_t *keysyms, size_t count,
		struct keymap_plan *ret, struct err *e)
{
	struct keymap_plan plan = {0};

	k->clock++;
	for (unsigned i = 0; i < k->slots_count; i++)
		k->slots[i].fresh = false;
	for (; plan.count < count; plan.count++) {
		uint32_t keysym = keysyms[plan.count];
		struct keymap_stroke stroke;
		struct keymap_slot *s;

		if (keymap_find(k, keysym, &stroke)) {
			s = slot_of(k, stroke.keycode);
			if (s)
				s->used_at = k->clock;
			continue;
		}
		s = pick_slot(k);
		if (!s)
			break;
		plan.binds = true;
		plan.recycles |= s->keysym != 0;
		s->keysym = keysym;
		s->used_at = k->clock;
		s->fresh = true;
		k->plain[s->keycode] = k->shifted[s->keycode] = keysym;
	}
	if (plan.count == 0 && count > 0)
		return err_set(e, ERR_STATE,
			       "the guest's keyboard layout leaves no keycode "
			       "free for characters it lacks");
	*ret = plan;
	return 0;
}

void keymap_fresh(const struct keymap *k, uint32_t ret_keysyms[XKBMAP_KEYCODES])
{
	memset(ret_keysyms, 0, XKBMAP_KEYCODES * sizeof(*ret_keysyms));
	for (unsigned i = 0; i < k->slots_count; i++) {
		if (k->slots[i].fresh)
			ret_keysyms[k->slots[i].keycode] = k->slots[i].keysym;
	}
}

void keymap_bound(const struct keymap *k, bool ret_bound[XKBMAP_KEYCODES])
{
	memset(ret_bound, 0, XKBMAP_KEYCODES * sizeof(*ret_bound));
	for (unsigned i = 0; i < k->slots_count; i++)
		ret_bound[k->slots[i].keycode] = k->slots[i].keysym != 0;
}
