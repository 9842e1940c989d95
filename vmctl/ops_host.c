/* The host itself: what is wrong with it, building images. */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/path.h"
#include "vmctl/backend.h"
#include "vmctl/datadir.h"
#include "vmctl/handlers.h"
#include "vmctl/image.h"
#include "vmctl/lifecycle.h"
#include "vmctl/isolation.h"
#include "vmctl/netread.h"
#include "vmctl/overlay.h"
#include "vmctl/service.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* what an image, its build and some machines' writes need */
#define GOOD_SPACE_LEN ((uint64_t)10 << 30)
#define BUILD_MS (60LL * 60 * 1000)
#define NETREAD_MS 20000

/* -- doctor ------------------------------------------------------------------ */

static void say(void *ctx, const char *check, bool ok, const char *detail)
{
	json_array_append_new(ctx, json_pack("{s:s, s:b, s:s}", "check", check,
					     "ok", ok, "detail", detail));
}

static bool installed(const char *program)
{
	/* nobody changes it: NOLINTNEXTLINE(concurrency-mt-unsafe) */
	const char *path = getenv("PATH");
	autofree char *dirs = alloc_str(path ? path : "/usr/bin:/bin");

	for (char *next = dirs; next;) {
		autofree char *file = path_join(strsep(&next, ":"), program);

		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}

static void check_programs(json_t *rows)
{
	static const struct {
		const char *program, *package;
	} needed[] = {
		{"qemu-system-x86_64", "qemu-system-x86"},
		{"qemu-img", "qemu-utils"},
		{"mmdebstrap", "mmdebstrap"},
		{"mcopy", "mtools"},
		{"mkfs.vfat", "dosfstools"},
		{"sgdisk", "gdisk"},
		{"mke2fs", "e2fsprogs"},
		{"dnsmasq", "dnsmasq-base"},
		{"ssh", "openssh-client"},
	};
	char missing[256] = "";

	for (size_t i = 0; i < ARRAY_COUNT(needed); i++) {
		size_t len = strlen(missing);

		if (!installed(needed[i].program))
			snprintf(missing + len, sizeof(missing) - len, " %s",
				 needed[i].package);
	}
	if (missing[0]) {
		autofree char *text = alloc_printf(
			"sudo apt-get install%s", missing);

		say(rows, "programs", false, text);
	} else {
		say(rows, "programs", true, "all installed");
	}
}

static void check_netread(struct service *s, json_t *rows)
{
	struct netread r = {0};
	struct err e = {0};
	bool isolated;

	if (isolation_wanted(&s->home, &isolated, &e) ||
	    (isolated && netread(deadline_in_ms(NETREAD_MS), &r, &e)))
		say(rows, "isolation check", false, err_msg(&e));
	else if (!isolated)
		say(rows, "isolation check", true, "off, as host.env says");
	else if (!r.bridge_calls_iptables &&
		 access("/proc/sys/net/bridge", F_OK) == 0)
		/* before the first filter is applied it is not there */
		say(rows, "isolation check", false,
		    "the host's packet filter does not see bridged packets: "
		    "sudo sysctl -w net.bridge.bridge-nf-call-iptables=1");
	else
		say(rows, "isolation check", true,
		    "the host's packet filter can be read");
	netread_finish(&r);
}

static void check_data(struct service *s, json_t *rows)
{
	struct datadir_qemu q;
	struct err e = {0};

	if (access(s->home.data, F_OK) && errno == ENOENT) {
		say(rows, "data", false,
		    "this host is not set up yet: boxery init");
		return;
	}
	s->backend->ops->qemu_user(s->backend, &q);
	if (datadir_check(&s->home, &q, &e)) {
		say(rows, "data", false, err_msg(&e));
		return;
	}
	say(rows, "data", true, s->home.data);
	if (overlay_check_space(s->home.data, GOOD_SPACE_LEN,
				"a host with an image and some VMs", &e))
		say(rows, "disk space", false, err_msg(&e));
	else
		say(rows, "disk space", true, "more than 10 GiB free");
}

static int count_image(struct image *i, void *ctx, struct err *e)
{
	(void)i;
	(void)e;
	++*(unsigned *)ctx;
	return 0;
}

static void check_images(struct service *s, json_t *rows)
{
	autofree char *text = NULL;
	struct image i = {0};
	struct err e = {0};
	unsigned count = 0;

	if (!s->guest_dir)
		say(rows, "guest files", false,
		    "the folder guest/ is not where boxery was installed: "
		    "make install");
	if (image_list(&s->home, count_image, &count, &e) ||
	    image_find(&s->home, true, &i, &e)) {
		say(rows, "images", false, err_msg(&e));
		return;
	}
	text = alloc_printf("%u, newest with a desktop: %s", count, i.id);
	say(rows, "images", true, text);
	image_finish(&i);
}

int op_doctor(struct call *c, const json_t *args, json_t **ret_result,
	      struct err *e)
{
	struct service *s = call_service(c);
	auto_json json_t *rows = json_array();

	(void)args;
	(void)e;
	check_programs(rows);
	s->backend->ops->doctor(s->backend, say, rows);
	check_netread(s, rows);
	check_data(s, rows);
	check_images(s, rows);
	*ret_result = json_pack("{s:O}", "rows", rows);
	return 0;
}

/* -- build-base -------------------------------------------------------------- */

static void on_progress(void *ctx, int percent, const char *text)
{
	call_progress(ctx, percent, 100, "%s", text);
}

/* The base comes first in every image, named or not. */
static int choose_layers(struct service *s, const json_t *args, char **ret,
			 struct err *e)
{
	const char *asked = NULL;
	bool accelerated;

	if (json_opt_str(args, "layers", &asked, e))
		return -1;
	if (asked) {
		bool has_base = strcmp(asked, "base") == 0 ||
				strncmp(asked, "base,", 5) == 0;

		*ret = alloc_printf("%s%s", has_base ? "" : "base,", asked);
		return 0;
	}
	if (s->backend->ops->accelerated(s->backend, &accelerated, e))
		return -1;
	/* a browser in an emulated guest takes minutes to open */
	*ret = alloc_str(accelerated ? "base,desktop,browser" : "base,desktop");
	return 0;
}

struct sweep {
	struct service *s;
	json_t *removed; /* ids */
};

static int drop_old(struct image *i, void *ctx, struct err *e)
{
	struct sweep *sweep = ctx;
	bool used;

	if (life_drop_image(sweep->s, i->id, &used, e))
		return -1;
	if (!used)
		json_array_append_new(sweep->removed, json_string(i->id));
	return 0;
}

/* What the new one stands in for, gigabytes each; their ids. It was built all
 * the same when that fails. */
static json_t *drop_superseded(struct service *s)
{
	struct sweep sweep = {s, json_array()};
	struct err e = {0};

	if (image_list_old(&s->home, drop_old, &sweep, &e))
		log_warn("old images: %s", err_msg(&e));
	return sweep.removed;
}

static json_t *describe(const struct image *i, bool built)
{
	return json_pack("{s:s, s:b, s:s, s:I, s:O, s:s}", "image", i->id,
			 "new", built, "built", i->built, "disk_bytes",
			 (json_int_t)i->disk_len, "layers", i->layers, "path",
			 i->path);
}

int op_build_base(struct call *c, const json_t *args, json_t **ret_result,
		  struct err *e)
{
	struct service *s = call_service(c);
	autofree char *layers = NULL;
	struct image_build b = {
		.guest_dir = s->guest_dir,
		.cancel_fd = call_cancel_fd(c),
		.deadline = deadline_in_ms(BUILD_MS),
		.progress = on_progress,
		.ctx = c,
	};
	struct datadir_qemu q;
	struct err why = {0};
	struct image i;
	bool if_missing = false, build = true;

	if (!s->guest_dir)
		return err_set(e, ERR_NOT_FOUND,
			       "boxery's folder guest/ is not where it was "
			       "installed: make install");
	if (json_opt_bool(args, "if_missing", &if_missing, e) ||
	    choose_layers(s, args, &layers, e))
		return -1;
	s->backend->ops->qemu_user(s->backend, &q);
	if (datadir_make(&s->home, &q, e))
		return -1;
	b.layers = layers;
	if (if_missing) {
		build = image_find_current(&s->home, &b, &i, &why);
		if (build && why.code != ERR_NOT_FOUND) {
			*e = why;
			return -1;
		}
	}
	if (build && image_build(&s->home, &b, &i, e))
		return -1;
	*ret_result = describe(&i, build);
	json_object_set_new(*ret_result, "removed",
			    build ? drop_superseded(s) : json_array());
	image_finish(&i);
	return 0;
}
