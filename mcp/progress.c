#include "mcp/progress.h"

#include "base/json.h"

#include <stdbool.h>
#include <string.h>

#define INTERVAL_MS 100
/* how far a report goes that has news in its text alone; exact in binary */
#define NUDGE (1.0 / 1024)

void progress_init(struct progress *p, const json_t *token)
{
	*p = (struct progress){.token = token ? json_deep_copy(token) : NULL,
			       .sent = -1};
}

void progress_finish(struct progress *p)
{
	json_decref(p->token);
	*p = (struct progress){0};
}

/* Remember the text; was it new? */
static bool note_text(struct progress *p, const char *text)
{
	size_t len = strnlen(text, sizeof(p->text) - 1);

	if (strncmp(p->text, text, len) == 0 && p->text[len] == '\0')
		return false;
	memcpy(p->text, text, len);
	p->text[len] = '\0';
	return true;
}

json_t *progress_report(struct progress *p, const struct client_progress *c,
			int64_t now_ms)
{
	const char *text = c->text ? c->text : "";
	double done = (double)c->done;
	json_t *params;

	if (!p->token || now_ms < p->next_ms)
		return NULL;
	if (note_text(p, text) && done <= p->sent)
		done = p->sent + NUDGE;
	if (done <= p->sent)
		return NULL;
	p->sent = done;
	p->next_ms = now_ms + INTERVAL_MS;

	params = json_object();
	json_object_set(params, "progressToken", p->token);
	json_object_set_new(params, "progress", json_real(done));
	/* a total that was passed, in an earlier phase, says nothing */
	if (c->total > 0 && (double)c->total >= done)
		json_object_set_new(params, "total", json_integer(c->total));
	if (*text)
		json_object_set_new(params, "message",
				    json_lossy(text, strlen(text)));
	return params;
}
