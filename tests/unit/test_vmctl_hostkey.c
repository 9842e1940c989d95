#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/path.h"
#include "vmctl/hostkey.h"
#include "vmctl/sshconfig.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CAP (64 * 1024)
#define KEY68                                                                  \
	"AAAAC3NzaC1lZDI1NTE5AAAAIFGvcC1ptkp9FY6iURu8g93247L3lm5s7a1nMt7co+mC"

#define RSA68                                                                  \
	"AAAAC3NzaC1lZDI1NTE4AAAAIFGvcC1ptkp9FY6iURu8g93247L3lm5s7a1nMt7co+mC"
#define SHORT68                                                                \
	"AAAAC3NzaC1lZDI1NTE5AAAAH1GvcC1ptkp9FY6iURu8g93247L3lm5s7a1nMt7co+mC"

static struct home make_home(void)
{
	struct home h = {0};
	struct err e = {0};

	assert_ok(home_init(&h, unit_dir(), &e), &e);
	assert_ok(home_make_dirs(&h, &e), &e);
	return h;
}

static mode_t mode_of(const struct home *h, const char *rel)
{
	autofree char *path = path_join(h->config, rel);
	struct stat st;

	return stat(path, &st) ? 0 : st.st_mode & 07777;
}

/* D08, D10, D14: made on the host, one line, fresh each time. */
static void create(void **state)
{
	struct home h = make_home();
	struct hostkey a = {0}, b = {0};
	autofree char *line = NULL;
	struct err e = {0};

	(void)state;
	assert_ok(hostkey_create(&h, "demo", &a, &e), &e);
	assert_ok(hostkey_read(&h, "demo", &line, &e), &e);
	assert_string_equal(line, a.host_public);
	assert_int_equal(mode_of(&h, "host-keys"), 0700);
	assert_int_equal(mode_of(&h, "host-keys/demo"), 0600);
	assert_int_equal(mode_of(&h, "keys/demo"), 0600);
	assert_string_not_equal(a.host_public, a.client_public);
	assert_memory_equal(secret_bytes(a.host_private), "-----BEGIN OPENSSH",
			    18);
	assert_ok(hostkey_create(&h, "demo", &b, &e), &e);
	assert_string_not_equal(a.host_public, b.host_public);
	assert_string_not_equal(a.client_public, b.client_public);
	hostkey_finish(&a);
	hostkey_finish(&b);
	home_finish(&h);
}

/* D16 */
static void removal(void **state)
{
	struct home h = make_home();
	struct hostkey k = {0};
	autofree char *line = NULL;
	struct err e = {0};

	(void)state;
	assert_ok(hostkey_create(&h, "demo", &k, &e), &e);
	hostkey_finish(&k);
	assert_ok(hostkey_remove(&h, "demo", &e), &e);
	assert_int_equal(mode_of(&h, "host-keys/demo"), 0);
	assert_int_equal(mode_of(&h, "keys/demo"), 0);
	assert_int_equal(mode_of(&h, "keys/demo.pub"), 0);
	assert_fails(hostkey_read(&h, "demo", &line, &e), &e, ERR_NOT_FOUND,
		     "");
	assert_ok(hostkey_remove(&h, "demo", &e), &e);
	home_finish(&h);
}

static void lines(void **state)
{
	static const struct {
		const char *line;
		bool good;
	} cases[] = {
		{"ssh-ed25519 " KEY68, true},
		{"ssh-ed25519 " KEY68 " boxery-demo", true},
		{"ssh-ed25519 " KEY68 "A", false},
		{"ssh-ed25519 " KEY68 "\nssh-ed25519 " KEY68, false},
		{"ssh-ed25519 " KEY68 " a\nb", false},
		{"ssh-ed25519 AAAA", false},
		/* the length of one, but of another type, or of 31 bytes */
		{"ssh-ed25519 " RSA68, false},
		{"ssh-ed25519 " SHORT68, false},
		{"ssh-rsa " KEY68, false},
		{"* ssh-ed25519 " KEY68, false},
		{"", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct err e = {0};

		assert_int_equal(hostkey_check_line(cases[i].line, &e) == 0,
				 cases[i].good);
	}
}

/* What a guest said becomes a pin without its comment, or not at all. */
static void pin(void **state)
{
	static const char *const bad[] = {"", "ssh-ed25519 " SHORT68,
					  "ssh-ed25519 " KEY68 " a\n* " KEY68};
	struct home h = make_home();
	autofree char *line = NULL, *same = NULL;
	struct err e = {0};

	(void)state;
	assert_ok(hostkey_pin(&h, "demo", "ssh-ed25519 " KEY68 " root@\xc3\xb6",
			      &e),
		  &e);
	assert_ok(hostkey_read(&h, "demo", &line, &e), &e);
	assert_string_equal(line, "ssh-ed25519 " KEY68 " boxery-demo");
	assert_int_equal(mode_of(&h, "host-keys/demo"), 0600);
	for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
		assert_fails(hostkey_pin(&h, "demo", bad[i], &e), &e,
			     ERR_INVALID, "");
	assert_ok(hostkey_read(&h, "demo", &same, &e), &e);
	assert_string_equal(same, line);
	home_finish(&h);
}

/* As ssh-keygen -l shows it. */
static void fingerprint(void **state)
{
	static const char line[] = "ssh-ed25519 " KEY68 " c";
	char text[HOSTKEY_FINGERPRINT_SIZE];
	struct err e = {0};

	(void)state;
	assert_ok(hostkey_fingerprint(line, text, &e), &e);
	assert_string_equal(text,
			    "SHA256:Mo8ijCoYTeMXgsQ+oaTBm+RlopsgkDkSKMe5iCzjPpg");
	assert_fails(hostkey_fingerprint("ssh-ed25519 " SHORT68, text, &e), &e,
		     ERR_INVALID, "");
	assert_true(hostkey_same(line, "ssh-ed25519 " KEY68));
	assert_false(hostkey_same(line, line + 1));
	assert_false(hostkey_same("", ""));
}

/* A pin that was tampered with is no pin. */
static void bad_pin(void **state)
{
	static const char two[] = "ssh-ed25519 " KEY68 "\nssh-ed25519 " KEY68
				  "\n";
	struct home h = make_home();
	autofree char *path = path_join(h.config, "host-keys/demo");
	autofree char *line = NULL;
	struct hostkey k = {0};
	struct err e = {0};
	struct buf out;

	(void)state;
	assert_ok(hostkey_create(&h, "demo", &k, &e), &e);
	hostkey_finish(&k);
	assert_ok(path_write_file(path, two, strlen(two), 0600, &e), &e);
	assert_fails(hostkey_read(&h, "demo", &line, &e), &e, ERR_INVALID,
		     "host-keys/demo");
	buf_init(&out, CAP);
	assert_fails(sshconfig_known_hosts(&h, "boxery-demo", &out, &e), &e,
		     ERR_INVALID, "");
	assert_int_equal(out.len, 0);
	buf_finish(&out);
	home_finish(&h);
}

/* D11, D18 */
static void known_hosts(void **state)
{
	static const char *const none[] = {
		"boxery-other", "demo",	    "boxery-",	  "boxery-../keys/demo",
		"boxery-Demo",	"[demo]:2", "192.0.2.1", "",
	};
	struct home h = make_home();
	autofree char *want = NULL;
	struct hostkey k = {0};
	struct err e = {0};
	struct buf out;

	(void)state;
	assert_ok(hostkey_create(&h, "demo", &k, &e), &e);
	want = alloc_printf("boxery-demo %s\n", k.host_public);
	hostkey_finish(&k);
	buf_init(&out, CAP);
	assert_ok(sshconfig_known_hosts(&h, "boxery-demo", &out, &e), &e);
	assert_string_equal(out.data, want);
	for (size_t i = 0; i < ARRAY_COUNT(none); i++) {
		buf_reset(&out);
		assert_ok(sshconfig_known_hosts(&h, none[i], &out, &e), &e);
		assert_int_equal(out.len, 0);
	}
	buf_finish(&out);
	home_finish(&h);
}

static bool has_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	for (const char *at = text; (at = strstr(at, line)); at++) {
		if ((at == text || at[-1] == '\n' || at[-1] == '\t') &&
		    (at[len] == '\n' || at[len] == '\0'))
			return true;
	}
	return false;
}

/* D11, D12 */
static void config(void **state)
{
	static const char *const wanted[] = {
		"Host boxery-demo demo",
		"HostName 10.0.0.2",
		"HostKeyAlias boxery-demo",
		"IdentityFile \"/c 100%%/keys/demo\"",
		("KnownHostsCommand \"/b/boxery-host\" --home \"/h 1\" "
		 "known-hosts %H"),
		"StrictHostKeyChecking yes",
		"HostKeyAlgorithms ssh-ed25519",
		"UserKnownHostsFile /dev/null",
		"GlobalKnownHostsFile /dev/null",
		"IdentitiesOnly yes",
		"IdentityAgent none",
		"ForwardAgent no",
		"ForwardX11 no",
	};
	struct home h = {.config = alloc_str("/c 100%"),
			 .relocated = alloc_str("/h 1")};
	const struct sshconfig_host hosts[] = {{"demo", "10.0.0.2"}};
	struct err e = {0};
	struct buf out;

	(void)state;
	buf_init(&out, CAP);
	assert_ok(sshconfig_format(&h, "/b/boxery-host", hosts, 1, &out, &e),
		  &e);
	for (size_t i = 0; i < ARRAY_COUNT(wanted); i++) {
		if (!has_line(out.data, wanted[i]))
			fail_msg("no line: %s in\n%s", wanted[i], out.data);
	}
	assert_null(strstr(out.data, "SendEnv"));
	buf_reset(&out);
	free(h.config);
	h.config = alloc_str("/c\"\nProxyCommand evil");
	assert_fails(sshconfig_format(&h, "/b/x", hosts, 1, &out, &e), &e,
		     ERR_INVALID, "quotes");
	buf_finish(&out);
	free(h.config);
	free(h.relocated);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(create),  cmocka_unit_test(removal),
	cmocka_unit_test(lines),   cmocka_unit_test(pin),
	cmocka_unit_test(fingerprint), cmocka_unit_test(bad_pin),
	cmocka_unit_test(known_hosts), cmocka_unit_test(config),
};
UNIT_MAIN(tests)
