#include "vmctl/isolation.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/path.h"
#include "vmctl/audit.h"
#include "vmctl/backend.h"
#include "vmctl/conffile.h"
#include "vmctl/machines.h"

#include <string.h>

#define SETTING "BOXERY_NET_ISOLATION"
#define READ_MS 5000
/*
 * When libvirtd starts or reloads, it takes down and builds chain after chain,
 * some command a rule. Of what it is at work on, each look sees another piece
 * missing, and for a piece libvirt needs fewer commands than these looks do,
 * however slow the host is (measured with eight ports: up to 0.5 s; on a host
 * nine times too busy 1.3 s). So many looks in a row that find the very same are
 * believed; or so many that find anything.
 */
#define LOOKS 5
#define LOOKS_MAX 12
#define BETWEEN_LOOKS_MS 700

int isolation_wanted(const struct home *h, bool *ret, struct err *e)
{
	autofree char *path = path_join(h->config, "host.env");
	autofree char *wish = NULL;

	if (conffile_get(path, SETTING, &wish, e))
		return -1;
	if (wish && strcmp(wish, "on") != 0 && strcmp(wish, "off") != 0)
		return err_set(e, ERR_INVALID, "%s: " SETTING
			       " must be on or off", path);
	*ret = !wish || strcmp(wish, "on") == 0;
	return 0;
}

void isolation_read(struct isolation_chains *ret)
{
	*ret = (struct isolation_chains){.readable = false};
	ret->readable = netread(deadline_in_ms(READ_MS), &ret->r, &ret->why) ==
			0;
}

void isolation_chains_finish(struct isolation_chains *c)
{
	if (c->readable)
		netread_finish(&c->r);
	c->readable = false;
}

/* -- one look ---------------------------------------------------------------- */

/* A machine without a filter: is that what it was booted as? */
static int judge_open(struct service *s, const struct vm_record *v,
		      struct isolation_look *ret, struct err *e)
{
	bool wanted;

	if (v->filtered) {
		ret->is = ISOLATION_WRONG;
		err_set(&ret->why, ERR_STATE,
			"its network filter is gone from its definition");
		return 0;
	}
	if (isolation_wanted(&s->home, &wanted, e))
		return -1;
	ret->is = wanted ? ISOLATION_LATER : ISOLATION_OFF;
	return 0;
}

static int check_said(const struct vm_record *v, const struct machine_port *p,
		      struct err *e)
{
	const char *filter = netfilter_name(v->network);

	if (p->count != 1)
		return err_set(e, ERR_STATE, "it has %u network devices",
			       p->count);
	if (!p->on_network)
		return err_set(e, ERR_STATE,
			       "%s is not on the network of machines", p->dev);
	if (strcmp(p->filter, filter) != 0)
		return err_set(e, ERR_STATE,
			       "%s is behind filter %s instead of %s", p->dev,
			       p->filter, filter);
	if (strcmp(p->mac, v->mac) != 0 || strcmp(p->address, v->address) != 0)
		return err_set(e, ERR_STATE,
			       "the filter of %s is for %s, %s instead of %s, "
			       "%s",
			       p->dev, p->mac, p->address, v->mac, v->address);
	if (strcmp(p->gateway, p->host) != 0)
		return err_set(e, ERR_STATE,
			       "the filter of %s lets it reach %s, and the "
			       "host's address is %s",
			       p->dev, p->gateway, p->host);
	if (!p->applied)
		return err_set(e, ERR_STATE,
			       "libvirt has not applied filter %s to %s as "
			       "the machine's definition says",
			       filter, p->dev);
	if (!p->filter_is_ours)
		return err_set(e, ERR_STATE,
			       "libvirt's filter %s is not boxery's (boxery "
			       "init defines it anew)",
			       filter);
	return 0;
}

static enum isolation judge(const struct vm_record *v,
			    const struct machine_port *p,
			    const struct isolation_chains *chains,
			    struct err *why)
{
	const struct netfilter_port port = {
		.mode = v->network,
		.dev = p->dev,
		.mac = v->mac,
		.address = v->address,
		.gateway = p->host,
		.bridge = p->bridge,
	};
	struct netfilter_applied applied;

	if (check_said(v, p, why))
		return ISOLATION_WRONG;
	if (!chains || !chains->readable) {
		if (chains)
			*why = chains->why;
		return ISOLATION_UNVERIFIED;
	}
	applied = (struct netfilter_applied){
		chains->r.ebtables, chains->r.iptables,
		chains->r.bridge_calls_iptables, netread_port(p->dev)};
	if (netfilter_check(&port, &applied, why) == 0)
		return ISOLATION_ON;
	/* another version's form: not read is not wrong */
	return why->code == ERR_PROTOCOL ? ISOLATION_UNVERIFIED
					 : ISOLATION_WRONG;
}

int isolation_look(struct service *s, const struct vm_record *v,
		   const struct isolation_chains *chains,
		   struct isolation_look *ret, struct err *e)
{
	struct isolation_look look = {.is = ISOLATION_IDLE};
	struct machine_port p;

	if (s->backend->ops->port(s->backend, v->name, &p, e))
		return -1;
	look.id = p.id;
	if (p.id && !*p.filter) {
		if (judge_open(s, v, &look, e))
			return -1;
	} else if (p.id) {
		look.is = judge(v, &p, chains, &look.why);
		look.other_filter = !p.filter_is_ours;
	}
	*ret = look;
	return 0;
}

/* -- what follows ------------------------------------------------------------ */

/* The record may be older than the machine that is looked at. */
static int look_again(struct service *s, const char *name,
		      struct isolation_look *ret, struct err *e)
{
	struct isolation_chains chains;
	struct vm_record v;
	int rc;

	if (registry_get(s->registry, name, &v, e))
		return -1;
	isolation_read(&chains);
	rc = isolation_look(s, &v, &chains, ret, e);
	isolation_chains_finish(&chains);
	vm_record_finish(&v);
	return rc;
}

static int fail_stopped(const char *name, const char *why, struct err *e)
{
	return err_set(e, ERR_STATE,
		       "%s was stopped, its network isolation is not what it "
		       "must be: %s. boxery start %s applies it anew; if that "
		       "does not help, sudo systemctl restart libvirtd before "
		       "(VMs run on)",
		       name, why, name);
}

int isolation_check_stopped(const struct vm_record *v, struct err *e)
{
	return *v->stopped ? fail_stopped(v->name, v->stopped, e) : 0;
}

/* First the reason: whoever sees that it is off looks for one. */
static int power_off(struct service *s, const char *name,
		     const struct isolation_look *look, struct err *e)
{
	const struct audit_entry entry = {
		.client = "service",
		.op = "isolation",
		.vm = name,
		.job = "",
		.outcome = ERR_STATE,
	};
	const char *why = err_msg(&look->why);
	int rc;

	if (registry_set_stopped(s->registry, name, why, NULL))
		log_warn("%s: why it is stopped is not on record", name);
	rc = s->backend->ops->cut(s->backend, name, look->id, e);
	if (rc != 0)
		(void)!registry_set_stopped(s->registry, name, "", NULL);
	if (rc < 0) {
		log_error("%s runs on though %s: %s", name, why, err_msg(e));
		return -1;
	}
	if (rc > 0)
		return err_set(e, ERR_STATE, "%s went off meanwhile", name);
	log_error("%s was stopped: %s", name, why);
	machines_lost_power(s->machines, name);
	if (s->audit)
		audit_add(s->audit, &entry);
	return fail_stopped(name, why, e);
}

/* What looks in a row have found, of one boot. */
struct finding {
	struct isolation_look last;
	unsigned all, same; /* same: as the last */
};

static bool is_sure(struct finding *f, const struct isolation_look *look)
{
	bool boot = f->all > 0 && f->last.id == look->id;
	bool same = boot && strcmp(err_msg(&f->last.why),
				   err_msg(&look->why)) == 0;

	f->all = boot ? f->all + 1 : 1;
	f->same = same ? f->same + 1 : 1;
	f->last = *look;
	return f->same >= LOOKS || f->all >= LOOKS_MAX;
}

/* libvirt then applies it to machines that run, before it returns. */
static void define_filters(struct service *s, const char *name)
{
	struct err why = {0};

	log_warn("%s: libvirt's filter is not the one of this version of "
		 "boxery: it is defined anew",
		 name);
	if (s->backend->ops->init(s->backend, &why))
		log_warn("%s", err_msg(&why));
}

int isolation_enforce(struct service *s, const char *name, struct err *e)
{
	struct isolation_look look = {.is = ISOLATION_IDLE};
	struct finding found = {.all = 0};
	bool defined = false;

	for (;;) {
		if (look_again(s, name, &look, e))
			return -1;
		if (look.is != ISOLATION_WRONG)
			return 0;
		if (look.other_filter && !defined) {
			define_filters(s, name);
			defined = true;
			continue;
		}
		if (is_sure(&found, &look))
			return power_off(s, name, &look, e);
		deadline_sleep_ms(BETWEEN_LOOKS_MS);
	}
}

const char *isolation_text(enum isolation is)
{
	static const char *const texts[] = {
		[ISOLATION_IDLE] = "on",
		[ISOLATION_ON] = "on",
		[ISOLATION_UNVERIFIED] = "not verified",
		[ISOLATION_OFF] = "off",
		[ISOLATION_LATER] = "off until it is stopped and started",
		[ISOLATION_WRONG] = "wrong",
	};

	return texts[is];
}
