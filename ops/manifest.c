#include "ops/manifest.h"

#include "base/alloc.h"
#include "base/crypto.h"
#include "base/limits.h"
#include "base/path.h"

#include <inttypes.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <string.h>

/*
 * Entries are looked up by path in a balanced tree and not in a hash table:
 * a hostile source chooses the paths.
 */
struct manifest {
	struct manifest_entry **entries; /* in order */
	size_t count, size;
	size_t str_len; /* bytes of all strings */
	void *by_path;	/* tsearch(3) */
};

static int compare_paths(const void *a, const void *b)
{
	const struct manifest_entry *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* The tree does not own its entries. */
static void keep_entry(void *p)
{
	(void)p;
}

struct manifest *manifest_new(void)
{
	return ALLOC_NEW(struct manifest);
}

void manifest_free(struct manifest *m)
{
	if (!m)
		return;
	tdestroy(m->by_path, keep_entry);
	for (size_t i = 0; i < m->count; i++)
		free(m->entries[i]);
	free(m->entries);
	free(m);
}

bool manifest_is_part(const char *name)
{
	return strncmp(name, MANIFEST_PART_PREFIX,
		       strlen(MANIFEST_PART_PREFIX)) == 0;
}

static const struct manifest_entry *find(const struct manifest *m,
					 const char *path)
{
	const struct manifest_entry key = {.path = path};
	void *const *found = tfind(&key, &m->by_path, compare_paths);

	return found ? *found : NULL;
}

/* The parent must be known, and be a directory. */
static int check_parent(const struct manifest *m, const char *path,
			struct err *e)
{
	const char *slash = strrchr(path, '/');
	autofree char *parent =
		alloc_strn(path, slash ? (size_t)(slash - path) : 0);
	const struct manifest_entry *p = find(m, parent);

	if (!p)
		return err_set(e, ERR_PROTOCOL,
			       "%s: listed before its directory", path);
	if (p->type != 'd')
		return err_set(e, ERR_PROTOCOL,
			       "%s: below something that is no directory",
			       path);
	return 0;
}

/* Any component may be a partial file's name: a directory of that name would
 * be in the way of one. */
static bool has_part_component(const char *path)
{
	while (*path) {
		if (manifest_is_part(path))
			return true;
		path += strcspn(path, "/");
		path += strspn(path, "/");
	}
	return false;
}

static int check_path(const struct manifest *m, const char *path,
		      struct err *e)
{
	if (*path == '\0') {
		if (m->count > 0)
			return err_set(e, ERR_PROTOCOL, "a second root");
		return 0;
	}
	if (m->count == 0)
		return err_set(e, ERR_PROTOCOL, "%s: listed before the root",
			       path);
	if (path_check_relative(path, e) != 0) {
		if (e && e->code == ERR_INVALID)
			e->code = ERR_PROTOCOL;
		return -1;
	}
	if (has_part_component(path))
		return err_set(e, ERR_PROTOCOL,
			       "%s: a name kept for partial files", path);
	if (check_parent(m, path, e) != 0)
		return -1;
	if (find(m, path))
		return err_set(e, ERR_PROTOCOL, "%s: listed twice", path);
	return 0;
}

static bool has_nul(struct treewire_str s)
{
	return s.len > 0 && memchr(s.p, '\0', s.len) != NULL;
}

static int check_caps(const struct manifest *m, const struct treewire_entry *n,
		      struct err *e)
{
	if (has_nul(n->path) || has_nul(n->target))
		return err_set(e, ERR_PROTOCOL, "a name with a NUL byte");
	if (m->count >= LIMIT_TREE_COUNT)
		return err_set(e, ERR_LIMIT,
			       "more than %d files: copy it in parts",
			       LIMIT_TREE_COUNT);
	if (n->path.len > LIMIT_PATH_LEN || n->target.len > LIMIT_PATH_LEN)
		return err_set(e, ERR_LIMIT,
			       "a path longer than %d bytes", LIMIT_PATH_LEN);
	if (m->str_len + n->path.len + n->target.len > LIMIT_TREE_MANIFEST_LEN)
		return err_set(e, ERR_LIMIT,
			       "names of more than %d MiB: copy it in parts",
			       LIMIT_TREE_MANIFEST_LEN >> 20);
	if (n->len > LIMIT_TREE_FILE_LEN)
		return err_set(e, ERR_LIMIT,
			       "%.*s: larger than %lld GiB", (int)n->path.len,
			       n->path.p, LIMIT_TREE_FILE_LEN >> 30);
	return 0;
}

/* One block: the entry, then its strings. */
static struct manifest_entry *make_entry(const struct treewire_entry *n)
{
	size_t size = sizeof(struct manifest_entry) + n->path.len + 1 +
		      n->target.len + 1;
	struct manifest_entry *x = alloc_zero(size);
	char *str = (char *)(x + 1);

	x->type = n->type;
	x->mode = n->mode & 0777;
	x->mtime_s = n->mtime_s;
	x->mtime_ns = n->mtime_ns;
	x->len = n->len;
	x->path = str;
	if (n->path.len > 0)
		memcpy(str, n->path.p, n->path.len);
	if (n->type == 'l') {
		str += n->path.len + 1;
		x->target = str;
		memcpy(str, n->target.p, n->target.len);
	}
	return x;
}

int manifest_add(struct manifest *m, const struct treewire_entry *n,
		 struct err *e)
{
	struct manifest_entry *x;

	if (check_caps(m, n, e) != 0)
		return -1;
	x = make_entry(n);
	if (check_path(m, x->path, e) != 0) {
		free(x);
		return -1;
	}
	if (m->count == m->size) {
		m->size = m->size ? m->size * 2 : 64;
		m->entries = (struct manifest_entry **)alloc_resize(
			(void *)m->entries, m->size, sizeof(void *));
	}
	if (!tsearch(x, &m->by_path, compare_paths)) {
		free(x);
		return err_set(e, ERR_LIMIT, "out of memory");
	}
	m->entries[m->count++] = x;
	m->str_len += n->path.len + n->target.len;
	return 0;
}

int manifest_end(const struct manifest *m, uint32_t count, struct err *e)
{
	if (m->count == 0 || count != m->count)
		return err_set(e, ERR_PROTOCOL,
			       "a list of %zu entries that should have %" PRIu32,
			       m->count, count);
	return 0;
}

uint32_t manifest_count(const struct manifest *m)
{
	return (uint32_t)m->count;
}

const struct manifest_entry *manifest_at(const struct manifest *m,
					 uint32_t index)
{
	return m->entries[index];
}

struct treewire_record manifest_record(const struct manifest_entry *n)
{
	struct treewire_record r = {
		.type = TREE_ENTRY,
		.entry = {.type = n->type,
			  .mode = n->mode,
			  .mtime_s = n->mtime_s,
			  .mtime_ns = n->mtime_ns,
			  .len = n->len,
			  .path = treewire_str(n->path, strlen(n->path))},
	};

	if (n->target)
		r.entry.target = treewire_str(n->target, strlen(n->target));
	return r;
}

void manifest_part_name(const char *place, const struct manifest_entry *n,
			char ret[MANIFEST_PART_SIZE])
{
	autofree char *text =
		alloc_printf("%" PRIu64 " %" PRId64 ".%09" PRIu32 " %s",
			     n->len, n->mtime_s, n->mtime_ns, place);
	char hex[CRYPTO_SHA256_HEX_SIZE] = "0000000000000000";

	/* were it to fail, all parts would share a name: slow but safe */
	if (crypto_sha256_hex(text, strlen(text), hex, NULL) != 0)
		memset(hex, '0', 16);
	snprintf(ret, MANIFEST_PART_SIZE, "%s%.16s", MANIFEST_PART_PREFIX,
		 hex);
}

size_t manifest_root_name(const char *path, const char **ret)
{
	size_t end = strlen(path), start;

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/'; start--)
		;
	*ret = path + start;
	if ((end - start == 1 && path[start] == '.') ||
	    (end - start == 2 && path[start] == '.' && path[start + 1] == '.'))
		return 0;
	return end - start;
}

int manifest_take_name(const struct treewire_record *head, char **ret,
		       struct err *e)
{
	autofree char *name = NULL;

	if (head->version != TREEWIRE_VERSION)
		return err_set(e, ERR_PROTOCOL,
			       "copy protocol %u, but this program speaks %d: "
			       "restart the service",
			       head->version, TREEWIRE_VERSION);
	if (has_nul(head->name) || head->name.len > NAME_MAX)
		return err_set(e, ERR_PROTOCOL, "a malformed name");
	name = alloc_strn(head->name.p, head->name.len);
	if (*name && (strchr(name, '/') || path_check_relative(name, e) != 0 ||
		      manifest_is_part(name)))
		return err_set(e, ERR_PROTOCOL, "%s: not a file's name", name);
	*ret = TAKE_PTR(name);
	return 0;
}

int manifest_take(struct manifest *m, char **name,
		  const struct treewire_record *r, bool *ret_whole,
		  struct err *e)
{
	if (r->type == TREE_HEAD && !*name)
		return manifest_take_name(r, name, e);
	if (r->type == TREE_ENTRY && *name)
		return manifest_add(m, &r->entry, e);
	if (r->type != TREE_MANIFEST_END || !*name)
		return err_set(e, ERR_PROTOCOL, "copy: record %u out of turn",
			       (unsigned)r->type);
	if (manifest_end(m, r->count, e) != 0)
		return -1;
	*ret_whole = true;
	return 0;
}

static bool ends_in_slash(const char *path)
{
	size_t len = strlen(path);

	return len > 0 && path[len - 1] == '/';
}

int manifest_place(const struct manifest *m, const char *root_name,
		   const char *to, char kind, enum manifest_place *ret,
		   struct err *e)
{
	const struct manifest_entry *root = manifest_at(m, 0);
	const char *last;

	if (*root_name == '\0' && root->type != 'd')
		return err_set(e, ERR_PROTOCOL, "a file without a name");
	if (kind == 'd') {
		*ret = *root_name ? MANIFEST_UNDER : MANIFEST_MERGE;
		return 0;
	}
	if (kind == '-' && ends_in_slash(to))
		return err_set(e, ERR_NOT_FOUND,
			       "%s: no such directory: make it first, or name "
			       "the copy without the / at the end",
			       to);
	if (kind == '-' && manifest_root_name(to, &last) == 0)
		return err_set(e, ERR_NOT_FOUND, "%s: no such directory", to);
	if (kind == 'f' && (root->type == 'd' || ends_in_slash(to)))
		return err_set(e, ERR_EXISTS, "%s: is not a directory", to);
	*ret = MANIFEST_AS;
	return 0;
}
