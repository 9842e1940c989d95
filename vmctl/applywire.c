/*
 * The guest's side is one script for sh(1) and coreutils, so that any image
 * will do. Nothing in it runs with more rights than the grants' user has, and
 * whatever that user put in its way (a link where a folder should be, a file at
 * a target) ends it with a word that says so, or is left as it is.
 *
 * In the guest's memory, /run/user/UID/boxery-grants (0700): env/NAME and
 * files/NAME, link/ID, each 0400; timers: processes that remove what ends. On
 * its disk, only while there are links, ~/.boxery-links/ID: where the link is,
 * and the folders that were made for it. So links can be removed whose content
 * went with a reboot.
 */
#include "vmctl/applywire.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/secret.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char applywire_script[] =
	"set -u; umask 077; export LC_ALL=C\n"
	"u=$(id -u); r=/run/user/$u; d=$r/boxery-grants; m=$HOME/.boxery-links\n"
	"nl='\n'\n"
	"die() { echo \"no * $1\"; exit 0; }\n"
	/* -O: our own; a link could lead out of memory */
	"own() { [ -d \"$1\" ] && [ ! -L \"$1\" ] && [ -O \"$1\" ]; }\n"
	/* forget FILE: the link made for link/ID, and the folders made for it */
	"unlink_for() {\n"
	"  [ -f \"$m/$1\" ] || return 0\n"
	"  n=0\n"
	"  while IFS= read -r x; do\n"
	"    n=$((n + 1))\n"
	"    if [ $n -gt 1 ]; then rmdir -- \"$x\" 2>/dev/null\n"
	"    elif [ -L \"$x\" ] && "
	"[ \"$(readlink -- \"$x\")\" = \"$d/link/$1\" ]; then rm -f -- \"$x\"\n"
	"    fi\n"
	"  done <\"$m/$1\"\n"
	"  rm -f -- \"$m/$1\"; rmdir -- \"$m\" 2>/dev/null\n"
	"}\n"
	"held=$nl; go=\n"
	"while IFS= read -r line; do\n"
	"  case $line in\n"
	"  'hold '*) held=$held${line#hold }$nl ;;\n"
	"  go) go=1; break ;;\n"
	"  *) die garbled ;;\n"
	"  esac\n"
	"done\n"
	"[ \"$go\" ] || die garbled\n"
	"keep() { case $held in *\"$nl$1$nl\"*) return 0 ;; esac; return 1; }\n"
	"unlink_all() {\n"
	"  for f in \"$d\"/link/* \"$m\"/*; do\n"
	"    [ -e \"$f\" ] || [ -L \"$f\" ] || continue\n"
	"    id=${f##*/}; keep \"link/$id\" && continue\n"
	"    rm -rf -- \"$d/link/$id\" || die stuck\n"
	"    unlink_for \"$id\"\n"
	"  done\n"
	"}\n"
	/* it comes with the user's manager, after sshd */
	"if [ ! -e \"$r\" ] && [ \"$held\" = \"$nl\" ]; then\n"
	"  unlink_all; echo done; exit 0\n"
	"fi\n"
	"i=0\n"
	"while ! own \"$r\" && [ $i -lt 40 ] &&\n"
	"  [ \"$(cut -d. -f1 /proc/uptime)\" -lt 300 ]; do\n"
	"  sleep 0.5; i=$((i + 1))\n"
	"done\n"
	"own \"$r\" || die norun\n"
	"for x in \"$d\" \"$d/env\" \"$d/files\" \"$d/link\"; do\n"
	"  mkdir \"$x\" 2>/dev/null\n"
	"  own \"$x\" || die occupied\n"
	"  [ \"$(stat -f -c %T \"$x\")\" = tmpfs ] || die disk\n"
	"  chmod 700 \"$x\" || die occupied\n"
	"done\n"
	"old=$(cat \"$d/timers\" 2>/dev/null)\n"
	"for f in \"$d\"/env/* \"$d\"/env/.[!.]* \"$d\"/files/* "
	"\"$d\"/files/.[!.]*; do\n"
	"  [ -e \"$f\" ] || [ -L \"$f\" ] || continue\n"
	"  k=${f#\"$d\"/}; case $k in files/*) k=file/${k#files/} ;; esac\n"
	"  keep \"$k\" || rm -rf -- \"$f\" || die stuck\n"
	"done\n"
	"unlink_all\n"
	"put() {\n" /* FILE: from here on it has the value, or nothing has it */
	"  if [ \"$len\" = keep ]; then\n"
	"    [ -f \"$1\" ] && [ ! -L \"$1\" ] && return 0\n"
	"    echo \"no $id novalue\"; return 1\n"
	"  fi\n"
	"  rm -rf -- \"$d/part\"\n"
	"  head -c \"$len\" >\"$d/part\" 2>/dev/null\n"
	"  if [ \"$(wc -c <\"$d/part\" 2>/dev/null)\" != \"$len\" ]; then\n"
	/* how much of it was read is not known: no telling what comes next */
	"    rm -f -- \"$d/part\"; rm -rf -- \"$1\"; die full\n"
	"  fi\n"
	"  if [ -d \"$1\" ]; then rm -rf -- \"$1\"; fi\n"
	"  chmod 400 \"$d/part\" && mv -fT -- \"$d/part\" \"$1\" && return 0\n"
	"  rm -f -- \"$d/part\"; echo \"no $id stuck\"; return 1\n"
	"}\n"
	"place() {\n" /* TARGET: a link there to link/ID */
	"  t=$1; case $t in '~/'*) t=$HOME/${t#??} ;; esac\n"
	"  if [ -L \"$t\" ]; then\n"
	"    case $(readlink -- \"$t\") in\n"
	"    \"$d\"/link/\"$id\") return 0 ;;\n"
	"    \"$d\"/link/*) ;;\n"
	"    *) echo \"no $id taken\"; return 1 ;;\n"
	"    esac\n"
	"  elif [ -e \"$t\" ]; then echo \"no $id taken\"; return 1\n"
	"  fi\n"
	"  made=; p=${t%/*}\n"
	"  while [ -n \"$p\" ] && [ ! -e \"$p\" ] && [ ! -L \"$p\" ]; do\n"
	"    made=$made$p$nl; p=${p%/*}\n"
	"  done\n"
	"  mkdir -p -- \"$m\" 2>/dev/null\n"
	"  if own \"$m\" && rm -rf -- \"$m/$id\" &&\n"
	"    printf '%s\\n%s' \"$t\" \"$made\" 2>/dev/null >\"$m/$id\" &&\n"
	"    mkdir -p -- \"${t%/*}\" 2>/dev/null &&\n"
	"    ln -sfT -- \"$d/link/$id\" \"$t\" 2>/dev/null; then return 0; fi\n"
	"  unlink_for \"$id\"; echo \"no $id place\"; return 1\n"
	"}\n"
	"new=\n"
	"expire() {\n" /* SECONDS FILE ID: without us, and after us */
	"  [ \"$1\" = 0 ] && return 0\n"
	"  setsid sh -c 'sleep \"$1\"; rm -f -- \"$2\"; "
	"if [ -f \"$3\" ]; then IFS= read -r t <\"$3\"; "
	"[ \"$(readlink -- \"$t\")\" = \"$2\" ] && rm -f -- \"$t\"; fi' "
	"boxery-grant-timer \"$1\" \"$2\" \"$m/$3\" "
	"</dev/null >/dev/null 2>&1 &\n"
	"  new=$new$!$nl\n"
	"}\n"
	"end=\n"
	"while IFS= read -r line; do\n"
	"  [ \"$line\" = end ] && { end=1; break; }\n"
	"  case $line in 'item '*) ;; *) die garbled ;; esac\n"
	"  line=${line#item }; id=${line%% *}; line=${line#* }\n"
	"  kind=${line%% *}; line=${line#* }; left=${line%% *}; line=${line#* }\n"
	"  len=${line%% *}; name=${line#* }\n"
	"  case $kind in\n"
	"  env) f=$d/env/$name ;;\n"
	"  file) f=$d/files/$name ;;\n"
	"  *) f=$d/link/$id ;;\n"
	"  esac\n"
	"  put \"$f\" || continue\n"
	"  if [ \"$kind\" = link ] && ! place \"$name\"; then\n"
	"    rm -f -- \"$f\"; continue\n"
	"  fi\n"
	"  expire \"$left\" \"$f\" \"$id\"\n"
	"  echo \"ok $id\"\n"
	"done\n"
	"[ \"$end\" ] || die garbled\n"
	"for p in $old; do\n"
	"  case $p in *[!0-9]*) continue ;; esac\n"
	"  tr '\\0' ' ' <\"/proc/$p/cmdline\" 2>/dev/null |\n"
	"    grep -q ' boxery-grant-timer ' && kill -- \"-$p\" 2>/dev/null\n"
	"done\n"
	"printf %s \"$new\" >\"$d/timers\" 2>/dev/null\n"
	"echo done\n";

static const char *const kinds[] = {
	[APPLYWIRE_ENV] = "env",
	[APPLYWIRE_FILE] = "file",
	[APPLYWIRE_LINK] = "link",
};

/* -- out --------------------------------------------------------------------- */

static int print_hold(struct buf *out, const struct applywire_item *i,
		      struct err *e)
{
	return buf_printf(out, e, "hold %s/%s\n", kinds[i->kind],
			  i->kind == APPLYWIRE_LINK ? i->id : i->name);
}

static int print_item(struct buf *out, const struct applywire_item *i,
		      struct err *e)
{
	char len[24] = "keep";

	if (i->value)
		snprintf(len, sizeof(len), "%zu", secret_len(i->value));
	if (buf_printf(out, e, "item %s %s %" PRId64 " %s %s\n", i->id,
		       kinds[i->kind], i->left_s, len, i->name))
		return -1;
	return i->value ? buf_add(out, secret_const_bytes(i->value),
				  secret_len(i->value), e)
			: 0;
}

int applywire_print(struct buf *out, const struct applywire_item *items,
		    size_t count, struct err *e)
{
	for (size_t i = 0; i < count; i++) {
		if (print_hold(out, &items[i], e))
			return -1;
	}
	if (buf_add_str(out, "go\n", e))
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (print_item(out, &items[i], e))
			return -1;
	}
	return buf_add_str(out, "end\n", e);
}

/* -- in ---------------------------------------------------------------------- */

/* The script's words, and what we make of them. */
static const char *sentence(const char *word, size_t len)
{
	static const struct {
		const char *word, *text;
	} words[] = {
		{"norun", "the guest has no /run/user folder of its user"},
		{"disk", "/run/user of the guest is not in memory"},
		{"occupied", "something else of the guest is where boxery "
			     "keeps what is granted (/run/user/UID/"
			     "boxery-grants)"},
		{"full", "the guest's memory for it is full"},
		{"stuck", "the guest does not let it be replaced"},
		{"garbled", "the guest was cut off from us"},
		{"novalue", "its value is not in the file env of boxery's "
			    "configuration; or grant it again from a shell "
			    "that has the variable"},
		{"taken", "the guest has something else at that place: remove "
			  "it there, or grant file:PATH=>TARGET with another"},
		{"place", "the guest cannot make a link at that place"},
	};

	for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
		if (strlen(words[i].word) == len &&
		    memcmp(words[i].word, word, len) == 0)
			return words[i].text;
	}
	return NULL;
}

static int say_garbled(struct err *e)
{
	return err_set(e, ERR_PROTOCOL,
		       "what the guest answered is no answer of ours");
}

static struct applywire_item *find(struct applywire_item *items, size_t count,
				   const char *id, size_t len)
{
	for (size_t i = 0; i < count; i++) {
		if (strlen(items[i].id) == len &&
		    memcmp(items[i].id, id, len) == 0)
			return &items[i];
	}
	return NULL;
}

static int parse_line(const char *line, size_t len,
		      struct applywire_item *items, size_t count,
		      struct err *e)
{
	bool ok = len > 3 && memcmp(line, "ok ", 3) == 0;
	const char *id = line + 3, *end = line + len, *word = NULL;
	const char *why = NULL;
	struct applywire_item *i;

	if (!ok && (len <= 3 || memcmp(line, "no ", 3) != 0))
		return say_garbled(e);
	if (!ok) {
		word = memchr(id, ' ', (size_t)(end - id));
		if (!word)
			return say_garbled(e);
		why = sentence(word + 1, (size_t)(end - word - 1));
		if (!why)
			return say_garbled(e);
		end = word;
	}
	if (!ok && end - id == 1 && *id == '*')
		return err_set(e, ERR_STATE, "%s", why);
	i = find(items, count, id, (size_t)(end - id));
	if (!i || i->ok || i->why)
		return say_garbled(e);
	i->ok = ok;
	i->why = why;
	return 0;
}

int applywire_parse(const char *text, size_t len, struct applywire_item *items,
		    size_t count, struct err *e)
{
	while (len > 0) {
		const char *nl = memchr(text, '\n', len);
		size_t n = nl ? (size_t)(nl - text) : len;

		if (!nl)
			return say_garbled(e);
		if (n == 4 && memcmp(text, "done", n) == 0)
			return len == n + 1 ? 0 : say_garbled(e);
		if (parse_line(text, n, items, count, e))
			return -1;
		text += n + 1;
		len -= n + 1;
	}
	return say_garbled(e);
}
