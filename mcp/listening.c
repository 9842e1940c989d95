/*
 * The lock guards the list and the legacy set; it is not held while a feed is
 * entered or left, or something is sent: what a feed tells takes none of ours.
 * The legacy ear is replaced as a whole whenever its set changes, under
 * `ear_lock`.
 */
#include "mcp/listening.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/limits.h"

#include <pthread.h>
#include <string.h>

struct one {
	struct listening *all;
	struct one *next;
	struct session_io io;
	json_t *id;
	struct feed_listener *ear;
};

struct listening {
	const struct protocol_server *server;
	const struct library *library;
	pthread_mutex_t lock; /* of the list */
	struct one *first;
	unsigned count;
	pthread_mutex_t ear_lock; /* of what follows */
	void (*note)(void *ctx, const struct session_out *out);
	void *note_ctx;
	unsigned topics;
	json_t *uris;
	struct feed_listener *ear;
};

struct listening *listening_new(const struct protocol_server *server,
				const struct library *library)
{
	struct listening *l = ALLOC_NEW(struct listening);

	l->server = server;
	l->library = library;
	l->uris = json_array();
	pthread_mutex_init(&l->lock, NULL);
	pthread_mutex_init(&l->ear_lock, NULL);
	return l;
}

void listening_free(struct listening *l)
{
	if (!l)
		return;
	listening_end_all(l);
	feed_leave(l->ear);
	json_decref(l->uris);
	pthread_mutex_destroy(&l->ear_lock);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static json_t *change(enum feed_topic topic, const char *uri, const json_t *id)
{
	const char *method =
		topic == FEED_TOOLS	? "notifications/tools/list_changed"
		: topic == FEED_PROMPTS ? "notifications/prompts/list_changed"
		: topic == FEED_RESOURCES
			? "notifications/resources/list_changed"
			: "notifications/resources/updated";
	json_t *params = uri || id ? json_object() : NULL;

	if (uri)
		json_object_set_new(params, "uri", json_string(uri));
	if (id)
		json_object_set_new(params, "_meta",
				    json_pack("{s:o}",
					      PROTOCOL_META_SUBSCRIPTION,
					      json_deep_copy(id)));
	return jsonrpc_notification(method, params);
}

/* -- since 2026-07-28 ------------------------------------------------------ */

static void on_change(void *ctx, enum feed_topic topic, const char *uri)
{
	struct one *o = ctx;

	session_send(&o->io, change(topic, uri, o->id),
		     &(struct session_out){.may_drop = true});
}

/* What we will tell of what was asked for. */
static unsigned agree(const struct listening *l, const struct ask_listen *what,
		      json_t **ret_uris)
{
	const struct protocol_server *s = l->server;
	json_t *uris = json_array();

	for (size_t i = 0; i < json_array_size(what->uris); i++) {
		json_t *uri = json_array_get(what->uris, i);

		if (s->has_library &&
		    l->library->may_watch(l->library->ctx,
					  json_string_value(uri)))
			json_array_append_new(uris, json_deep_copy(uri));
	}
	*ret_uris = uris;
	return (what->tools && s->tools_change ? FEED_TOOLS : 0) |
	       (what->prompts && s->prompts_change ? FEED_PROMPTS : 0) |
	       (what->resources && s->has_library ? FEED_RESOURCES : 0) |
	       (json_array_size(uris) > 0 ? FEED_UPDATED : 0);
}

static json_t *acknowledgement(const struct one *o, unsigned topics,
			       json_t *uris)
{
	static const struct {
		unsigned topic;
		const char *key;
	} rows[] = {{FEED_TOOLS, "toolsListChanged"},
		    {FEED_PROMPTS, "promptsListChanged"},
		    {FEED_RESOURCES, "resourcesListChanged"}};
	json_t *agreed = json_object();

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		if (topics & rows[i].topic)
			json_object_set_new(agreed, rows[i].key, json_true());
	}
	if (topics & FEED_UPDATED)
		json_object_set(agreed, "resourceSubscriptions", uris);
	return jsonrpc_notification(
		"notifications/subscriptions/acknowledged",
		json_pack("{s:o, s:{s:o}}", "notifications", agreed, "_meta",
			  PROTOCOL_META_SUBSCRIPTION, json_deep_copy(o->id)));
}

/* A place in the list. */
static int put_in(struct listening *l, struct one *o, struct jsonrpc_fault *f)
{
	bool taken = false, full;

	pthread_mutex_lock(&l->lock);
	for (const struct one *i = l->first; i; i = i->next)
		taken |= json_equal(i->id, o->id) != 0;
	full = l->count >= LIMIT_MCP_LISTENS_COUNT;
	if (!taken && !full) {
		o->next = l->first;
		l->first = o;
		l->count++;
	}
	pthread_mutex_unlock(&l->lock);
	if (taken)
		return jsonrpc_fault_set(f, JSONRPC_INVALID_REQUEST,
					 "this id is in use");
	if (full)
		return jsonrpc_fault_set(f, JSONRPC_INTERNAL_ERROR,
					 "%d subscriptions are open: end some",
					 LIMIT_MCP_LISTENS_COUNT);
	return 0;
}

int listening_begin(struct listening *l, const struct session_io *io,
		    const json_t *id, const struct ask_listen *what,
		    struct jsonrpc_fault *f)
{
	struct one *o = ALLOC_NEW(struct one);
	auto_json json_t *uris = NULL;
	unsigned topics = agree(l, what, &uris);
	struct feed_want want = {
		.topics = topics, .uris = uris, .tell = on_change, .ctx = o};

	o->all = l;
	o->io = *io;
	o->id = json_deep_copy(id);
	if (put_in(l, o, f) != 0) {
		json_decref(o->id);
		free(o);
		return -1;
	}
	/* it comes first */
	session_send(io, acknowledgement(o, topics, uris),
		     &(struct session_out){0});
	if (topics)
		o->ear = feed_listen(l->library->feed, &want);
	return 0;
}

/* Taken out of the list by the caller; the session may end with it. */
static void finish(struct one *o, bool say)
{
	struct session_io io = o->io;
	json_t *result;

	feed_leave(o->ear);
	if (say) {
		result = json_pack("{s:s, s:{s:O, s:o}}", "resultType",
				   "complete", "_meta",
				   PROTOCOL_META_SUBSCRIPTION, o->id,
				   PROTOCOL_META_SERVER_INFO,
				   protocol_server_info(o->all->server));
		session_send(&io, jsonrpc_result(o->id, result),
			     &(struct session_out){.is_answer = true});
	}
	json_decref(o->id);
	free(o);
	if (io.end)
		io.end(io.ctx);
}

bool listening_cancel(struct listening *l, const json_t *id)
{
	struct one **at, *o;

	pthread_mutex_lock(&l->lock);
	for (at = &l->first; *at && !json_equal((*at)->id, id);)
		at = &(*at)->next;
	o = *at;
	if (o) {
		*at = o->next;
		l->count--;
	}
	pthread_mutex_unlock(&l->lock);
	if (o)
		finish(o, false);
	return o != NULL;
}

void listening_end_all(struct listening *l)
{
	struct one *o, *next;

	pthread_mutex_lock(&l->lock);
	o = l->first;
	l->first = NULL;
	l->count = 0;
	pthread_mutex_unlock(&l->lock);
	for (; o; o = next) {
		next = o->next;
		finish(o, true);
	}
}

/* -- before ---------------------------------------------------------------- */

static void on_note(void *ctx, enum feed_topic topic, const char *uri)
{
	struct listening *l = ctx;
	auto_json json_t *m = change(topic, uri, NULL);
	autofree char *text = json_print(m);

	l->note(l->note_ctx, &(struct session_out){.text = text,
						   .len = strlen(text),
						   .may_drop = true});
}

void listening_to(struct listening *l,
		  void (*note)(void *ctx, const struct session_out *out),
		  void *ctx)
{
	l->note = note;
	l->note_ctx = ctx;
}

/* With ear_lock held: as the set is now. */
static void listen_anew(struct listening *l)
{
	struct feed_want want = {
		.topics = l->topics |
			  (json_array_size(l->uris) > 0 ? FEED_UPDATED : 0),
		.uris = l->uris,
		.tell = on_note,
		.ctx = l,
	};
	struct feed_listener *before = l->ear;

	l->ear = want.topics && l->note && l->library->feed
			 ? feed_listen(l->library->feed, &want)
			 : NULL;
	feed_leave(before);
}

void listening_hear(struct listening *l, unsigned topics)
{
	pthread_mutex_lock(&l->ear_lock);
	if ((l->topics & topics) != topics) {
		l->topics |= topics;
		listen_anew(l);
	}
	pthread_mutex_unlock(&l->ear_lock);
}

static size_t place_of(const json_t *uris, const char *uri)
{
	size_t i = 0;

	while (i < json_array_size(uris) &&
	       strcmp(json_string_value(json_array_get(uris, i)), uri) != 0)
		i++;
	return i;
}

int listening_subscribe(struct listening *l, const char *uri,
			struct jsonrpc_fault *f)
{
	int rc = 0;

	if (!l->library->may_watch(l->library->ctx, uri)) {
		library_not_found(f, uri);
		return -1;
	}
	pthread_mutex_lock(&l->ear_lock);
	if (place_of(l->uris, uri) < json_array_size(l->uris)) {
		;
	} else if (json_array_size(l->uris) >= LIMIT_MCP_WATCHES_COUNT) {
		rc = jsonrpc_fault_set(f, JSONRPC_INTERNAL_ERROR,
				       "%d resources are subscribed to: "
				       "unsubscribe from some",
				       LIMIT_MCP_WATCHES_COUNT);
	} else {
		json_array_append_new(l->uris, json_string(uri));
		listen_anew(l);
	}
	pthread_mutex_unlock(&l->ear_lock);
	return rc;
}

void listening_unsubscribe(struct listening *l, const char *uri)
{
	size_t at;

	pthread_mutex_lock(&l->ear_lock);
	at = place_of(l->uris, uri);
	if (at < json_array_size(l->uris)) {
		json_array_remove(l->uris, at);
		listen_anew(l);
	}
	pthread_mutex_unlock(&l->ear_lock);
}
