/*
 * Nothing is stored: the text is walked again for each question, which takes
 * a millisecond for tens of thousands of rules. What a rule does with a packet
 * is answered carefully on one side only: when in doubt, it matches and lets
 * the packet pass. A rule is left aside only for a match that surely fails,
 * and a target is harmless only if it is known to be.
 */
#include "vmctl/nettable.h"

#include "base/cleanup.h"
#include "vmctl/subnet.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Chains entered for one question; ahead of libvirt's own hooks there are few,
 * but for one of each other guest. */
#define CHAINS_COUNT 1024
/* Each is a level of recursion. iptables has no loops, the text may. */
#define CHAINS_DEPTH 16
#define ADDRESS_SIZE 64

struct text {
	const char *at;
	size_t len;
};

static bool text_is(struct text t, const char *s)
{
	return strlen(s) == t.len && memcmp(s, t.at, t.len) == 0;
}

/* -- lines ----------------------------------------------------------------- */

static bool next_line(const char **at, struct text *ret)
{
	size_t len = strcspn(*at, "\n");

	if (**at == '\0')
		return false;
	*ret = (struct text){*at, len};
	*at += len + ((*at)[len] == '\n');
	return true;
}

/* "-A CHAIN RULE" */
static bool split_rule(struct text line, struct text *ret_chain,
		       struct text *ret_rule)
{
	const char *space;

	if (line.len < 3 || memcmp(line.at, "-A ", 3) != 0)
		return false;
	line = (struct text){line.at + 3, line.len - 3};
	space = memchr(line.at, ' ', line.len);
	if (!space || space == line.at)
		return false;
	*ret_chain = (struct text){line.at, (size_t)(space - line.at)};
	*ret_rule = (struct text){space + 1, line.len - ret_chain->len - 1};
	return true;
}

static bool next_rule(const char **at, const char *chain, struct text *ret)
{
	struct text line, of;

	while (next_line(at, &line)) {
		if (split_rule(line, &of, ret) && text_is(of, chain))
			return true;
	}
	return false;
}

static bool is_chain(const struct nettable *t, struct text name)
{
	const char *at = t->rules;
	struct text line;

	while (next_line(&at, &line)) {
		if (line.len > name.len + 1 && line.at[0] == ':' &&
		    memcmp(line.at + 1, name.at, name.len) == 0 &&
		    line.at[name.len + 1] == ' ')
			return true;
	}
	return false;
}

static int not_understood(const char *name, unsigned number, struct text line,
			  struct err *e)
{
	char quoted[ERR_QUOTE_SIZE];

	return err_set(e, ERR_PROTOCOL,
		       "the host's packet filter, table %s: line %u is not "
		       "understood: %s",
		       name, number, err_quote(quoted, line.at, line.len));
}

int nettable_parse(const char *text, const char *name, struct nettable *ret,
		   struct err *e)
{
	const char *rules = NULL, *at = text;
	struct text line, chain, rule;

	for (unsigned number = 1; next_line(&at, &line); number++) {
		bool known = line.len == 0 || line.at[0] == '#';

		if (!known && !rules) {
			known = line.at[0] == '*' &&
				text_is((struct text){line.at + 1,
						      line.len - 1},
					name);
			rules = at;
		} else if (!known) {
			known = line.at[0] == ':' || text_is(line, "COMMIT") ||
				split_rule(line, &chain, &rule);
		}
		if (!known)
			return not_understood(name, number, line, e);
	}
	if (!rules)
		return err_set(e, ERR_STATE,
			       "the host's packet filter has no table %s",
			       name);
	*ret = (struct nettable){rules, name};
	return 0;
}

/* -- exactly these rules --------------------------------------------------- */

int nettable_expect(const struct nettable *t, const char *chain,
		    const char *lines, struct err *e)
{
	const char *at = t->rules;
	struct text want, found;
	char quoted[ERR_QUOTE_SIZE];
	unsigned number = 0;

	while (next_line(&lines, &want)) {
		number++;
		if (!next_rule(&at, chain, &found))
			return err_set(e, ERR_STATE,
				       "chain %s of the host's packet filter "
				       "lacks rule %u, \"%.*s\"",
				       chain, number, (int)want.len, want.at);
		if (want.len != found.len ||
		    memcmp(want.at, found.at, want.len) != 0)
			return err_set(
				e, ERR_STATE,
				"chain %s of the host's packet filter: rule %u "
				"must be \"%.*s\", but is %s",
				chain, number, (int)want.len, want.at,
				err_quote(quoted, found.at, found.len));
	}
	if (next_rule(&at, chain, &found))
		return err_set(e, ERR_STATE,
			       "chain %s of the host's packet filter: rule %u "
			       "is not ours: %s",
			       chain, number + 1,
			       err_quote(quoted, found.at, found.len));
	return 0;
}

/* -- words of a rule ------------------------------------------------------- */

/* A comment stands in double quotes, with \ before those in it. */
static bool next_word(struct text *rule, struct text *ret)
{
	const char *end = rule->at + rule->len, *p = rule->at;
	bool quoted;

	while (p < end && *p == ' ')
		p++;
	if (p == end)
		return false;
	ret->at = p;
	quoted = *p == '"';
	for (p += quoted; p < end && *p != (quoted ? '"' : ' '); p++) {
		if (quoted && *p == '\\' && p + 1 < end)
			p++;
	}
	if (quoted && p < end)
		p++;
	ret->len = (size_t)(p - ret->at);
	*rule = (struct text){p, (size_t)(end - p)};
	return true;
}

/* The next word but for free text, which may look like anything. */
static bool next_option(struct text *rule, struct text *ret)
{
	static const char *const free_text[] = {"--comment", "--log-prefix",
						"--nflog-prefix"};
	struct text word;

	while (next_word(rule, ret)) {
		bool is_free = false;

		for (size_t i = 0; i < ARRAY_COUNT(free_text); i++)
			is_free = is_free || text_is(*ret, free_text[i]);
		if (!is_free)
			return true;
		if (!next_word(rule, &word))
			return false;
	}
	return false;
}

/* "vnet+" names all that start so. */
static bool is_interface(struct text pattern, const char *name)
{
	if (pattern.len > 0 && pattern.at[pattern.len - 1] == '+')
		return strncmp(name, pattern.at, pattern.len - 1) == 0;
	return text_is(pattern, name);
}

static bool parse_range(struct text word, struct subnet_range *ret)
{
	char address[ADDRESS_SIZE], *slash;

	if (word.len >= sizeof(address))
		return false;
	memcpy(address, word.at, word.len);
	address[word.len] = '\0';
	slash = strchr(address, '/');
	if (slash)
		*slash++ = '\0';
	return subnet_parse_range(address, slash ? slash : "32", ret);
}

/* -- does a rule match? ---------------------------------------------------- */

/* UNSURE: the rule is not left aside for it, be it negated or not. */
enum answer { NO, YES, UNSURE };
enum kind { INTERFACE, SOURCE, ADDRESS, PROTOCOL, PORTS, STATES, MARKED };

static enum answer in_range(struct text word, const char *address)
{
	struct subnet_range range, one;

	if (!parse_range(word, &range) ||
	    !subnet_parse_range(address, "32", &one))
		return UNSURE;
	return (one.address & range.mask) == (range.address & range.mask) ? YES
									  : NO;
}

/* Is all of a rule's range in one of those? */
static enum answer in_none(struct text word, const char *const *ranges)
{
	struct subnet_range range, other;

	if (!ranges || !parse_range(word, &range))
		return UNSURE;
	for (; *ranges; ranges++) {
		struct text one = {*ranges, strlen(*ranges)};

		if (parse_range(one, &other) &&
		    (range.mask & other.mask) == other.mask &&
		    (range.address & other.mask) == other.address)
			return NO;
	}
	return UNSURE;
}

/* Of a list of states: has it one that a first packet may be in? */
static enum answer takes_first(struct text list)
{
	while (list.len > 0) {
		const char *comma = memchr(list.at, ',', list.len);
		size_t len = comma ? (size_t)(comma - list.at) : list.len;
		struct text one = {list.at, len};

		if (!text_is(one, "ESTABLISHED") && !text_is(one, "RELATED"))
			return UNSURE;
		len += comma != NULL;
		list = (struct text){list.at + len, list.len - len};
	}
	return NO;
}

/* "0x40000/0xff0000". A guest cannot mark a packet: who has rules that do (a
 * VPN's, a cluster's) knows which packets he lets through by them. */
static enum answer takes_unmarked(struct text word)
{
	if (word.len < 3 || memcmp(word.at, "0x", 2) != 0)
		return UNSURE;
	for (size_t i = 2; i < word.len && word.at[i] != '/'; i++) {
		if (word.at[i] != '0')
			return NO;
	}
	return YES;
}

#define PORT_LAST 65535U

/* A number, or the one for none. */
static unsigned take_port(struct text *t, unsigned none)
{
	unsigned port = 0;
	size_t i = 0;

	for (; i < t->len && t->at[i] >= '0' && t->at[i] <= '9' &&
	       port <= PORT_LAST;
	     i++)
		port = port * 10 + (unsigned)(t->at[i] - '0');
	*t = (struct text){t->at + i, t->len - i};
	return i > 0 ? port : none;
}

/* The first of a list: "22", "1024:65535", ":1023", "1024:". */
static bool take_range(struct text *list, unsigned ret[2])
{
	const char *comma = memchr(list->at, ',', list->len);
	size_t len = comma ? (size_t)(comma - list->at) : list->len;
	struct text one = {list->at, len};

	len += comma != NULL;
	*list = (struct text){list->at + len, list->len - len};
	if (one.len == 0)
		return false;
	ret[0] = take_port(&one, 0);
	ret[1] = ret[0];
	if (one.len > 0 && one.at[0] == ':') {
		one = (struct text){one.at + 1, one.len - 1};
		ret[1] = take_port(&one, PORT_LAST);
	}
	return one.len == 0;
}

/* Of a list of ports: does one of the packets' lie in it, do they all? */
static enum answer in_ports(struct text list, const char *ports)
{
	struct text ours = {ports, strlen(ports)};
	enum answer answer = NO;
	unsigned have[2], want[2];

	if (!take_range(&ours, have))
		return UNSURE;
	while (list.len > 0) {
		if (!take_range(&list, want))
			return UNSURE;
		if (want[0] <= have[0] && have[1] <= want[1])
			return YES;
		if (want[0] <= have[1] && have[0] <= want[1])
			answer = UNSURE;
	}
	return answer;
}

static enum answer holds(enum kind kind, struct text word, const char *value,
			 const struct nettable_packet *p)
{
	if (kind == STATES)
		return takes_first(word);
	if (kind == MARKED)
		return takes_unmarked(word);
	if (kind == SOURCE && !value)
		return in_none(word, p->not_src);
	if (!value)
		return UNSURE;
	if (kind == ADDRESS || kind == SOURCE)
		return in_range(word, value);
	if (kind == INTERFACE)
		return is_interface(word, value) ? YES : NO;
	if (kind == PORTS)
		return in_ports(word, value);
	if (word.len > 0 && word.at[0] >= '0' && word.at[0] <= '9')
		return UNSURE; /* a protocol without a name */
	return text_is(word, value) || text_is(word, "all") ? YES : NO;
}

/* "! --ctstate NEW" is not understood: it never fails. */
static bool fails(enum kind kind, bool negated, struct text word,
		  const char *value, const struct nettable_packet *p)
{
	enum answer answer = holds(kind, word, value, p);

	return negated ? kind != STATES && answer == YES : answer == NO;
}

/* Is there a match among the rule's that these packets surely fail? The
 * exclamation mark stands before an option (iptables) or behind it. */
static bool cannot_match(const struct nettable_packet *p, struct text rule)
{
	const struct {
		const char *option;
		enum kind kind;
		const char *value;
	} options[] = {
		{"-i", INTERFACE, p->in},
		{"-o", INTERFACE, p->out},
		{"--physdev-in", INTERFACE, p->port_in},
		{"--physdev-out", INTERFACE, p->port_out},
		{"--logical-in", INTERFACE, p->bridge},
		{"--logical-out", INTERFACE, p->bridge},
		{"-s", SOURCE, p->src},
		{"-d", ADDRESS, p->dst},
		{"-p", PROTOCOL, p->protocol},
		{"--sport", PORTS, p->sports},
		{"--sports", PORTS, p->sports},
		{"--dport", PORTS, p->dports},
		{"--dports", PORTS, p->dports},
		{"--ctstate", STATES, NULL},
		{"--state", STATES, NULL},
		{"--mark", MARKED, NULL},
	};
	bool before = false, after;
	struct text word, value;

	for (; next_option(&rule, &word); before = text_is(word, "!")) {
		size_t i = 0;

		while (i < ARRAY_COUNT(options) &&
		       !text_is(word, options[i].option))
			i++;
		if (i == ARRAY_COUNT(options))
			continue;
		if (!next_word(&rule, &value))
			return false;
		after = text_is(value, "!");
		if (after && !next_word(&rule, &value))
			return false;
		if (fails(options[i].kind, before || after, value,
			  options[i].value, p))
			return true;
	}
	return false;
}

/* -- where a packet goes --------------------------------------------------- */

/* The target, or nothing: such a rule only counts. */
static struct text find_target(struct text rule, bool *ret_goto)
{
	struct text word, target = {"", 0};

	*ret_goto = false;
	while (next_option(&rule, &word)) {
		bool jump = text_is(word, "-j"), go = text_is(word, "-g");

		if ((jump || go) && next_word(&rule, &target))
			*ret_goto = go;
	}
	return target;
}

static bool is_harmless(struct text target)
{
	static const char *const known[] = {
		"",    "DROP",	"REJECT", "CONTINUE",
		"LOG", "NFLOG", "MARK",	  "CONNMARK",
	};

	for (size_t i = 0; i < ARRAY_COUNT(known); i++) {
		if (text_is(target, known[i]))
			return true;
	}
	return false;
}

struct walk {
	const struct nettable *t;
	const struct nettable_packet *p;
	unsigned chains_left;
};

/* May a rule of this chain, which was jumped to, let a packet pass? Depth is
 * bounded: NOLINTNEXTLINE(misc-no-recursion) */
static bool chain_passes(struct walk *w, struct text name, unsigned depth)
{
	const char *at = w->t->rules;
	struct text line, chain, rule;

	if (depth == 0 || w->chains_left == 0 || !is_chain(w->t, name))
		return true;
	w->chains_left--;
	while (next_line(&at, &line)) {
		struct text target;
		bool gone;

		if (!split_rule(line, &chain, &rule) ||
		    chain.len != name.len ||
		    memcmp(chain.at, name.at, name.len) != 0 ||
		    cannot_match(w->p, rule))
			continue;
		/* from here RETURN and the end of a chain both lead back */
		target = find_target(rule, &gone);
		if (!is_harmless(target) && !text_is(target, "RETURN") &&
		    chain_passes(w, target, depth - 1))
			return true;
	}
	return false;
}

int nettable_reaches(const struct nettable *t, const struct nettable_packet *p,
		     const char *chain, const char *rule, struct err *e)
{
	struct walk w = {t, p, CHAINS_COUNT};
	const char *at = t->rules;
	char quoted[ERR_QUOTE_SIZE];
	struct text found;

	for (unsigned number = 1; next_rule(&at, chain, &found); number++) {
		struct text target;
		bool gone;

		if (text_is(found, rule))
			return 0;
		if (!p || cannot_match(p, found))
			continue;
		/* RETURN and a goto would lead past our rule */
		target = find_target(found, &gone);
		if (is_harmless(target) ||
		    (!gone && !chain_passes(&w, target, CHAINS_DEPTH)))
			continue;
		return err_set(e, ERR_STATE,
			       "chain %s of the host's packet filter: rule %u, "
			       "%s, may let packets past \"%s\"",
			       chain, number,
			       err_quote(quoted, found.at, found.len), rule);
	}
	return err_set(e, ERR_STATE,
		       "chain %s of the host's packet filter lacks \"%s\"",
		       chain, rule);
}
