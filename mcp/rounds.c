/*
 * A state is "PAYLOAD.MAC", both base64; the payload is one line of JSON. The
 * nonces of those that are out are in a short list: taking one out of it is what
 * makes a state good once. When it is full the oldest is forgotten, and with it
 * the question, which is then asked again.
 */
#include "mcp/rounds.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/crypto.h"
#include "base/deadline.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/secret.h"
#include "mcp/elicit.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NONCE_LEN 16
#define KEY_LEN 32

struct out {
	char nonce[NONCE_LEN + 1];
	int64_t until_ms;
};

struct rounds {
	pthread_mutex_t lock;
	char *who;
	int64_t life_ms;
	struct secret *key; /* made when first needed */
	struct out outs[LIMIT_ROUNDS_OUT_COUNT];
	size_t out_count; /* oldest first */
};

struct rounds *rounds_new(const char *who, int64_t life_ms)
{
	struct rounds *s = ALLOC_NEW(struct rounds);

	pthread_mutex_init(&s->lock, NULL);
	s->who = alloc_str(who);
	s->life_ms = life_ms;
	return s;
}

void rounds_free(struct rounds *s)
{
	if (!s)
		return;
	secret_free(s->key);
	pthread_mutex_destroy(&s->lock);
	free(s->who);
	free(s);
}

/* -- digests --------------------------------------------------------------- */

/* Of what a value says, however its members are ordered. */
static int digest_of(const json_t *v, char ret[ROUNDS_DIGEST_SIZE],
		     struct err *e)
{
	autofree char *text = json_dumps(v, JSON_COMPACT | JSON_SORT_KEYS |
						    JSON_ENCODE_ANY);

	if (!text)
		alloc_fail("no memory for a digest");
	return crypto_sha256_hex(text, strlen(text), ret, e);
}

static int digest_call(const struct round_call *c,
		       char ret[ROUNDS_DIGEST_SIZE], struct err *e)
{
	auto_json json_t *none = json_object();
	auto_json json_t *v = json_pack(
		"[s, s, O]", c->method, c->name,
		c->args ? (json_t *)(uintptr_t)c->args : none);

	if (!v)
		alloc_fail("no memory for a digest");
	return digest_of(v, ret, e);
}

/* -- states that are out --------------------------------------------------- */

/* With the lock held. */
static void drop_out(struct rounds *s, size_t at)
{
	s->out_count--;
	memmove(&s->outs[at], &s->outs[at + 1],
		(s->out_count - at) * sizeof(*s->outs));
}

static void put_out(struct rounds *s, const char *nonce, int64_t until_ms)
{
	struct out *o;

	pthread_mutex_lock(&s->lock);
	if (s->out_count == LIMIT_ROUNDS_OUT_COUNT)
		drop_out(s, 0);
	o = &s->outs[s->out_count++];
	snprintf(o->nonce, sizeof(o->nonce), "%s", nonce);
	o->until_ms = until_ms;
	pthread_mutex_unlock(&s->lock);
}

/* True once for each that is out and not too old. */
static bool take_out(struct rounds *s, const char *nonce)
{
	int64_t now = deadline_now_ms();
	bool found = false;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->out_count && !found; i++) {
		if (strcmp(s->outs[i].nonce, nonce) != 0)
			continue;
		found = true;
		if (s->outs[i].until_ms <= now)
			nonce = NULL;
		drop_out(s, i);
	}
	pthread_mutex_unlock(&s->lock);
	return found && nonce;
}

/* -- sealing --------------------------------------------------------------- */

static int make_key(struct rounds *s, struct err *e)
{
	struct secret *key;
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	if (!s->key) {
		key = secret_new(KEY_LEN);
		rc = crypto_random(secret_bytes(key), KEY_LEN, e);
		if (rc == 0)
			s->key = TAKE_PTR(key);
		secret_free(key);
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static char *seal(struct rounds *s, const json_t *payload, struct err *e)
{
	autofree char *text = json_print(payload);
	autofree char *left = crypto_base64(text, strlen(text));
	autofree char *right = NULL;
	uint8_t mac[CRYPTO_SHA256_LEN];

	if (make_key(s, e) != 0 ||
	    crypto_hmac_sha256(s->key, text, strlen(text), mac, e) != 0)
		return NULL;
	right = crypto_base64(mac, sizeof(mac));
	return alloc_printf("%s.%s", left, right);
}

/* The payload of a state of ours, or NULL. */
static json_t *unseal(struct rounds *s, const char *state, size_t len)
{
	const char *dot = memchr(state, '.', len);
	size_t left_len = dot ? (size_t)(dot - state) : 0;
	autofree char *text = NULL;
	uint8_t mac[CRYPTO_SHA256_LEN], ours[CRYPTO_SHA256_LEN];
	size_t text_len, mac_len;
	struct err e = {0};

	/* no key: nothing was sealed */
	if (!dot || len > LIMIT_ROUND_STATE_LEN || make_key(s, &e) != 0)
		return NULL;
	text = alloc_array(left_len + 1, 1);
	if (crypto_base64_decode(state, left_len, (uint8_t *)text, left_len,
				 &text_len, &e) != 0 ||
	    crypto_base64_decode(dot + 1, len - left_len - 1, mac, sizeof(mac),
				 &mac_len, &e) != 0 ||
	    mac_len != sizeof(mac) ||
	    crypto_hmac_sha256(s->key, text, text_len, ours, &e) != 0 ||
	    !crypto_equal(mac, ours, sizeof(mac)))
		return NULL;
	return json_parse(text, text_len, &e);
}

/* -- opening --------------------------------------------------------------- */

static bool is_text(const json_t *obj, const char *key, const char *text)
{
	const char *v = json_string_value(json_object_get(obj, key));

	return v && strcmp(v, text) == 0;
}

/*
 * What is sealed was written by us, so it has all its members; whether it is
 * for this call of this principal's is what remains to be seen. A state that
 * is not keeps its use.
 */
static bool is_for(const json_t *payload, const struct round *r)
{
	int64_t until_ms = 0;

	return is_text(payload, "who", r->rounds->who) &&
	       is_text(payload, "call", r->digest) &&
	       json_get_int(payload, "until_ms", &until_ms, NULL) == 0 &&
	       until_ms > deadline_now_ms();
}

static int open_state(struct round *r, const struct round_call *c,
		      struct jsonrpc_fault *f)
{
	auto_json json_t *payload = NULL;
	const char *nonce;
	int64_t number = 0;

	if (json_is_string(c->state) && r->rounds)
		payload = unseal(r->rounds, json_string_value(c->state),
				 json_string_length(c->state));
	nonce = json_string_value(json_object_get(payload, "nonce"));
	if (!payload || !is_for(payload, r) || !nonce ||
	    json_get_int(payload, "round", &number, NULL) != 0 ||
	    !take_out(r->rounds, nonce))
		return jsonrpc_fault_set(
			f, JSONRPC_INVALID_PARAMS,
			"requestState: not one that this server gave for this "
			"very call, or used before, or too old: call again "
			"without it, to be asked anew");
	r->number = (int)number;
	r->asked = json_deep_copy(json_object_get(payload, "asked"));
	json_decref(r->answered);
	r->answered = json_deep_copy(json_object_get(payload, "answered"));
	r->responses = json_deep_copy(c->responses);
	return 0;
}

int round_open(struct round *r, struct rounds *s, const struct round_call *c,
	       struct jsonrpc_fault *f)
{
	struct err e = {0};
	int rc = 0;

	if (c->responses && !json_is_object(c->responses))
		return jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
					 "inputResponses: must be an object");
	*r = (struct round){.rounds = s, .abilities = c->abilities};
	if (digest_call(c, r->digest, &e) != 0)
		return jsonrpc_fault_set(f, JSONRPC_INTERNAL_ERROR, "%s",
					 err_msg(&e));
	r->answered = json_object();
	if (c->state)
		rc = open_state(r, c, f);
	if (rc != 0)
		round_finish(r);
	return rc;
}

void round_finish(struct round *r)
{
	json_decref(r->asked);
	json_decref(r->responses);
	json_decref(r->answered);
	json_decref(r->missing);
	*r = (struct round){0};
}

/* -- asking ---------------------------------------------------------------- */

/* The answer to exactly this request, now or in an earlier round; borrowed. */
static json_t *answer_to(struct round *r, const char *key, const char *digest)
{
	json_t *row = json_object_get(r->answered, key);
	json_t *came = json_object_get(r->responses, key);

	if (row && is_text(row, "of", digest))
		return json_object_get(row, "answer");
	if (!came || !is_text(r->asked, key, digest))
		return NULL;
	row = json_pack("{s:s, s:o}", "of", digest, "answer", elicit_capped(came));
	if (!row || json_object_set_new(r->answered, key, row) != 0)
		alloc_fail("no memory for an answer");
	return json_object_get(row, "answer");
}

json_t *round_ask(struct round *r, const json_t *requests)
{
	auto_json json_t *answers = json_object();
	auto_json json_t *missing = json_object();
	char digest[ROUNDS_DIGEST_SIZE];
	const char *key;
	json_t *request, *answer;
	struct err e = {0};

	if (!r->rounds)
		return NULL;
	json_object_foreach((json_t *)(uintptr_t)requests, key, request)
	{
		if (!(r->abilities & elicit_needs(request)) ||
		    digest_of(request, digest, &e) != 0)
			continue;
		answer = answer_to(r, key, digest);
		if (answer)
			json_object_set(answers, key, answer);
		else
			json_object_set_new(missing, key,
					    json_deep_copy(request));
	}
	if (json_object_size(missing) == 0)
		return json_object_size(answers) > 0 ? TAKE_PTR(answers) : NULL;
	if (r->number < LIMIT_ROUNDS_COUNT && !r->missing)
		r->missing = TAKE_PTR(missing);
	return NULL;
}

bool round_must_ask(const struct round *r)
{
	return r->missing != NULL;
}

static json_t *digests_of(const json_t *requests, struct err *e)
{
	auto_json json_t *v = json_object();
	char digest[ROUNDS_DIGEST_SIZE];
	const char *key;
	json_t *request;

	json_object_foreach((json_t *)(uintptr_t)requests, key, request)
	{
		if (digest_of(request, digest, e) != 0)
			return NULL;
		json_object_set_new(v, key, json_string(digest));
	}
	return TAKE_PTR(v);
}

json_t *round_result(const struct round *r, struct err *e)
{
	int64_t until_ms = deadline_now_ms() + r->rounds->life_ms;
	char nonce[NONCE_LEN + 1];
	auto_json json_t *payload = NULL;
	autofree char *state = NULL;
	json_t *asked = digests_of(r->missing, e);
	json_t *result;

	if (!asked || crypto_random_name(nonce, NONCE_LEN, e) != 0) {
		json_decref(asked);
		return NULL;
	}
	payload = json_pack("{s:s, s:s, s:I, s:s, s:i, s:o, s:O}", "who",
			    r->rounds->who, "call", r->digest, "until_ms",
			    (json_int_t)until_ms, "nonce", nonce, "round",
			    r->number + 1, "asked", asked, "answered",
			    r->answered);
	if (!payload)
		alloc_fail("no memory for a state");
	state = seal(r->rounds, payload, e);
	if (!state)
		return NULL;
	put_out(r->rounds, nonce, until_ms);
	result = json_pack("{s:s, s:s, s:O}", "resultType", "input_required",
			   "requestState", state, "inputRequests", r->missing);
	if (!result)
		alloc_fail("no memory for a question");
	return result;
}
