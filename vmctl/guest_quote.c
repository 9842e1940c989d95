/*
 * sshd hands the command line to the user's shell. Every word of ours is put in
 * single quotes, inside which a POSIX shell interprets nothing; a quote itself
 * is written '\''. `exec` makes the program take the shell's place, so that its
 * exit status, and a signal's target, are the program's own.
 */
#include "vmctl/guest_impl.h"

#include "base/limits.h"

#include <ctype.h>
#include <string.h>

static int add_word(struct buf *b, const char *word, struct err *e)
{
	const char *quote;

	if (buf_add_str(b, "'", e) < 0)
		return -1;
	while ((quote = strchr(word, '\''))) {
		if (buf_add(b, word, (size_t)(quote - word), e) < 0 ||
		    buf_add_str(b, "'\\''", e) < 0)
			return -1;
		word = quote + 1;
	}
	return buf_add_str(b, word, e) < 0 ? -1 : buf_add_str(b, "'", e);
}

/* The name stands outside of the quotes. */
static int add_variable(struct buf *b, const char *env, struct err *e)
{
	size_t n = strspn(env, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			       "abcdefghijklmnopqrstuvwxyz0123456789_");

	if (n == 0 || env[n] != '=' || isdigit((unsigned char)env[0]))
		return err_set(
			e, ERR_INVALID,
			"%.*s: an environment variable's name has "
			"letters, digits and _, and starts with no digit",
			(int)strcspn(env, "="), env);
	if (buf_add_str(b, "export ", e) < 0 || buf_add(b, env, n + 1, e) < 0 ||
	    add_word(b, env + n + 1, e) < 0)
		return -1;
	return buf_add_str(b, " && ", e);
}

static int add_all(struct buf *b, const struct guest_exec_opts *o,
		   struct err *e)
{
	if (o->cwd &&
	    (buf_add_str(b, "cd -- ", e) < 0 || add_word(b, o->cwd, e) < 0 ||
	     buf_add_str(b, " && ", e) < 0))
		return -1;
	for (const char *const *v = o->env; v && *v; v++)
		if (add_variable(b, *v, e) < 0)
			return -1;
	/* not every shell's exec knows "--": only where a word needs it */
	if (buf_add_str(b, o->argv[0][0] == '-' ? "exec --" : "exec", e) < 0)
		return -1;
	for (const char *const *a = o->argv; *a; a++)
		if (buf_add_str(b, " ", e) < 0 || add_word(b, *a, e) < 0)
			return -1;
	return 0;
}

int guest_quote_command(const struct guest_exec_opts *o, char **ret,
			struct err *e)
{
	struct buf b;
	struct err err = {0};

	if (!o->argv || !o->argv[0] || !o->argv[0][0])
		return err_set(e, ERR_INVALID, "no program to run was named");
	buf_init(&b, LIMIT_ARG_LEN);
	if (add_all(&b, o, &err) < 0) {
		buf_finish(&b);
		if (err.code == ERR_LIMIT)
			return err_set(
				e, ERR_LIMIT,
				"the command is longer than the %d bytes "
				"that Linux takes; write it to a file in "
				"the guest and run that",
				LIMIT_ARG_LEN);
		if (e)
			*e = err;
		return -1;
	}
	*ret = buf_take(&b);
	buf_finish(&b);
	return 0;
}
