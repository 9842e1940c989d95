#include "ops/refused.h"

#include "base/alloc.h"
#include "base/path.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

struct folder {
	char *path; /* real as far as it exists */
	dev_t dev;
	ino_t ino;
	bool exists;
};

struct refused {
	struct folder *folders;
	size_t count;
};

static void add(struct refused *r, const char *path)
{
	char *real = path_real(path);
	struct folder *f;
	struct stat st;

	r->folders =
		alloc_resize(r->folders, r->count + 1, sizeof(*r->folders));
	f = &r->folders[r->count++];
	*f = (struct folder){.path = real ? real : alloc_str(path)};
	if (stat(path, &st) == 0) {
		f->dev = st.st_dev;
		f->ino = st.st_ino;
		f->exists = true;
	}
}

static void add_below_home(struct refused *r, const char *home_dir)
{
	static const char *const names[] = {
		".ssh",
		".gnupg",
		".pi",
		".config/boxery",
		".local/state/boxery",
	};

	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		autofree char *path = path_join(home_dir, names[i]);

		add(r, path);
	}
}

struct refused *refused_new(const struct home *h)
{
	const char *env_home = secure_getenv("HOME");
	autofree char *pw_home = home_by_password();
	struct refused *r = ALLOC_NEW(struct refused);

	add(r, h->config);
	add(r, h->state);
	add(r, h->data);
	add(r, h->run);
	if (pw_home)
		add_below_home(r, pw_home);
	if (env_home && env_home[0] == '/')
		add_below_home(r, env_home);
	return r;
}

void refused_free(struct refused *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++)
		free(r->folders[i].path);
	free(r->folders);
	free(r);
}

const char *refused_dir(const struct refused *r, int dir_fd)
{
	autofree char *path = NULL;
	struct stat st;

	if (fstat(dir_fd, &st) != 0)
		return NULL;
	for (size_t i = 0; i < r->count; i++) {
		const struct folder *f = &r->folders[i];

		if (f->exists && f->dev == st.st_dev && f->ino == st.st_ino)
			return f->path;
	}
	path = path_of_fd(dir_fd);
	return path ? refused_beneath(r, path) : NULL;
}

struct search {
	const struct refused *refused;
	const char *found;
};

static int is_refused(int fd, void *ctx)
{
	struct search *s = ctx;

	s->found = refused_dir(s->refused, fd);
	return s->found ? 1 : 0;
}

int refused_above(const struct refused *r, int dir_fd, const char **ret_dir,
		  struct err *e)
{
	struct search s = {.refused = r};

	if (path_each_above(dir_fd, is_refused, &s, e) < 0)
		return -1;
	*ret_dir = s.found;
	return 0;
}

const char *refused_name(const struct refused *r, const char *path)
{
	for (size_t i = 0; i < r->count; i++) {
		if (strcmp(path, r->folders[i].path) == 0)
			return r->folders[i].path;
	}
	return NULL;
}

const char *refused_beneath(const struct refused *r, const char *path)
{
	for (size_t i = 0; i < r->count; i++) {
		if (path_is_beneath(path, r->folders[i].path))
			return r->folders[i].path;
	}
	return NULL;
}
