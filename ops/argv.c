#include "ops/argv.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>

/* longer words are no typing errors */
#define WORD_LEN 32
#define SUGGEST_DISTANCE 2

const struct argv_option argv_options[ARGV_OPTION_COUNT] = {
	[ARGV_JSON] = {"json", 0, NULL, "Print the result as JSON"},
	[ARGV_QUIET] = {"quiet", 'q', NULL, "Show no progress"},
	[ARGV_OUTPUT] = {"output", 'o', "FILE",
			 "Write the image there instead of to standard output"},
	[ARGV_YES] = {"yes", 'y', NULL,
		      "Run the command that needs root without asking"},
	[ARGV_HOME] = {"home", 0, "DIR",
		       "Keep everything of boxery's below DIR; stands for "
		       "BOXERY_HOME"},
	[ARGV_CLIENT] = {"client", 0, "NAME",
			 "Name this client, for the audit and its jobs; cli "
			 "by default"},
	[ARGV_HELP] = {"help", 'h', NULL, "Explain the command"},
	[ARGV_VERSION] = {"version", 0, NULL, "Print the version"},
};

bool argv_option_applies(enum argv_option_id id, const struct op *op)
{
	switch (id) {
	case ARGV_OUTPUT:
		/* the others have an image only where an agent asks for it */
		return op && op->result == OP_RESULT_IMAGE &&
		       !op_param_find(op, "screenshot");
	case ARGV_YES:
		return op && (strcmp(op->name, "init") == 0 ||
			      strcmp(op->name, "upgrade") == 0);
	case ARGV_VERSION:
		return !op;
	case ARGV_JSON:
	case ARGV_QUIET:
	case ARGV_HOME:
	case ARGV_CLIENT:
	case ARGV_HELP:
	case ARGV_OPTION_COUNT:
	default:
		return true;
	}
}

bool argv_offers(const struct op_param *p)
{
	return !(p->flags & (OP_MCP_ONLY | OP_FILLED));
}

/* ---- the front-end's own options
 * ---------------------------------------------- */

static void set_front(struct argv_front *f, enum argv_option_id id,
		      const char *value)
{
	switch (id) {
	case ARGV_JSON:
		f->json = true;
		break;
	case ARGV_QUIET:
		f->quiet = true;
		break;
	case ARGV_OUTPUT:
		f->output = value;
		break;
	case ARGV_YES:
		f->yes = true;
		break;
	case ARGV_HOME:
		f->home = value;
		break;
	case ARGV_CLIENT:
		f->client = value;
		break;
	case ARGV_HELP:
		f->help = true;
		break;
	case ARGV_VERSION:
		f->version = true;
		break;
	case ARGV_OPTION_COUNT:
		break;
	}
}

/* "--name" or "--name=value": is word that option? *ret_value: NULL when it is
 * not in the word. */
static bool is_option(const char *word, const char *name,
		      const char **ret_value)
{
	size_t len = strlen(name);

	if (strncmp(word, "--", 2) != 0 || strncmp(word + 2, name, len) != 0)
		return false;
	if (word[2 + len] != '\0' && word[2 + len] != '=')
		return false;
	*ret_value = word[2 + len] ? word + 3 + len : NULL;
	return true;
}

/* Words used by a front-end option at argv[0], 0 when it is none, -1. */
static int take_front(const struct op *op, int argc, char *const argv[],
		      struct argv_front *f, struct err *e)
{
	for (int i = 0; i < ARGV_OPTION_COUNT; i++) {
		const struct argv_option *o = &argv_options[i];
		const char short_form[] = {'-', o->letter, '\0'};
		const char *value = NULL;
		int used = 1;

		if (!argv_option_applies((enum argv_option_id)i, op) ||
		    (!is_option(argv[0], o->name, &value) &&
		     !(o->letter && strcmp(argv[0], short_form) == 0)))
			continue;
		if (!o->value && value)
			return err_set(e, ERR_INVALID, "--%s takes no value",
				       o->name);
		if (o->value && !value) {
			if (argc < 2)
				return err_set(e, ERR_INVALID,
					       "--%s needs a value: %s",
					       o->name, o->value);
			value = argv[1];
			used = 2;
		}
		set_front(f, (enum argv_option_id)i, value);
		return used;
	}
	return 0;
}

int argv_parse_front(int argc, char *const argv[], struct argv_front *f,
		     struct err *e)
{
	int at = 0;

	while (at < argc && argv[at][0] == '-' && argv[at][1]) {
		int used = take_front(NULL, argc - at, argv + at, f, e);

		if (used < 0)
			return -1;
		if (used == 0)
			return err_set(e, ERR_INVALID,
				       "%s: unknown option (boxery --help "
				       "lists them)",
				       argv[at]);
		at += used;
	}
	return at;
}

/* ---- values
 * ---------------------------------------------------------------------- */

static json_t *text_value(const char *text, struct err *e)
{
	json_t *v = json_string(text);

	if (!v)
		err_set(e, ERR_INVALID, "\"%.64s\" is not valid UTF-8", text);
	return v;
}

/* "10,20" as [10, 20]; what is no number stays text for validate_args(). */
static json_t *numbers_value(const char *text, struct err *e)
{
	auto_json json_t *list = json_array();
	const char *at = text;

	for (;;) {
		size_t len = strcspn(at, ",");
		json_t *v = json_stringn(at, len);

		if (!v) {
			err_set(e, ERR_INVALID, "\"%.64s\" is not valid UTF-8",
				text);
			return NULL;
		}
		json_array_append_new(list, v);
		if (!at[len])
			return TAKE_PTR(list);
		at += len + 1;
	}
}

/* Points in one word are separated by blanks. */
static int add_points(json_t *list, const char *text, struct err *e)
{
	while (*text) {
		size_t len = strcspn(text, " \t\n");
		autofree char *word = alloc_strn(text, len);
		json_t *point;

		if (len > 0) {
			point = numbers_value(word, e);
			if (!point)
				return -1;
			json_array_append_new(list, point);
		}
		text += len;
		text += strspn(text, " \t\n");
	}
	return 0;
}

/* A path of this computer needs no prefix; "VM:PATH" is one word with no slash
 * before its colon. */
static json_t *endpoint_value(const char *text, struct err *e)
{
	size_t len = strcspn(text, ":/");
	autofree char *local = NULL;

	if (len > 0 && text[len] == ':')
		return text_value(text, e);
	local = alloc_printf("local:%s", text);
	return text_value(local, e);
}

static int add_env(json_t *object, const char *text, struct err *e)
{
	const char *equal = strchr(text, '=');
	autofree char *name = NULL;
	json_t *v;

	if (!equal)
		return err_set(e, ERR_INVALID, "%s: must be NAME=VALUE", text);
	name = alloc_strn(text, (size_t)(equal - text));
	v = text_value(equal + 1, e);
	if (!v)
		return -1;
	/* a name that is not UTF-8 cannot be set */
	if (json_object_set_new(object, name, v) != 0)
		return err_set(e, ERR_INVALID, "%s: is no variable name", name);
	return 0;
}

/* The list or object that repeated values are gathered in. */
static json_t *gathered(json_t *args, const struct op_param *p)
{
	json_t *v = json_object_get(args, p->name);

	if (!v) {
		v = p->type == OP_ENV ? json_object() : json_array();
		json_object_set_new(args, p->name, v);
	}
	return v;
}

static int add_value(json_t *args, const struct op_param *p, const char *text,
		     struct err *e)
{
	json_t *v;

	switch (p->type) {
	case OP_ENV:
		return add_env(gathered(args, p), text, e);
	case OP_POINTS:
		return add_points(gathered(args, p), text, e);
	case OP_STRINGS:
		v = text_value(text, e);
		if (!v)
			return -1;
		return json_array_append_new(gathered(args, p), v);
	case OP_POINT:
	case OP_REGION:
		v = numbers_value(text, e);
		break;
	case OP_ENDPOINT:
		v = endpoint_value(text, e);
		break;
	case OP_STEPS: /* agents only */
	case OP_STRING:
	case OP_TEXT:
	case OP_VM:
	case OP_NEW_VM:
	case OP_PATH:
	case OP_INT:
	case OP_SIZE:
	case OP_NUMBER:
	case OP_BOOL:
	case OP_ENUM:
	case OP_KEY:
	case OP_LAYERS:
	default:
		v = text_value(text, e);
		break;
	}
	if (!v)
		return -1;
	if (json_object_get(args, p->name)) {
		json_decref(v);
		return err_set(e, ERR_INVALID, "was given twice");
	}
	return json_object_set_new(args, p->name, v);
}

/* ---- words
 * ------------------------------------------------------------------------ */

struct words {
	const struct op *op;
	struct argv_front *front;
	json_t *args;
	const struct op_param *next; /* positional to fill; NULL: none left */
};

static const struct op_param *positional_from(const struct op_param *p)
{
	while (p->name && (!(p->flags & OP_POSITIONAL) || !argv_offers(p)))
		p++;
	return p->name ? p : NULL;
}

static const struct op_param *rest_of(const struct op *op)
{
	for (const struct op_param *p = op->params; p->name; p++) {
		if ((p->flags & OP_REST) && argv_offers(p))
			return p;
	}
	return NULL;
}

/* Words used by a parameter's option at argv[0], 0 when it is none, -1. */
static int take_param(struct words *w, int argc, char *const argv[],
		      struct err *e)
{
	for (const struct op_param *p = w->op->params; p->name; p++) {
		autofree char *name = alloc_str(p->name);
		autofree char *negated = NULL;
		const char *value = NULL;
		int used = 1;

		if (!argv_offers(p) || (p->flags & OP_REST))
			continue;
		for (char *c = name; *c; c++)
			*c = *c == '_' ? '-' : *c;
		negated = alloc_printf("no-%s", name);
		if (p->type == OP_BOOL && is_option(argv[0], negated, &value) &&
		    !value) {
			value = "false";
		} else if (!is_option(argv[0], name, &value)) {
			continue;
		} else if (!value && p->type == OP_BOOL) {
			value = "true";
		} else if (!value) {
			if (argc < 2)
				return err_set(e, ERR_INVALID,
					       "--%s needs a value", name);
			value = argv[1];
			used = 2;
		}
		if (add_value(w->args, p, value, e) != 0)
			return err_wrap(e, "--%s", name);
		return used;
	}
	return 0;
}

static int take_option(struct words *w, int argc, char *const argv[],
		       struct err *e)
{
	int used = take_front(w->op, argc, argv, w->front, e);

	if (used == 0)
		used = take_param(w, argc, argv, e);
	if (used == 0)
		return err_set(e, ERR_INVALID,
			       "%s: unknown option (boxery help %s)", argv[0],
			       w->op->verb);
	return used;
}

/* A word by place; how many words it takes. */
static int take_word(struct words *w, int argc, char *const argv[],
		     struct err *e)
{
	const struct op_param *rest = rest_of(w->op);

	if (w->next) {
		const struct op_param *p = w->next;

		if (add_value(w->args, p, argv[0], e) != 0)
			return err_wrap(e, "%s", p->name);
		/* these go on for as many words as there are */
		if (p->type != OP_POINTS && p->type != OP_STRINGS)
			w->next = positional_from(p + 1);
		return 1;
	}
	if (!rest)
		return err_set(e, ERR_INVALID,
			       "\"%s\" is one word too many (boxery help %s)",
			       argv[0], w->op->verb);
	for (int i = 0; i < argc; i++) {
		if (add_value(w->args, rest, argv[i], e) != 0)
			return err_wrap(e, "word %d", i + 1);
	}
	return argc;
}

int argv_parse(const struct op *op, int argc, char *const argv[],
	       struct argv_front *f, json_t **ret_args, struct err *e)
{
	auto_json json_t *args = json_object();
	struct words w = {.op = op,
			  .front = f,
			  .args = args,
			  .next = positional_from(op->params)};
	bool options = true;
	int at = 0;

	while (at < argc && !f->help) {
		const char *word = argv[at];
		int used;

		if (options && strcmp(word, "--") == 0) {
			options = false;
			used = 1;
		} else if (options && word[0] == '-' && word[1]) {
			used = take_option(&w, argc - at, argv + at, e);
		} else {
			used = take_word(&w, argc - at, argv + at, e);
		}
		if (used < 0)
			return -1;
		at += used;
	}
	*ret_args = TAKE_PTR(args);
	return 0;
}

/* ---- what was meant
 * ----------------------------------------------------------------- */

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

/* Insertions, deletions and substitutions between two words. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[WORD_LEN + 1];
	size_t n = strlen(b);

	if (strlen(a) > WORD_LEN || n > WORD_LEN)
		return WORD_LEN;
	for (size_t j = 0; j <= n; j++)
		row[j] = (unsigned)j;
	for (size_t i = 0; a[i]; i++) {
		unsigned corner = row[0];

		row[0] = (unsigned)i + 1;
		for (size_t j = 0; j < n; j++) {
			unsigned above = row[j + 1];

			row[j + 1] = min3(above + 1, row[j] + 1,
					  corner + (a[i] != b[j]));
			corner = above;
		}
	}
	return row[n];
}

const char *argv_suggest(const char *word)
{
	const char *best = NULL;
	unsigned best_distance = SUGGEST_DISTANCE + 1;

	for (unsigned i = 0; op_at(i); i++) {
		const struct op *op = op_at(i);
		unsigned d;

		if (!op->verb)
			continue;
		d = distance(word, op->verb);
		/* the tool's name is a fair guess, and so is its bare form */
		if (strcmp(word, op->name) == 0 ||
		    (strncmp(op->name, "vm_", 3) == 0 &&
		     strcmp(word, op->name + 3) == 0))
			d = 0;
		/* of short words everything is near */
		if (d < best_distance && d < strlen(word)) {
			best = op->verb;
			best_distance = d;
		}
	}
	return best;
}
