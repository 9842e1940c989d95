#include "grants/event.h"

#include "base/alloc.h"
#include "base/cleanup.h"

#include <string.h>

static const char *const names[] = {
	[EVENT_ASKED] = "asked",	 [EVENT_ANSWERED] = "answered",
	[EVENT_GRANTED] = "granted",	 [EVENT_APPLIED] = "applied",
	[EVENT_WITHDRAWN] = "withdrawn", [EVENT_USED] = "used",
	[EVENT_EXPIRED] = "expired",	 [EVENT_REVOKED] = "revoked",
	[EVENT_TOKEN] = "token",
};

static void add(json_t *line, const char *key, const char *text)
{
	if (text && text[0])
		json_object_set_new(line, key, json_string(text));
}

json_t *event_json(const struct event *ev)
{
	json_t *line =
		json_pack("{s:s, s:s}", "event", names[ev->what], "vm", ev->vm);

	if (!line)
		alloc_fail("no memory for a line of the audit");
	if (ev->set)
		json_object_set_new(line, "grants", grantset_json(ev->set));
	else if (ev->text)
		json_object_set_new(line, "grants", json_pack("[s]", ev->text));
	add(line, "client", ev->client);
	if (ev->client)
		json_object_set_new(line, "agent", json_boolean(ev->agent));
	add(line, "terms", ev->terms);
	add(line, "way", ev->way);
	add(line, "outcome", ev->outcome);
	add(line, "approval", ev->approval);
	return line;
}
