#include "vmctl/copy_look.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "vmctl/guest.h"

#include <string.h>

static char *safe_path(const char *path)
{
	return alloc_printf("%s%s", *path == '/' ? "" : "./", path);
}

int copy_look_target(const struct copy_side *s, const char *path,
		     struct copy_look *ret, struct err *e)
{
	static const char script[] =
		"K=-\n"
		"if [ -d \"$1\" ]; then K=d\n"
		"elif [ -f \"$1\" ] || [ -L \"$1\" ]; then K=f\n"
		"elif [ -e \"$1\" ]; then K='?'; fi\n"
		"case $(tar --version 2>/dev/null) in\n"
		"*'GNU tar'*) T=T ;; *) T=- ;; esac\n"
		"echo \"$K$T\"\n";
	autofree char *safe = safe_path(path);
	const char *const argv[] = {"sh", "-c", script, "sh", safe, NULL};
	struct guest_exit how = {0};
	struct buf out;
	const struct guest_run run = {
		.argv = argv, .out = &out, .cancel_fd = s->cancel_fd};
	int rc;

	buf_init(&out, 64);
	rc = guest_run(s->guest, &run, s->deadline, &how, e);
	if (rc == 0 && (out.len != 3 || !strchr("df?-", out.data[0])))
		rc = err_set(e, ERR_PROTOCOL,
			     "%s: its sh does not work (status %d)", s->vm,
			     how.status);
	if (rc == 0)
		*ret = (struct copy_look){.kind = out.data[0],
					  .tar = out.data[1] == 'T'};
	buf_finish(&out);
	return rc;
}

/* How many bytes honest answers may take: a name has its line with numbers. */
static size_t answer_len(const struct buf *names)
{
	size_t count = 0;

	for (size_t i = 0; i < names->len; i++)
		count += names->data[i] == '\0';
	return names->len + count * 128 + 1;
}

static int take_answers(const struct buf *out, copy_look_fn *fn, void *ctx,
			struct err *e)
{
	size_t at = 0;

	while (at < out->len) {
		struct copytext_stat st;
		size_t used;

		if (copytext_stat(out->data + at, out->len - at, &st, &used,
				  e) != 0)
			return -1;
		/* "./" was put in front */
		if (strncmp(st.path, "./", 2) != 0)
			return err_set(e, ERR_PROTOCOL,
				       "the guest tells of files that were "
				       "not asked for");
		st.path += 2;
		if (fn(ctx, &st, e) != 0)
			return -1;
		at += used;
	}
	return 0;
}

int copy_look_status(const struct copy_side *s, const char *dir,
		     const struct buf *names, copy_look_fn *fn, void *ctx,
		     struct err *e)
{
	/* stat complains of each name that is not there: that is the answer */
	static const char script[] =
		"cd \"$1\" 2>/dev/null || { test -d \"$1\" && exit 8; exit 9; }\n"
		"xargs -0 -r stat --printf '" COPYTEXT_STAT "' -- 2>/dev/null\n"
		"exit 0\n";
	autofree char *safe = safe_path(dir);
	const char *const argv[] = {"env",  "LC_ALL=C", "sh", "-c",
				    script, "sh",	safe, NULL};
	struct guest_exit how = {0};
	struct buf out;
	const struct guest_run run = {.argv = argv,
				      .in = names->data,
				      .in_len = names->len,
				      .out = &out,
				      .cancel_fd = s->cancel_fd};
	int rc;

	buf_init(&out, answer_len(names));
	rc = guest_run(s->guest, &run, s->deadline, &how, e);
	if (rc == 0 && how.status == 8)
		rc = err_set(e, ERR_DENIED, "%s: permission denied", dir);
	else if (rc == 0 && how.status != 0)
		rc = err_set(e, ERR_NOT_FOUND, "%s: no such directory", dir);
	if (rc == 0)
		rc = take_answers(&out, fn, ctx, e);
	buf_finish(&out);
	return rc;
}
