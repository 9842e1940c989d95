/*
 * A principal is made when its token is first used and found again by name as
 * long as the token's scope is the same. When the store has changed, those
 * whose token is gone, or means something else now, are marked revoked and
 * taken out of `current`; they wait in `retired` until nobody has them and no
 * call uses their links.
 */
#include "mcp/auth.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "mcp/httphead.h"
#include "mcp/invocation.h"
#include "ops/mcptoken.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

/* how often last uses are written down */
#define RECORD_S 60

struct auth {
	struct auth_opts opts;
	pthread_mutex_t lock;
	struct mcptokens tokens;
	struct principal *current, *retired;
	struct principal everybody;
	int64_t recorded_s;
};

/* -- principals ------------------------------------------------------------ */

static char **copy_names(char *const *names)
{
	char **copy = NULL;

	for (size_t n = 0; names && names[n]; n++) {
		copy = alloc_resize(copy, n + 2, sizeof(*copy));
		copy[n] = alloc_str(names[n]);
		copy[n + 1] = NULL;
	}
	return copy;
}

static void free_names(char **names)
{
	for (char **n = names; n && *n; n++)
		free(*n);
	free(names);
}

static bool has_name(const char *const *names, const char *name)
{
	for (; *names; names++) {
		if (strcmp(*names, name) == 0)
			return true;
	}
	return false;
}

/* Both scopes at once; false when no VM is in both. */
static bool join_scopes(const struct auth *a, const struct mcptoken *t,
			char ***ret)
{
	char **scope = NULL;
	size_t n = 0;

	if (!a->opts.vms || !t->vms) {
		const char *const *vms =
			t->vms ? (const char *const *)t->vms : a->opts.vms;

		*ret = copy_names((char *const *)(uintptr_t)vms);
		return true;
	}
	for (char **v = t->vms; *v; v++) {
		if (!has_name(a->opts.vms, *v))
			continue;
		scope = alloc_resize(scope, n + 2, sizeof(*scope));
		scope[n++] = alloc_str(*v);
		scope[n] = NULL;
	}
	*ret = scope;
	return n > 0;
}

static struct principal *principal_new(const struct auth *a,
				       const struct mcptoken *t, char **scope)
{
	struct principal *p = ALLOC_NEW(struct principal);

	p->name = alloc_str(t->name);
	p->read_only = t->read_only;
	p->vms = copy_names(t->vms);
	p->scope = scope;
	p->instructions =
		invocation_instructions((const char *const *)scope);
	p->server = *a->opts.server;
	p->server.instructions = p->instructions;
	p->opts = (struct client_opts){
		.home = a->opts.home,
		.name = p->name,
		.agent = true,
		.vms = (const char *const *)p->scope,
		.no_start = a->opts.no_start,
		.high_tier = a->opts.high_tier,
	};
	p->own_tools = (struct tools){
		.links = links_new(&p->opts),
		.copy_root = a->opts.copy_root,
		.copy_root_refusal = a->opts.copy_root_refusal,
		.read_only = p->read_only,
		.asker = p->name,
	};
	tools_init(&p->own_tools);
	p->tools = tools_set(&p->own_tools);
	return p;
}

static void principal_free(struct principal *p)
{
	links_free(p->own_tools.links);
	tools_finish(&p->own_tools);
	free_names(p->vms);
	free_names(p->scope);
	free(p->instructions);
	free(p->name);
	free(p);
}

struct principal *auth_ref(struct principal *p)
{
	atomic_fetch_add(&p->refs, 1);
	return p;
}

void auth_unref(struct principal *p)
{
	if (p)
		atomic_fetch_sub(&p->refs, 1);
}

/* -- the store ------------------------------------------------------------- */

static bool same_names(char *const *a, char *const *b)
{
	if (!a || !b)
		return a == b;
	for (; *a && *b; a++, b++) {
		if (strcmp(*a, *b) != 0)
			return false;
	}
	return *a == *b;
}

static bool still_means(const struct mcptokens *tokens,
			const struct mcptokens *before,
			const struct principal *p)
{
	const struct mcptoken *now = NULL, *was = NULL;

	for (size_t i = 0; i < tokens->count; i++) {
		if (strcmp(tokens->list[i].name, p->name) == 0)
			now = &tokens->list[i];
	}
	for (size_t i = 0; i < before->count; i++) {
		if (strcmp(before->list[i].name, p->name) == 0)
			was = &before->list[i];
	}
	return now && was &&
	       memcmp(now->digest, was->digest, sizeof(now->digest)) == 0 &&
	       now->read_only == p->read_only &&
	       same_names(now->vms, p->vms);
}

/* With the lock held. A store that cannot be read lets nobody in. */
static void reload(struct auth *a)
{
	struct mcptokens before = a->tokens;
	struct err e = {0};

	if (mcptoken_load(a->opts.home, &a->tokens, &e) != 0) {
		a->tokens = mcptoken_none(a->opts.home);
		log_error("nobody is let in: %s", err_msg(&e));
	}
	for (struct principal **at = &a->current; *at;) {
		struct principal *p = *at;

		if (still_means(&a->tokens, &before, p)) {
			at = &p->next;
			continue;
		}
		atomic_store(&p->revoked, true);
		*at = p->next;
		p->next = a->retired;
		a->retired = p;
	}
	mcptoken_finish(&before);
}

/* With the lock held. */
static void reap(struct auth *a)
{
	for (struct principal **at = &a->retired; *at;) {
		struct principal *p = *at;

		if (atomic_load(&p->refs) > 0 ||
		    !links_are_idle(p->own_tools.links)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		principal_free(p);
	}
}

int auth_new(const struct auth_opts *o, struct auth **ret, struct err *e)
{
	struct auth *a = ALLOC_NEW(struct auth);

	a->opts = *o;
	if (o->everybody) {
		a->everybody.server = *o->server;
		a->everybody.tools = *o->everybody;
	} else if (mcptoken_load(o->home, &a->tokens, e) != 0) {
		free(a);
		return -1;
	}
	pthread_mutex_init(&a->lock, NULL);
	a->recorded_s = (int64_t)time(NULL);
	*ret = a;
	return 0;
}

bool auth_free(struct auth *a)
{
	while (a->current) {
		struct principal *p = a->current;

		a->current = p->next;
		p->next = a->retired;
		a->retired = p;
	}
	reap(a);
	if (a->retired)
		return false;
	mcptoken_finish(&a->tokens);
	pthread_mutex_destroy(&a->lock);
	free(a);
	return true;
}

/* -- asking ---------------------------------------------------------------- */

/* With the lock held: the token's principal, made if need be. */
static int find_principal(struct auth *a, const struct mcptoken *t,
			  struct principal **ret, struct err *e)
{
	struct principal *p = a->current;
	char **scope;

	while (p && strcmp(p->name, t->name) != 0)
		p = p->next;
	if (!p) {
		if (!join_scopes(a, t, &scope))
			return err_set(e, ERR_DENIED,
				       "this server has none of the VMs that "
				       "the token %s is for",
				       t->name);
		p = principal_new(a, t, scope);
		p->next = a->current;
		a->current = p;
	}
	atomic_store(&p->used_s, (int64_t)time(NULL));
	*ret = auth_ref(p);
	return 0;
}

int auth_check(struct auth *a, const char *authorization,
	       struct principal **ret, struct err *e)
{
	const struct mcptoken *found;
	const char *token;
	size_t len;
	int rc;

	if (a->opts.everybody) {
		*ret = auth_ref(&a->everybody);
		return 0;
	}
	token = httphead_bearer(authorization, &len);
	if (!token)
		return err_set(e, ERR_NOT_FOUND,
			       "needs a token: Authorization: Bearer TOKEN "
			       "(on the host: boxery mcp token add NAME)");
	pthread_mutex_lock(&a->lock);
	if (mcptoken_is_stale(a->opts.home, &a->tokens))
		reload(a);
	found = mcptoken_find(&a->tokens, token, len);
	rc = found ? find_principal(a, found, ret, e)
		   : err_set(e, ERR_NOT_FOUND,
			     "not a token of this server, or one that was "
			     "revoked (on the host: boxery mcp token list)");
	pthread_mutex_unlock(&a->lock);
	return rc;
}

/* -- now and then ---------------------------------------------------------- */

static void take_uses(struct principal *p, json_t *used)
{
	for (; p; p = p->next) {
		int64_t at = atomic_exchange(&p->used_s, 0);

		if (at > 0)
			json_object_set_new(used, p->name, json_integer(at));
	}
}

void auth_record(struct auth *a)
{
	json_t *used = json_object();
	struct err e = {0};

	pthread_mutex_lock(&a->lock);
	take_uses(a->current, used);
	take_uses(a->retired, used);
	a->recorded_s = (int64_t)time(NULL);
	pthread_mutex_unlock(&a->lock);
	if (json_object_size(used) > 0 &&
	    mcptoken_note_use(a->opts.home, used, &e) != 0)
		log_warn("the use of tokens is not on record: %s",
			 err_msg(&e));
	json_decref(used);
}

void auth_tick(struct auth *a)
{
	bool due;

	if (a->opts.everybody)
		return;
	pthread_mutex_lock(&a->lock);
	if (mcptoken_is_stale(a->opts.home, &a->tokens))
		reload(a);
	reap(a);
	due = (int64_t)time(NULL) - a->recorded_s >= RECORD_S;
	pthread_mutex_unlock(&a->lock);
	if (due)
		auth_record(a);
}
