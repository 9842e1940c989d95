/* Everything is small and rare: each change reads the whole file under the
 * lock, and writes it anew. */
#include "ops/mcptoken.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "ops/validate.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#define FILE_VERSION 1
#define FILE_LEN ((size_t)1 << 20)
#define LOCK_MS 5000
/* what tells a token from other secrets that a scanner may find */
#define PREFIX "bxm_"
#define RANDOM_LEN 40
#define TEXT_LEN (sizeof(PREFIX) - 1 + RANDOM_LEN)

static char *store_path(const struct home *h)
{
	return path_join(h->config, "mcp-tokens.json");
}

static char *use_path(const struct home *h)
{
	return path_join(h->state, "mcp-token-use.json");
}

/* -- reading --------------------------------------------------------------- */

static void token_finish(struct mcptoken *t)
{
	free(t->name);
	for (char **v = t->vms; v && *v; v++)
		free(*v);
	free(t->vms);
}

void mcptoken_finish(struct mcptokens *t)
{
	for (size_t i = 0; i < t->count; i++)
		token_finish(&t->list[i]);
	free(t->list);
	*t = (struct mcptokens){0};
}

static int hex_value(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static int read_digest(const char *hex, uint8_t ret[CRYPTO_SHA256_LEN],
		       struct err *e)
{
	if (strlen(hex) != CRYPTO_SHA256_HEX_SIZE - 1)
		return err_set(e, ERR_PROTOCOL, "sha256: has no 64 digits");
	for (size_t i = 0; i < CRYPTO_SHA256_LEN; i++) {
		int high = hex_value(hex[2 * i]);
		int low = hex_value(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return err_set(e, ERR_PROTOCOL,
				       "sha256: has other than 0-9 a-f");
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

/* A scope that cannot be read must not come out wider than it was meant. */
static int read_vms(const json_t *vms, struct mcptoken *t, struct err *e)
{
	size_t count = json_array_size(vms);

	if (!vms)
		return 0;
	if (!json_is_array(vms) || count == 0 || count > LIMIT_SCOPE_COUNT)
		return err_set(e, ERR_PROTOCOL, "vms: no array of names");
	t->vms = alloc_array(count + 1, sizeof(*t->vms));
	for (size_t i = 0; i < count; i++) {
		const char *name = json_string_value(json_array_get(vms, i));

		if (!name)
			return err_set(e, ERR_PROTOCOL, "vms: no names");
		if (validate_vm_name(name, e) != 0)
			return err_wrap(e, "vms");
		t->vms[i] = alloc_str(name);
	}
	return 0;
}

static int read_token(const json_t *row, struct mcptoken *t, struct err *e)
{
	const char *name, *hex;

	if (json_get_str(row, "name", &name, e) != 0 ||
	    validate_client_name(name, e) != 0 ||
	    json_get_str(row, "sha256", &hex, e) != 0 ||
	    read_digest(hex, t->digest, e) != 0 ||
	    json_get_int(row, "made_s", &t->made_s, e) != 0 ||
	    json_opt_bool(row, "read_only", &t->read_only, e) != 0 ||
	    read_vms(json_object_get(row, "vms"), t, e) != 0)
		return -1;
	t->name = alloc_str(name);
	return 0;
}

static int read_store(const json_t *root, struct mcptokens *t, struct err *e)
{
	const json_t *rows = json_object_get(root, "tokens");
	int64_t version;

	if (json_get_int(root, "v", &version, e) != 0)
		return -1;
	if (version != FILE_VERSION || !json_is_array(rows) ||
	    json_array_size(rows) > LIMIT_MCP_TOKENS_COUNT)
		return err_set(e, ERR_PROTOCOL,
			       "is not of version %d, or too long",
			       FILE_VERSION);
	t->list = alloc_array(json_array_size(rows), sizeof(*t->list));
	for (size_t i = 0; i < json_array_size(rows); i++) {
		t->count++;
		if (read_token(json_array_get(rows, i), &t->list[i], e) != 0)
			return err_wrap(e, "token %zu", i + 1);
	}
	return 0;
}

/* The parsed file; an object without members when there is none. */
static int read_json(const char *path, json_t **ret, struct err *e)
{
	autofree char *text = NULL;
	struct err why = {0};
	size_t len;

	if (path_read_file(path, FILE_LEN, &text, &len, &why) != 0) {
		if (why.code != ERR_NOT_FOUND) {
			*e = why;
			return -1;
		}
		*ret = json_object();
		return 0;
	}
	*ret = json_parse(text, len, e);
	return *ret ? 0 : err_wrap(e, "%s", path);
}

int mcptoken_load(const struct home *h, struct mcptokens *ret, struct err *e)
{
	autofree char *path = store_path(h);
	struct mcptokens t = {0};
	auto_json json_t *root = NULL;

	/* before the content: a change in between is then seen as one */
	if (stat(path, &t.stamp) != 0) {
		if (errno != ENOENT)
			return err_sys(e, "%s", path);
		t.missing = true;
		*ret = t;
		return 0;
	}
	if (read_json(path, &root, e) != 0)
		return -1;
	if (read_store(root, &t, e) != 0) {
		mcptoken_finish(&t);
		return err_wrap(e, "%s", path);
	}
	*ret = t;
	return 0;
}

struct mcptokens mcptoken_none(const struct home *h)
{
	autofree char *path = store_path(h);
	struct mcptokens t = {0};

	t.missing = stat(path, &t.stamp) != 0;
	return t;
}

bool mcptoken_is_stale(const struct home *h, const struct mcptokens *t)
{
	autofree char *path = store_path(h);
	struct stat now = {0};

	if (stat(path, &now) != 0)
		return !t->missing;
	return t->missing || now.st_ino != t->stamp.st_ino ||
	       now.st_dev != t->stamp.st_dev ||
	       now.st_size != t->stamp.st_size ||
	       now.st_mtim.tv_sec != t->stamp.st_mtim.tv_sec ||
	       now.st_mtim.tv_nsec != t->stamp.st_mtim.tv_nsec;
}

const struct mcptoken *mcptoken_find(const struct mcptokens *t,
				     const char *text, size_t len)
{
	const struct mcptoken *found = NULL;
	uint8_t digest[CRYPTO_SHA256_LEN];
	struct err e = {0};

	if (crypto_sha256(text, len, digest, &e) != 0)
		return NULL;
	for (size_t i = 0; i < t->count; i++) {
		if (crypto_equal(digest, t->list[i].digest, sizeof(digest)))
			found = &t->list[i];
	}
	return found;
}

/* -- changing -------------------------------------------------------------- */

/* The lock, held by the fd; or -1. */
static int lock_store(const struct home *h, struct err *e)
{
	struct deadline d = deadline_in_ms(LOCK_MS);
	autofree char *path = path_join(h->config, "mcp-tokens.lock");
	autoclose int fd = -1;

	if (home_make_dirs(h, e) != 0)
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(e, "%s", path);
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_sys(e, "locking %s", path);
		if (deadline_passed(d))
			return err_set(e, ERR_BUSY,
				       "%s: another program holds it", path);
		deadline_sleep_ms(10);
	}
	return TAKE_FD(fd);
}

static json_t *token_row(const struct mcptoken *t)
{
	char hex[CRYPTO_SHA256_HEX_SIZE];
	json_t *row = json_object();
	json_t *vms;

	for (size_t i = 0; i < CRYPTO_SHA256_LEN; i++) {
		hex[2 * i] = "0123456789abcdef"[t->digest[i] >> 4];
		hex[2 * i + 1] = "0123456789abcdef"[t->digest[i] & 15];
	}
	hex[sizeof(hex) - 1] = '\0';
	json_object_set_new(row, "name", json_string(t->name));
	json_object_set_new(row, "sha256", json_string(hex));
	json_object_set_new(row, "made_s", json_integer(t->made_s));
	json_object_set_new(row, "read_only", json_boolean(t->read_only));
	if (t->vms) {
		vms = json_array();
		for (char **v = t->vms; *v; v++)
			json_array_append_new(vms, json_string(*v));
		json_object_set_new(row, "vms", vms);
	}
	return row;
}

/* All but the one at skip; count skips none. */
static int write_store(const struct home *h, const struct mcptokens *t,
		       size_t skip, struct err *e)
{
	autofree char *path = store_path(h);
	auto_json json_t *root = json_object();
	json_t *rows = json_array();
	autofree char *text = NULL;

	for (size_t i = 0; i < t->count; i++) {
		if (i != skip)
			json_array_append_new(rows, token_row(&t->list[i]));
	}
	json_object_set_new(root, "v", json_integer(FILE_VERSION));
	json_object_set_new(root, "tokens", rows);
	text = json_print(root);
	return path_write_file(path, text, strlen(text), 0600, e);
}

static size_t index_of(const struct mcptokens *t, const char *name)
{
	size_t i = 0;

	while (i < t->count && strcmp(t->list[i].name, name) != 0)
		i++;
	return i;
}

static int make_text(struct secret **ret, struct err *e)
{
	char text[TEXT_LEN + 1] = PREFIX;
	int rc = crypto_random_name(text + sizeof(PREFIX) - 1, RANDOM_LEN, e);

	if (rc == 0)
		*ret = secret_copy(text, TEXT_LEN);
	secret_wipe(text, sizeof(text));
	return rc;
}

/* With the lock held. */
static int add_token(const struct home *h, struct mcptokens *t,
		     const char *name, const struct mcptoken_scope *scope,
		     struct secret **ret_text, struct err *e)
{
	auto_secret struct secret *text = NULL;
	struct mcptoken *row;

	if (index_of(t, name) < t->count)
		return err_set(e, ERR_EXISTS,
			       "there is a token %s: revoke it first, or take "
			       "another name",
			       name);
	if (t->count >= LIMIT_MCP_TOKENS_COUNT)
		return err_set(e, ERR_LIMIT,
			       "there are %d tokens: revoke some first",
			       LIMIT_MCP_TOKENS_COUNT);
	if (make_text(&text, e) != 0)
		return -1;
	t->list = alloc_resize(t->list, t->count + 1, sizeof(*t->list));
	row = &t->list[t->count++];
	*row = (struct mcptoken){.name = alloc_str(name),
				 .made_s = (int64_t)time(NULL),
				 .read_only = scope->read_only};
	if (crypto_sha256(secret_const_bytes(text), secret_len(text),
			  row->digest, e) != 0 ||
	    (json_array_size(scope->vms) > 0 &&
	     read_vms(scope->vms, row, e) != 0) ||
	    write_store(h, t, t->count, e) != 0)
		return -1;
	*ret_text = TAKE_PTR(text);
	return 0;
}

/* Jobs belong to a client's name, and these are other clients'. */
static int check_name(const char *name, struct err *e)
{
	if (validate_client_name(name, e) != 0)
		return -1;
	if (strcmp(name, "cli") == 0 || strcmp(name, "stdio") == 0)
		return err_set(e, ERR_INVALID,
			       "\"%s\" is the name of clients without a token: "
			       "take another",
			       name);
	return 0;
}

int mcptoken_add(const struct home *h, const char *name,
		 const struct mcptoken_scope *scope, struct secret **ret_text,
		 struct err *e)
{
	struct mcptokens t = {0};
	autoclose int lock = -1;
	int rc;

	if (check_name(name, e) != 0)
		return -1;
	lock = lock_store(h, e);
	if (lock < 0 || mcptoken_load(h, &t, e) != 0)
		return -1;
	rc = add_token(h, &t, name, scope, ret_text, e);
	mcptoken_finish(&t);
	return rc;
}

int mcptoken_revoke(const struct home *h, const char *name, struct err *e)
{
	struct mcptokens t = {0};
	autoclose int lock = lock_store(h, e);
	size_t at;
	int rc;

	if (lock < 0 || mcptoken_load(h, &t, e) != 0)
		return -1;
	at = index_of(&t, name);
	rc = at < t.count ? write_store(h, &t, at, e)
			  : err_set(e, ERR_NOT_FOUND,
				    "there is no token %s (boxery mcp token "
				    "list)",
				    name);
	mcptoken_finish(&t);
	return rc;
}

int mcptoken_first(const struct home *h, char **ret_path, struct err *e)
{
	static const struct mcptoken_scope everything = {0};
	autofree char *path = path_join(h->config, "mcp-client-token");
	auto_secret struct secret *text = NULL;
	struct mcptokens t = {0};
	autoclose int lock = lock_store(h, e);
	int rc = 0;

	if (lock < 0 || mcptoken_load(h, &t, e) != 0)
		return -1;
	*ret_path = NULL;
	if (t.missing)
		rc = add_token(h, &t, "default", &everything, &text, e);
	mcptoken_finish(&t);
	if (rc == 0 && text) {
		rc = path_write_file(path, secret_const_bytes(text),
				     secret_len(text), 0600, e);
		if (rc == 0)
			*ret_path = TAKE_PTR(path);
	}
	return rc;
}

/* -- who used what --------------------------------------------------------- */

int mcptoken_note_use(const struct home *h, const json_t *used, struct err *e)
{
	autofree char *path = use_path(h);
	auto_json json_t *root = NULL;
	autofree char *text = NULL;
	autoclose int lock = lock_store(h, e);
	struct err why = {0};

	if (lock < 0)
		return -1;
	/* a broken record of use is not worth more than a new one */
	if (read_json(path, &root, &why) != 0 || !json_is_object(root)) {
		json_decref(root);
		root = json_object();
	}
	json_object_update(root, (json_t *)(uintptr_t)used);
	text = json_print(root);
	return path_write_file(path, text, strlen(text), 0600, e);
}

static json_t *time_text(int64_t at_s)
{
	char text[32];
	time_t at = (time_t)at_s;
	struct tm tm;

	if (at_s <= 0 || !gmtime_r(&at, &tm) ||
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%SZ", &tm) == 0)
		return json_string("never");
	return json_string(text);
}

static json_t *shown_row(const struct mcptoken *t, const json_t *used)
{
	json_t *row = json_object();
	char *vms = alloc_str(t->vms ? "" : "all");

	for (char **v = t->vms; v && *v; v++) {
		char *longer = alloc_printf("%s%s%s", vms, *vms ? "," : "", *v);

		free(vms);
		vms = longer;
	}
	json_object_set_new(row, "name", json_string(t->name));
	json_object_set_new(row, "scope",
			    json_string(t->read_only ? "read-only" : "full"));
	json_object_set_new(row, "vms", json_string(vms));
	json_object_set_new(row, "made", time_text(t->made_s));
	json_object_set_new(row, "used",
			    time_text(json_integer_value(
				    json_object_get(used, t->name))));
	free(vms);
	return row;
}

int mcptoken_rows(const struct home *h, json_t **ret, struct err *e)
{
	autofree char *path = use_path(h);
	auto_json json_t *used = NULL;
	struct mcptokens t;
	struct err why = {0};
	json_t *rows;

	if (mcptoken_load(h, &t, e) != 0)
		return -1;
	if (read_json(path, &used, &why) != 0)
		used = NULL;
	rows = json_array();
	for (size_t i = 0; i < t.count; i++)
		json_array_append_new(rows, shown_row(&t.list[i], used));
	mcptoken_finish(&t);
	*ret = json_object();
	json_object_set_new(*ret, "rows", rows);
	return 0;
}
