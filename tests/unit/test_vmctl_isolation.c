/* What is believed of a machine's port, and what is done about one that is
 * open. The backend is one of words; the chains' own check is netfilter's. */
#include "tests/support/unit.h"

#include "base/db.h"
#include "vmctl/backend.h"
#include "vmctl/isolation.h"
#include "vmctl/machines.h"
#include "vmctl/netwatch.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* -- a backend --------------------------------------------------------------- */

struct fake {
	struct backend b;
	const struct machine_port *ports; /* one a look; the last stays */
	unsigned count, at;
	atomic_int cut_id;
	int cut_rc;
	unsigned inits;
	void (*lost)(void *ctx);
	void *lost_ctx;
};

static int port(struct backend *b, const char *name, struct machine_port *ret,
		struct err *e)
{
	struct fake *f = (struct fake *)b;

	(void)name;
	(void)e;
	*ret = f->ports[f->at];
	if (f->at + 1 < f->count)
		f->at++;
	return 0;
}

static int cut(struct backend *b, const char *name, int id, struct err *e)
{
	(void)name;
	(void)e;
	((struct fake *)b)->cut_id = id;
	return ((struct fake *)b)->cut_rc;
}

static int init(struct backend *b, struct err *e)
{
	(void)e;
	((struct fake *)b)->inits++;
	return 0;
}

static void on_lost(struct backend *b, void (*lost)(void *ctx), void *ctx)
{
	struct fake *f = (struct fake *)b;

	f->lost = lost;
	f->lost_ctx = ctx;
}

static const struct backend_ops fake_ops = {
	.init = init, .port = port, .cut = cut, .on_lost = on_lost};

#define MAC "52:54:f2:75:7a:02"

static const struct machine_port good = {
	.id = 7,
	.count = 1,
	.dev = "vnet0",
	.mac = MAC,
	.filter = "boxery-guest-isolation",
	.address = "192.168.122.2",
	.gateway = "192.168.122.1",
	.on_network = true,
	.bridge = "virbr0",
	.host = "192.168.122.1",
	.applied = true,
	.filter_is_ours = true,
};
static const struct machine_port open_port = {
	.id = 7, .count = 1, .dev = "vnet0", .mac = MAC};

/* -- a service with one record ----------------------------------------------- */

static void begin(struct service *s, struct fake *f)
{
	struct err e = {0};

	*s = (struct service){.backend = &f->b};
	f->b.ops = &fake_ops;
	assert_ok(home_init(&s->home, unit_dir(), &e), &e);
	assert_ok(home_make_dirs(&s->home, &e), &e);
	assert_ok(db_open(s->home.db, registry_migrations, &s->db, &e), &e);
	assert_ok(registry_new(s->db, &s->registry, &e), &e);
	s->machines = machines_new(s);
	assert_ok(db_exec(s->db, &e,
			  "INSERT INTO vm VALUES ('demo', 'ready', 'u', ?1, "
			  "'192.168.122.2', '0:cli', 'small', 1, 1, 1, 'img', "
			  "'[]', 1, 1, 'nat', 1, '')",
			  "s", MAC),
		  &e);
}

static void end(struct service *s)
{
	machines_free(s->machines);
	registry_free(s->registry);
	db_close(s->db);
	home_finish(&s->home);
}

static void set_env(const struct service *s, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/host.env", s->home.config);
	f = fopen(path, "we");
	assert_non_null(f);
	(void)fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* -- tests ------------------------------------------------------------------- */

/* B27 */
static void setting(void **state)
{
	static const struct {
		const char *text;
		int wanted; /* -1: an error */
	} cases[] = {
		{"", 1},
		{"BOXERY_NET_ISOLATION=on\n", 1},
		{"BOXERY_NET_ISOLATION=off\n", 0},
		/* a typing error must not open anything */
		{"BOXERY_NET_ISOLATION=0\n", -1},
		{"BOXERY_NET_ISOLATION=\n", -1},
		{"BOXERY_NET_ISOLATION\n", -1},
	};
	struct fake f = {.ports = &good, .count = 1};
	struct service s;

	(void)state;
	begin(&s, &f);
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct err e = {0};
		bool wanted = false;
		int rc;

		set_env(&s, cases[i].text);
		rc = isolation_wanted(&s.home, &wanted, &e);
		if (cases[i].wanted < 0) {
			assert_fails(rc, &e, ERR_INVALID, "host.env");
			continue;
		}
		assert_ok(rc, &e);
		assert_int_equal(wanted, cases[i].wanted);
	}
	end(&s);
}

static enum isolation look_at(struct service *s, const struct machine_port *p,
			      const struct vm_record *v, struct err *ret_why)
{
	struct fake *f = (struct fake *)s->backend;
	struct isolation_look look;
	struct err e = {0};

	f->ports = p;
	f->count = 1;
	f->at = 0;
	assert_ok(isolation_look(s, v, NULL, &look, &e), &e);
	*ret_why = look.why;
	return look.is;
}

#define BUT(member, ...)                                  \
	({                                                \
		struct machine_port p_ = good;            \
		struct err why_ = {0};                    \
		p_.member = __VA_ARGS__;                  \
		assert_int_equal(look_at(&s, &p_, &v, &why_), \
				 ISOLATION_WRONG);        \
		assert_int_equal(why_.code, ERR_STATE);   \
	})
#define BUT_TEXT(member, text)                                 \
	({                                                     \
		struct machine_port p_ = good;                 \
		struct err why_ = {0};                         \
		snprintf(p_.member, sizeof(p_.member), "%s", text);  \
		assert_int_equal(look_at(&s, &p_, &v, &why_),  \
				 ISOLATION_WRONG);             \
		assert_int_equal(why_.code, ERR_STATE);        \
	})

/* Each thing that libvirt says counts. */
static void said(void **state)
{
	const struct machine_port off = {.id = 0};
	struct fake f = {.ports = &good, .count = 1};
	struct vm_record v;
	struct service s;
	struct err e = {0};

	(void)state;
	begin(&s, &f);
	assert_ok(registry_get(s.registry, "demo", &v, &e), &e);
	assert_int_equal(look_at(&s, &good, &v, &e), ISOLATION_UNVERIFIED);
	assert_int_equal(look_at(&s, &off, &v, &e), ISOLATION_IDLE);
	BUT(count, 2);
	BUT(on_network, false);
	BUT(applied, false);
	BUT(filter_is_ours, false);
	BUT_TEXT(filter, "clean-traffic");
	BUT_TEXT(filter, "boxery-guest-none");
	BUT_TEXT(mac, "52:54:f2:75:7a:03");
	BUT_TEXT(address, "192.168.122.3");
	BUT_TEXT(address, "");
	BUT_TEXT(gateway, "0.0.0.0");
	v.network = NET_NONE;
	assert_int_equal(look_at(&s, &good, &v, &e), ISOLATION_WRONG);
	vm_record_finish(&v);
	end(&s);
}

/* B26, B28: without a filter, and why. */
static void open_ones(void **state)
{
	struct fake f = {.ports = &good, .count = 1};
	struct vm_record v;
	struct service s;
	struct err e = {0};

	(void)state;
	begin(&s, &f);
	assert_ok(registry_get(s.registry, "demo", &v, &e), &e);
	/* it was booted behind one: somebody took it away */
	assert_int_equal(look_at(&s, &open_port, &v, &e), ISOLATION_WRONG);
	v.filtered = false;
	assert_int_equal(look_at(&s, &open_port, &v, &e), ISOLATION_LATER);
	set_env(&s, "BOXERY_NET_ISOLATION=off\n");
	assert_int_equal(look_at(&s, &open_port, &v, &e), ISOLATION_OFF);
	vm_record_finish(&v);
	end(&s);
}

/* Chains that cannot be read, for whatever reason, are not wrong ones. */
static void unreadable(void **state)
{
	struct isolation_chains chains = {.readable = true};
	struct fake f = {.ports = &good, .count = 1};
	struct isolation_look look;
	struct vm_record v;
	struct service s;
	struct err e = {0};
	char none[] = "", other[] = "table ip nat {";

	(void)state;
	begin(&s, &f);
	assert_ok(registry_get(s.registry, "demo", &v, &e), &e);
	chains.r.ebtables = other;
	chains.r.iptables = other;
	assert_ok(isolation_look(&s, &v, &chains, &look, &e), &e);
	assert_int_equal(look.is, ISOLATION_UNVERIFIED);
	assert_non_null(strstr(look.why.msg, "not understood"));
	chains.r.ebtables = none;
	assert_ok(isolation_look(&s, &v, &chains, &look, &e), &e);
	assert_int_equal(look.is, ISOLATION_WRONG);
	vm_record_finish(&v);
	end(&s);
}

static void expect_stopped(struct service *s, const char *want)
{
	struct vm_record v;
	struct err e = {0};

	assert_ok(registry_get(s->registry, "demo", &v, &e), &e);
	if (*want)
		assert_non_null(strstr(v.stopped, want));
	else
		assert_string_equal(v.stopped, "");
	vm_record_finish(&v);
}

/* libvirt takes a filter down and builds it anew: that alone ends nobody. */
static void enforcing(void **state)
{
	const struct machine_port mends[] = {
		open_port, {.id = 0}, {.id = 0}};
	const struct machine_port other_boot[] = {
		open_port,
		{.id = 8, .count = 1, .dev = "vnet1", .mac = MAC},
		{.id = 0}};
	struct fake f = {.ports = mends, .count = 3};
	struct service s;
	struct err e = {0};

	(void)state;
	begin(&s, &f);
	assert_ok(isolation_enforce(&s, "demo", &e), &e);
	assert_int_equal(f.cut_id, 0);
	f.ports = other_boot;
	f.at = 0;
	assert_ok(isolation_enforce(&s, "demo", &e), &e);
	assert_int_equal(f.cut_id, 0);
	expect_stopped(&s, "");
	f.ports = &open_port;
	f.count = 1;
	f.at = 0;
	/* somebody else ended it first: not our doing */
	f.cut_rc = 1;
	assert_fails(isolation_enforce(&s, "demo", &e), &e, ERR_STATE,
		     "went off meanwhile");
	expect_stopped(&s, "");
	f.cut_rc = 0;
	assert_fails(isolation_enforce(&s, "demo", &e), &e, ERR_STATE,
		     "demo was stopped");
	assert_int_equal(f.cut_id, 7);
	expect_stopped(&s, "filter is gone");
	end(&s);
}

/* An upgrade brings other rules: that ends nobody either. */
static void another_filter(void **state)
{
	struct machine_port other = good;
	struct machine_port seen[2] = {good, good};
	struct fake f = {.ports = seen, .count = 2};
	struct service s;
	struct err e = {0};

	(void)state;
	other.filter_is_ours = false;
	seen[0] = other;
	begin(&s, &f);
	assert_ok(isolation_enforce(&s, "demo", &e), &e);
	assert_int_equal(f.inits, 1);
	assert_int_equal(f.cut_id, 0);
	expect_stopped(&s, "");
	/* once; and then it counts */
	f.ports = &other;
	f.count = 1;
	f.at = 0;
	assert_fails(isolation_enforce(&s, "demo", &e), &e, ERR_STATE,
		     "is not boxery's");
	assert_int_equal(f.inits, 2);
	assert_int_equal(f.cut_id, 7);
	end(&s);
}

/* libvirt is at work: whatever is missing, it is another thing each time. */
static void at_work(void **state)
{
	struct machine_port seen[9];
	struct fake f = {.ports = seen, .count = ARRAY_COUNT(seen)};
	struct service s;
	struct err e = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(seen); i++) {
		seen[i] = good;
		if (i % 2)
			seen[i].applied = false;
		else
			seen[i].on_network = false;
	}
	seen[8] = good;
	begin(&s, &f);
	assert_ok(isolation_enforce(&s, "demo", &e), &e);
	assert_int_equal(f.cut_id, 0);
	end(&s);
}

/* Looked at at once, and when libvirtd came back; in between it sleeps. */
static void watching(void **state)
{
	const struct machine_port seen[] = {{.id = 0}, open_port};
	struct fake f = {.ports = seen, .count = 2};
	struct deadline d;
	struct service s;
	struct err e = {0};

	(void)state;
	begin(&s, &f);
	assert_ok(netwatch_new(&s, &s.netwatch, &e), &e);
	deadline_sleep_ms(300);
	assert_int_equal(f.cut_id, 0);
	f.lost(f.lost_ctx);
	d = deadline_in_ms(20000);
	while (f.cut_id == 0 && !deadline_passed(d))
		deadline_sleep_ms(20);
	assert_int_equal(f.cut_id, 7);
	netwatch_free(s.netwatch);
	assert_null(f.lost);
	expect_stopped(&s, "filter is gone");
	end(&s);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(setting),
	cmocka_unit_test(said),
	cmocka_unit_test(open_ones),
	cmocka_unit_test(unreadable),
	cmocka_unit_test(enforcing),
	cmocka_unit_test(another_filter),
	cmocka_unit_test(at_work),
	cmocka_unit_test(watching),
};
UNIT_MAIN(tests)
