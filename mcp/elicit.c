/*
 * A request is in the list from before it is sent until its asker leaves. The
 * reader of messages finds it there by its id, puts a copy of what came into
 * it and wakes the asker by its eventfd, which can be waited for together with
 * the call's cancellation. All under one lock; what is in a request that was
 * answered is its asker's.
 */
#include "mcp/elicit.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define ID_SIZE 32

struct request {
	struct request *next;
	char id[ID_SIZE];
	int wake_fd;
	bool over;	/* answered, or nobody will */
	json_t *answer; /* NULL: an error, or nothing */
};

struct elicit {
	pthread_mutex_t lock;
	struct request *open;
	unsigned open_count;
	uint64_t last;
	bool ended;
};

/* -- what a client can be asked -------------------------------------------- */

unsigned elicit_abilities(const json_t *capabilities)
{
	const json_t *form = json_object_get(capabilities, "elicitation");
	unsigned can = 0;

	/* {} is from before there were modes, and means forms */
	if (json_is_object(form) && (json_object_size(form) == 0 ||
				     json_object_get(form, "form")))
		can |= ELICIT_FORM;
	if (json_is_object(json_object_get(capabilities, "sampling")))
		can |= ELICIT_SAMPLING;
	if (json_is_object(json_object_get(capabilities, "roots")))
		can |= ELICIT_ROOTS;
	return can;
}

static const struct {
	const char *method;
	unsigned ability;
	const char *capability;
} methods[] = {
	{"elicitation/create", ELICIT_FORM, "elicitation"},
	{"sampling/createMessage", ELICIT_SAMPLING, "sampling"},
	{"roots/list", ELICIT_ROOTS, "roots"},
};

unsigned elicit_needs(const json_t *request)
{
	const char *method =
		json_string_value(json_object_get(request, "method"));

	for (size_t i = 0; method && i < ARRAY_COUNT(methods); i++) {
		if (strcmp(methods[i].method, method) == 0)
			return methods[i].ability;
	}
	return 0;
}

json_t *elicit_declared(unsigned abilities)
{
	json_t *c = json_object();

	for (size_t i = 0; i < ARRAY_COUNT(methods); i++) {
		if (abilities & methods[i].ability)
			json_object_set_new(c, methods[i].capability,
					    json_object());
	}
	return c;
}

json_t *elicit_capped(const json_t *answer)
{
	size_t len = json_dumpb(answer, NULL, 0,
				JSON_COMPACT | JSON_ENCODE_ANY);

	return len > LIMIT_ELICITED_LEN ? json_null() : json_deep_copy(answer);
}

/* -- open requests --------------------------------------------------------- */

struct elicit *elicit_new(void)
{
	struct elicit *t = ALLOC_NEW(struct elicit);

	pthread_mutex_init(&t->lock, NULL);
	return t;
}

void elicit_free(struct elicit *t)
{
	if (!t)
		return;
	pthread_mutex_destroy(&t->lock);
	free(t);
}

static void wake(const struct request *r)
{
	uint64_t one = 1;
	ssize_t n = write(r->wake_fd, &one, sizeof(one));

	(void)n;
}

/* False: nobody will answer. */
static bool open_request(struct elicit *t, struct request *r)
{
	bool use;

	r->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->wake_fd < 0)
		return false;
	pthread_mutex_lock(&t->lock);
	use = !t->ended && t->open_count < LIMIT_ELICITS_OPEN_COUNT;
	snprintf(r->id, sizeof(r->id), "boxery-%" PRIu64, ++t->last);
	r->next = t->open;
	t->open = r;
	t->open_count++;
	pthread_mutex_unlock(&t->lock);
	return use;
}

static void close_request(struct elicit *t, struct request *r)
{
	struct request **at = &t->open;

	if (r->wake_fd < 0)
		return;
	pthread_mutex_lock(&t->lock);
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	t->open_count--;
	pthread_mutex_unlock(&t->lock);
	close(r->wake_fd);
}

void elicit_take(struct elicit *t, const struct jsonrpc_msg *m)
{
	const char *id = json_string_value(m->id);
	struct request *r;

	pthread_mutex_lock(&t->lock);
	r = id ? t->open : NULL;
	while (r && (r->over || strcmp(r->id, id) != 0))
		r = r->next;
	if (r) {
		r->over = true;
		r->answer = m->result ? elicit_capped(m->result) : NULL;
		wake(r);
	}
	pthread_mutex_unlock(&t->lock);
}

void elicit_end(struct elicit *t)
{
	pthread_mutex_lock(&t->lock);
	t->ended = true;
	for (struct request *r = t->open; r; r = r->next) {
		r->over = true;
		wake(r);
	}
	pthread_mutex_unlock(&t->lock);
}

/* -- asking ---------------------------------------------------------------- */

static json_t *request_message(const struct request *r,
			       const struct elicit_ask *a,
			       const json_t *request)
{
	json_t *m = json_deep_copy(request);

	if (!a->has_modes)
		json_object_del(json_object_get(m, "params"), "mode");
	json_object_set_new(m, "jsonrpc", json_string("2.0"));
	json_object_set_new(m, "id", json_string(r->id));
	return m;
}

static void withdraw(const struct request *r, const struct elicit_ask *a)
{
	json_t *params = json_object();

	json_object_set_new(params, "requestId", json_string(r->id));
	json_object_set_new(params, "reason",
			    json_string("the call does not wait any longer"));
	a->send(a->ctx,
		jsonrpc_notification("notifications/cancelled", params));
}

/* Is there nothing to wait for, before anything was sent? */
static bool is_over(const struct elicit_ask *a)
{
	struct pollfd p = {.fd = a->cancel_fd, .events = POLLIN};

	return deadline_passed(a->until) || poll(&p, 1, 0) > 0;
}

static json_t *ask_one(struct elicit *t, const struct elicit_ask *a,
		       const json_t *request)
{
	struct request r = {.wake_fd = -1};
	json_t *answer = NULL;
	struct err e = {0};

	if (!is_over(a) && open_request(t, &r)) {
		struct pollfd p[2] = {{.fd = r.wake_fd, .events = POLLIN},
				      {.fd = a->cancel_fd, .events = POLLIN}};

		a->send(a->ctx, request_message(&r, a, request));
		/* whatever ends it, the request says what came */
		(void)!deadline_poll(p, 2, a->until, "asking", &e);
		pthread_mutex_lock(&t->lock);
		answer = TAKE_PTR(r.answer);
		if (!r.over) {
			r.over = true;
			pthread_mutex_unlock(&t->lock);
			withdraw(&r, a);
		} else {
			pthread_mutex_unlock(&t->lock);
		}
	}
	close_request(t, &r);
	return answer;
}

json_t *elicit_ask(struct elicit *t, const struct elicit_ask *a,
		   const json_t *requests)
{
	json_t *answers = json_object();
	const char *key;
	json_t *request;

	json_object_foreach((json_t *)(uintptr_t)requests, key, request)
	{
		json_t *answer;

		if (!(a->abilities & elicit_needs(request)))
			continue;
		answer = ask_one(t, a, request);
		if (answer)
			json_object_set_new(answers, key, answer);
	}
	if (json_object_size(answers) == 0) {
		json_decref(answers);
		return NULL;
	}
	return answers;
}
