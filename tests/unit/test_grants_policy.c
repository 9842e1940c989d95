/* F15 to F20, for every front-end. */
#include "tests/support/tree.h"
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "grants/policy.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct home home;

/*
 *	T/home		$HOME: .ssh, .pi, .gnupg not made yet
 *	T/home/work	good files, and links to everywhere
 *	T/bx		boxery's own folders
 */
static int set_up(void **state)
{
	(void)state;
	tree_dir(unit_path("home"), 0755);
	tree_dir(unit_path("home/.ssh"), 0700);
	tree_dir(unit_path("home/.ssh/deep"), 0700);
	tree_text(unit_path("home/.ssh/id"), "canary-key");
	tree_text(unit_path("home/.ssh/deep/id"), "canary-key");
	tree_dir(unit_path("home/.pi"), 0700);
	tree_text(unit_path("home/.pi/auth.json"), "canary-key");
	tree_dir(unit_path("home/work"), 0755);
	tree_text(unit_path("home/work/plain"), "content");
	tree_text(unit_path("home/work/empty"), "");
	tree_text(unit_path("home/work/a→b"), "arrow");
	tree_link(unit_path("home/work/link"), "plain");
	tree_link(unit_path("home/work/arrow"), "a→b");
	tree_dir(unit_path("home/work/a→"), 0755);
	tree_text(unit_path("home/work/a→/b"), "arrow");
	tree_link(unit_path("home/work/arrow2"), "a→/b");
	tree_link(unit_path("home/work/key"), "../.ssh/id");
	tree_link(unit_path("home/work/ssh"), "../.ssh");
	tree_link(unit_path("home/work/gnupg"), "../.gnupg");
	tree_link(unit_path("home/work/nowhere"), "missing");
	tree_dir(unit_path("bx"), 0700);
	tree_dir(unit_path("bx/config"), 0700);
	tree_text(unit_path("bx/config/tokens.json"), "canary-key");
	tree_dir(unit_path("bx/state"), 0700);
	tree_text(unit_path("bx/state/boxery.db"), "canary-key");
	home = (struct home){
		.config = alloc_str(unit_path("bx/config")),
		.state = alloc_str(unit_path("bx/state")),
		.data = alloc_str(unit_path("bx/data")),
		.run = alloc_str(unit_path("bx/run")),
	};
	return setenv("HOME", unit_path("home"), 1);
}

static int tear_down(void **state)
{
	(void)state;
	free(home.config);
	free(home.state);
	free(home.data);
	free(home.run);
	return 0;
}

/* Checks one grant of that text, @ standing for the case's folder. *ret_text
 * is what it became (free()), NULL when refused. */
static int check(const char *text, const struct policy_ask *a, char **ret_text,
		 struct err *e)
{
	const char *at = strchr(text, '@');
	autofree char *whole = at ? alloc_printf("%.*s%s%s", (int)(at - text),
						 text, unit_dir(), at + 1)
				  : alloc_str(text);
	json_t *texts = json_pack("[s]", whole);
	struct grantset set = {0};
	struct terms none = {0};
	int rc = grantset_parse(texts, &set, e);

	assert_ok(rc, e);
	rc = policy_check(a, &set, &none, e);
	*ret_text = rc == 0 ? grant_print(&set.grants[0]) : NULL;
	grantset_finish(&set);
	json_decref(texts);
	return rc;
}

static const struct {
	const char *text, *want; /* want: with @; NULL: refused */
	enum err_code code;
	const char *why;
} files[] = {
	{"file:@/home/work/plain", "file:@/home/work/plain", 0, NULL},
	{"file:~/work/plain→/etc/x", "file:@/home/work/plain→/etc/x", 0, NULL},
	{"file:~/work/link", "file:@/home/work/plain", 0, NULL}, /* F19 */
	{"file:~/work/empty", "file:@/home/work/empty", 0, NULL},
	/* F16, F18 */
	{"file:~/.ssh/id", NULL, ERR_DENIED, ".ssh is ever granted"},
	{"file:~/.ssh/deep/id", NULL, ERR_DENIED, ".ssh is ever"},
	{"file:~/.ssh/missing", NULL, ERR_DENIED, ".ssh is ever"},
	{"file:~/.ssh/missing/x", NULL, ERR_DENIED, ".ssh is ever"},
	{"file:~/.ssh", NULL, ERR_DENIED, ".ssh is ever"},
	{"file:~/.pi/auth.json", NULL, ERR_DENIED, ".pi is ever"},
	{"file:~/.gnupg/x", NULL, ERR_DENIED, ".gnupg is ever"},
	{"file:~/.config/boxery/env", NULL, ERR_DENIED, "boxery is ever"},
	{"file:@/bx/config/tokens.json", NULL, ERR_DENIED, "config is ever"},
	{"file:@/bx/state/boxery.db", NULL, ERR_DENIED, "state is ever"},
	{"file:@/bx/data/x", NULL, ERR_DENIED, "data is ever"},
	{"file:@/bx/run/host.sock", NULL, ERR_DENIED, "run is ever"},
	{"file:~/work/key", NULL, ERR_DENIED, ".ssh is ever"},
	{"file:~/work/ssh/id", NULL, ERR_DENIED, ".ssh is ever"},
	{"file:~/work/gnupg/id", NULL, ERR_DENIED, ".gnupg is ever"},
	/* no file */
	{"file:~/work/missing", NULL, ERR_NOT_FOUND, "work/missing"},
	{"file:~/work/nowhere", NULL, ERR_NOT_FOUND, "work/missing"},
	{"file:~/work/arrow", NULL, ERR_INVALID, "no grant: file: target b"},
	{"file:~/work/arrow→/t", NULL, ERR_INVALID, "two arrows"},
	{"file:~/work/arrow2", NULL, ERR_INVALID, "holds an arrow"},
	{"file:~/work", NULL, ERR_INVALID, "must be a regular file"},
	{"file:@/home/work/fifo", NULL, ERR_INVALID, "must be a regular file"},
	{"file:@/home/work/socket", NULL, ERR_INVALID, "regular file"},
	{"file:/dev/null", NULL, ERR_INVALID, "must be a regular file"},
	{"file:/proc/self/environ", NULL, ERR_INVALID, "regular file"},
	{"file:/proc/1/status", NULL, ERR_INVALID, "regular file"},
	{"file:/sys/kernel/notes", NULL, ERR_INVALID, "regular file"},
	{"file:@/home/work/large", NULL, ERR_LIMIT, "boxery cp"},
};

static void file_rules(void **state)
{
	int sock = -1;
	struct err se = {0};

	(void)state;
	assert_int_equal(mkfifo(unit_path("home/work/fifo"), 0600), 0);
	sock = fd_unix_listen(unit_path("home/work/socket"), &se);
	assert_true(sock >= 0);
	tree_text(unit_path("home/work/large"), "");
	assert_int_equal(truncate(unit_path("home/work/large"),
				  LIMIT_GRANT_FILE_LEN + 1),
			 0);
	for (int agent = 0; agent <= 1; agent++) {
		struct policy_ask a = {.home = &home, .agent = agent};

		for (size_t i = 0; i < ARRAY_COUNT(files); i++) {
			autofree char *got = NULL;
			struct err e = {0};
			int rc = check(files[i].text, &a, &got, &e);

			if (!files[i].want) {
				if (rc == 0)
					fail_msg("granted: %s", files[i].text);
				assert_fails(rc, &e, files[i].code,
					     files[i].why);
				continue;
			}
			assert_ok(rc, &e);
			const char *at = strchr(files[i].want, '@');
			autofree char *want =
				alloc_printf("file:%s%s", unit_dir(), at + 1);
			assert_string_equal(got, want);
		}
	}
	close(sock);
}

static const struct {
	const char *text;
	bool agent, with_cmd;
	enum err_code code; /* 0: allowed */
	const char *why;
} others[] = {
	{"env:TOKEN", true, false, 0, NULL},
	{"env:MY_BOXERY_X", true, false, 0, NULL},
	{"env:BOXERY", true, false, 0, NULL},
	{"env:BOXERY_TOKEN", true, false, ERR_DENIED, "boxery's own"},
	{"env:BOXERY_", false, false, ERR_DENIED, "boxery's own"}, /* F18 */
	{"env:LD_PRELOAD", true, false, ERR_DENIED, "programs of the VM"},
	{"env:PATH", false, false, ERR_DENIED, "the VM sets it itself"},
	{"env:SSH_AUTH_SOCK", true, false, ERR_DENIED, "grant ssh-agent"},
	{"http:api", true, false, 0, NULL},
	{"http:api", false, true, 0, NULL},
	{"http:api", true, true, ERR_DENIED, "an agent cannot ask"}, /* F15 */
	{"llm:openai", false, true, ERR_INVALID, "belongs to http:"},
	{"llm:openai", true, false, 0, NULL},
	{"github:a/b", true, false, 0, NULL},
	{"ssh-agent", true, false, 0, NULL},
};

static void other_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
		struct policy_ask a = {&home, others[i].agent,
				       others[i].with_cmd};
		autofree char *got = NULL;
		struct err e = {0};
		int rc = check(others[i].text, &a, &got, &e);

		if (others[i].code) {
			assert_fails(rc, &e, others[i].code, others[i].why);
			continue;
		}
		assert_ok(rc, &e);
		assert_string_equal(got, others[i].text);
	}
}

/* Two names of one file are one grant; uses of a file cannot be counted. */
static void whole_requests(void **state)
{
	struct policy_ask a = {.home = &home};
	struct terms terms = {0};
	struct grantset set = {0};
	struct err e = {0};
	json_t *texts =
		json_pack("[s, s]", "file:~/work/link", "file:~/work/plain");

	(void)state;
	assert_ok(grantset_parse(texts, &set, &e), &e);
	assert_ok(policy_check(&a, &set, &terms, &e), &e);
	assert_int_equal(set.count, 1);
	terms.uses = 3;
	assert_fails(policy_check(&a, &set, &terms, &e), &e, ERR_INVALID,
		     "uses of file");
	grantset_finish(&set);
	json_decref(texts);
}

static void values(void **state)
{
	autofree char *large = alloc_zero(LIMIT_GRANT_ENV_LEN + 2);
	struct err e = {0};

	(void)state;
	memset(large, 'x', LIMIT_GRANT_ENV_LEN + 1);
	assert_ok(policy_check_value("A", "", 0, &e), &e);
	assert_ok(policy_check_value("A", "a\nb\xff", 4, &e), &e);
	assert_ok(policy_check_value("A", large, LIMIT_GRANT_ENV_LEN, &e), &e);
	assert_fails(
		policy_check_value("A", large, LIMIT_GRANT_ENV_LEN + 1, &e), &e,
		ERR_LIMIT, "env:A");
	assert_fails(policy_check_value("A", "canary\0b", 8, &e), &e,
		     ERR_INVALID, "NUL");
	assert_null(strstr(e.msg, "canary"));
}

static void reads(void **state)
{
	auto_secret struct secret *s = NULL;
	struct err e = {0};

	(void)state;
	assert_ok(policy_read_file(&home, unit_path("home/work/plain"), &s, &e),
		  &e);
	assert_int_equal(secret_len(s), strlen("content"));
	assert_memory_equal(secret_const_bytes(s), "content",
			    strlen("content"));
	secret_free(s);
	s = NULL;
	assert_ok(policy_read_file(&home, unit_path("home/work/empty"), &s, &e),
		  &e);
	assert_int_equal(secret_len(s), 0);
}

/* F20: since it was stored, the path came to lead elsewhere. */
static void repointed(void **state)
{
	struct err e = {0};
	struct secret *s = NULL;

	(void)state;
	/* the file itself, and a folder on the way */
	assert_int_equal(unlink(unit_path("home/work/plain")), 0);
	tree_link(unit_path("home/work/plain"), "../.ssh/id");
	assert_fails(
		policy_read_file(&home, unit_path("home/work/plain"), &s, &e),
		&e, ERR_DENIED, "symbolic link");
	assert_int_equal(rename(unit_path("home/work"), unit_path("home/w")),
			 0);
	tree_link(unit_path("home/work"), ".ssh");
	assert_fails(policy_read_file(&home, unit_path("home/work/id"), &s, &e),
		     &e, ERR_DENIED, "symbolic link");
	/* a path that now lies in a refused folder though no link leads on */
	assert_fails(policy_read_file(&home, unit_path("home/.ssh/id"), &s, &e),
		     &e, ERR_DENIED, ".ssh is ever granted");
	assert_null(s);
}

struct racer {
	char *plain, *aside, *folder, *link;
	atomic_int stop;
};

/* Swaps the file for a link to the key, and its folder for one to ~/.ssh. */
static void *race(void *arg)
{
	struct racer *r = arg;

	while (!r->stop) {
		syscall(SYS_renameat2, AT_FDCWD, r->plain, AT_FDCWD, r->aside,
			RENAME_EXCHANGE);
		syscall(SYS_renameat2, AT_FDCWD, r->folder, AT_FDCWD, r->link,
			RENAME_EXCHANGE);
		syscall(SYS_renameat2, AT_FDCWD, r->folder, AT_FDCWD, r->link,
			RENAME_EXCHANGE);
	}
	return NULL;
}

/* F20: never the key, whatever is moved meanwhile. */
static void races(void **state)
{
	struct racer r = {
		.plain = alloc_str(unit_path("home/work/id")),
		.aside = alloc_str(unit_path("home/work/other")),
		.folder = alloc_str(unit_path("home/work")),
		.link = alloc_str(unit_path("home/swap")),
	};
	autofree char *path = alloc_str(r.plain);
	unsigned good = 0;
	unsigned bad = 0;
	pthread_t thread;

	(void)state;
	tree_text(r.plain, "content");
	tree_link(r.aside, "../.ssh/id");
	tree_link(r.link, ".ssh");
	assert_int_equal(pthread_create(&thread, NULL, race, &r), 0);
	/* on a busy machine until both happened */
	for (int i = 0; i < 10000 || (i < 500000 && !(good && bad)); i++) {
		auto_secret struct secret *s = NULL;
		struct err e = {0};

		if (policy_read_file(&home, path, &s, &e) < 0) {
			bad++;
			continue;
		}
		good++;
		if (secret_len(s) != strlen("content") ||
		    memcmp(secret_const_bytes(s), "content",
			   strlen("content")) != 0) {
			r.stop = 1;
			pthread_join(thread, NULL);
			fail_msg("round %d leaked", i);
		}
	}
	r.stop = 1;
	pthread_join(thread, NULL);
	printf("read %u times, refused %u times\n", good, bad);
	assert_true(good > 0 && bad > 0);
	free(r.plain);
	free(r.aside);
	free(r.folder);
	free(r.link);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
static const struct CMUnitTest tests[] = {
	TEST(file_rules), TEST(other_rules), TEST(whole_requests), TEST(values),
	TEST(reads),	  TEST(repointed),   TEST(races),
};
UNIT_MAIN(tests)
