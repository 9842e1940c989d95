#include "vmctl/image.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/path.h"
#include "vmctl/datadir.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORD_CAP ((size_t)256 * 1024)
#define SUFFIX ".qcow2"
#define PART ".part" /* of guest/build-image */
/* the guest's kernel, boot loader and the seed's service: in every image */
#define BASE_LAYERS_COUNT 2

void image_finish(struct image *i)
{
	free(i->path);
	json_decref(i->record);
	*i = (struct image){.path = NULL};
}

/* -- records -----------------------------------------------------------------
 */

static int check_layers(const json_t *layers, struct err *e)
{
	if (!json_is_array(layers))
		return err_set(e, ERR_INVALID, "layers: expected an array");
	for (size_t i = 0; i < json_array_size(layers); i++) {
		const char *text;

		if (json_get_str(json_array_get(layers, i), "name", &text, e) ||
		    json_get_str(json_array_get(layers, i), "sha256", &text, e))
			return err_wrap(e, "layers");
	}
	return 0;
}

int image_parse_record(const char *text, size_t len, struct image *ret,
		       struct err *e)
{
	auto_json json_t *record = json_parse(text, len, e);
	const char *built;
	int64_t version, disk_len;

	if (!record || json_get_int(record, "v", &version, e))
		return -1;
	if (version != 1)
		return err_set(e, ERR_INVALID,
			       "made by a newer boxery: upgrade this one");
	if (json_get_str(record, "built", &built, e) ||
	    json_get_int(record, "disk_bytes", &disk_len, e) ||
	    check_layers(json_object_get(record, "layers"), e))
		return -1;
	if (disk_len <= 0 || strlen(built) >= sizeof(ret->built))
		return err_set(e, ERR_INVALID, "disk_bytes or built is wrong");
	*ret = (struct image){.disk_len = (uint64_t)disk_len};
	snprintf(ret->built, sizeof(ret->built), "%s", built);
	ret->layers = json_object_get(record, "layers");
	ret->record = TAKE_PTR(record);
	return 0;
}

static char *disk_path(const struct home *h, const char *id)
{
	return alloc_printf("%s/images/%s" SUFFIX, h->data, id);
}

int image_get(const struct home *h, const char *id, struct image *ret,
	      struct err *e)
{
	autofree char *path = disk_path(h, id);
	autofree char *record = alloc_printf("%s.json", path);
	autofree char *text = NULL;
	struct image i;
	size_t len;

	if (strlen(id) >= sizeof(i.id))
		return err_set(e, ERR_INVALID, "image id %s is too long", id);
	if (access(path, F_OK))
		return err_sys(e, "image %s", id);
	if (path_read_file(record, RECORD_CAP, &text, &len, e))
		return -1;
	if (image_parse_record(text, len, &i, e))
		return err_wrap(e, "%s", record);
	snprintf(i.id, sizeof(i.id), "%s", id);
	i.path = TAKE_PTR(path);
	*ret = i;
	return 0;
}

bool image_exists(const struct home *h, const char *id)
{
	autofree char *path = disk_path(h, id);

	return access(path, F_OK) == 0;
}

/* The disk first: what is left of a removal that is cut off is a record
 * without one, which is no image. */
int image_remove(const struct home *h, const char *id, struct err *e)
{
	autofree char *path = disk_path(h, id);
	autofree char *record = alloc_printf("%s.json", path);

	if ((unlink(path) && errno != ENOENT) ||
	    (unlink(record) && errno != ENOENT))
		return err_sys(e, "removing %s", path);
	return 0;
}

bool image_has_layer(const struct image *i, const char *layer)
{
	for (size_t n = 0; n < json_array_size(i->layers); n++) {
		const char *name = json_string_value(
			json_object_get(json_array_get(i->layers, n), "name"));

		if (name && strcmp(name, layer) == 0)
			return true;
	}
	return false;
}

/* -- the folder --------------------------------------------------------------
 */

struct found {
	struct image *images;
	size_t count;
};

static void found_finish(struct found *f)
{
	for (size_t i = 0; i < f->count; i++)
		image_finish(&f->images[i]);
	free(f->images);
}

static int newest_first(const void *a, const void *b)
{
	const struct image *x = a, *y = b;
	int order = strcmp(y->built, x->built);

	return order ? order : strcmp(x->id, y->id);
}

static void add_entry(const struct home *h, const char *name, struct found *f)
{
	size_t len = strlen(name);
	char id[IMAGE_ID_SIZE];
	struct image i;
	struct err e = {0};

	if (name[0] == '.' || len <= strlen(SUFFIX) ||
	    strcmp(name + len - strlen(SUFFIX), SUFFIX) != 0)
		return;
	len -= strlen(SUFFIX);
	if (len >= sizeof(id))
		return;
	snprintf(id, sizeof(id), "%.*s", (int)len, name);
	if (image_get(h, id, &i, &e)) {
		log_debug("image %s is not used: %s", id, err_msg(&e));
		return;
	}
	f->images = alloc_resize(f->images, f->count + 1, sizeof(i));
	f->images[f->count++] = i;
}

int image_list(const struct home *h, image_each_fn *fn, void *ctx,
	       struct err *e)
{
	autofree char *dir = datadir_images(h);
	struct found f = {0};
	DIR *d = opendir(dir);
	int rc = 0;

	if (!d && errno == ENOENT)
		return 0;
	if (!d)
		return err_sys(e, "%s", dir);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's is, per stream */
	for (const struct dirent *at; (at = readdir(d));)
		add_entry(h, at->d_name, &f);
	closedir(d);
	if (f.count)
		qsort(f.images, f.count, sizeof(*f.images), newest_first);
	for (size_t i = 0; i < f.count && rc == 0; i++)
		rc = fn(&f.images[i], ctx, e);
	found_finish(&f);
	return rc;
}

struct old {
	json_t *seen; /* sets of layers, "base-desktop" */
	image_each_fn *fn;
	void *ctx;
};

/* As build-base names an image of these layers, but for the date. */
static char *set_name(const struct image *i)
{
	char *name = alloc_str("");

	/* the first one is in all of them and not asked for by name */
	for (size_t n = 1; n < json_array_size(i->layers); n++) {
		const json_t *layer = json_array_get(i->layers, n);
		char *longer = alloc_printf(
			"%s%s-", name,
			json_string_value(json_object_get(layer, "name")));

		free(name);
		name = longer;
	}
	return name;
}

static int pass_old(struct image *i, void *ctx, struct err *e)
{
	struct old *o = ctx;
	autofree char *name = set_name(i);

	/* one that a person put there by another name stays */
	if (!*name || strncmp(i->id, name, strlen(name)) != 0)
		return 0;
	for (size_t n = 0; n < json_array_size(o->seen); n++) {
		if (strcmp(json_string_value(json_array_get(o->seen, n)),
			   name) == 0)
			return o->fn(i, o->ctx, e);
	}
	json_array_append_new(o->seen, json_string(name));
	return 0;
}

int image_list_old(const struct home *h, image_each_fn *fn, void *ctx,
		   struct err *e)
{
	struct old o = {json_array(), fn, ctx};
	int rc = image_list(h, pass_old, &o, e);

	json_decref(o.seen);
	return rc;
}

static bool is_unfinished(const char *name)
{
	size_t len = strlen(name);

	if (name[0] == '.')
		return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
	return len > strlen(PART) &&
	       strcmp(name + len - strlen(PART), PART) == 0;
}

void image_sweep(const struct home *h)
{
	autofree char *dir = datadir_images(h);
	DIR *d = opendir(dir);

	if (!d)
		return;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's is, per stream */
	for (const struct dirent *at; (at = readdir(d));) {
		if (!is_unfinished(at->d_name))
			continue;
		if (unlinkat(dirfd(d), at->d_name, 0) == 0)
			log_info("removed %s/%s, which was never finished", dir,
				 at->d_name);
		else
			log_warn("%s/%s: %m", dir, at->d_name);
	}
	closedir(d);
}

struct search {
	bool desktop;
	struct image *ret;
	bool found;
};

static int match(struct image *i, void *ctx, struct err *e)
{
	struct search *s = ctx;
	bool fits = s->desktop
			    ? image_has_layer(i, "desktop")
			    : json_array_size(i->layers) == BASE_LAYERS_COUNT;

	(void)e;
	if (s->found || !fits)
		return 0;
	*s->ret = *i;
	*i = (struct image){.path = NULL};
	s->found = true;
	return 0;
}

int image_find(const struct home *h, bool desktop, struct image *ret,
	       struct err *e)
{
	struct search s = {desktop, ret, false};

	if (image_list(h, match, &s, e))
		return -1;
	if (!s.found)
		return err_set(e, ERR_NOT_FOUND,
			       "no guest image: run boxery "
			       "build-base%s",
			       desktop ? "" : " --layers base");
	return 0;
}
