/* What this host's libvirt and QEMU can do, and as whom. */
#include "base/alloc.h"
#include "base/path.h"
#include "vmctl/accel.h"
#include "vmctl/backend_libvirt_impl.h"
#include "vmctl/datadir.h"
#include "vmctl/conffile.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Debian's user of QEMU, when libvirt cannot be asked. */
#define QEMU_USER "libvirt-qemu"

const char *bl_firmware(void)
{
	static const char *const paths[] = {
		"/usr/share/OVMF/OVMF_CODE_4M.fd",
		"/usr/share/OVMF/OVMF_CODE.fd",
	};

	for (size_t i = 0; i < ARRAY_COUNT(paths); i++) {
		if (access(paths[i], R_OK) == 0)
			return paths[i];
	}
	return NULL;
}

/* -- acceleration ------------------------------------------------------------ */

/* Does libvirt offer KVM? Processor and device alone do not tell: QEMU's
 * own user must be able to use them. */
static int probe_libvirt(struct backend_libvirt *l, struct err *e)
{
	auto_conn c = bl_connect(l, e);
	autofree char *xml = NULL;

	if (!c)
		return -1;
	xml = virConnectGetDomainCapabilities(c, NULL, "x86_64", "q35", "kvm",
					      0);
	if (!xml)
		return bl_fail(e, "KVM", "");
	return 0;
}

static int get_wish(struct backend_libvirt *l, char **ret, struct err *e)
{
	autofree char *path = path_join(l->home->config, "host.env");
	autofree char *wish = NULL;

	if (conffile_get(path, "BOXERY_ACCEL", &wish, e))
		return -1;
	if (wish && strcmp(wish, "kvm") != 0 && strcmp(wish, "tcg") != 0)
		return err_set(e, ERR_INVALID,
			       "%s: BOXERY_ACCEL must be kvm or tcg", path);
	*ret = TAKE_PTR(wish);
	return 0;
}

int bl_accelerated(struct backend *b, bool *ret, struct err *e)
{
	struct backend_libvirt *l = bl_of(b);
	autofree char *wish = NULL;
	struct err why = {0};

	if (get_wish(l, &wish, e))
		return -1;
	if (wish)
		*ret = strcmp(wish, "kvm") == 0;
	else
		*ret = accel_probe(&why) == 0 && probe_libvirt(l, &why) == 0;
	return 0;
}

static void doctor_accel(struct backend_libvirt *l, backend_say *say,
			 void *ctx)
{
	autofree char *wish = NULL;
	autofree char *text = NULL;
	struct err e = {0};

	if (get_wish(l, &wish, &e)) {
		say(ctx, "acceleration", false, err_msg(&e));
		return;
	}
	if (wish) {
		text = alloc_printf("%s, as host.env says", wish);
		say(ctx, "acceleration", true, text);
		return;
	}
	if (accel_probe(&e) == 0 && probe_libvirt(l, &e) == 0) {
		say(ctx, "acceleration", true, "KVM");
		return;
	}
	/* slow, but everything works: not a fault */
	text = alloc_printf("software emulation, slow: %s", err_msg(&e));
	say(ctx, "acceleration", true, text);
}

/* -- QEMU's user ------------------------------------------------------------- */

/* "+64055:+64055" in <baselabel type='kvm'> of the dac model. */
static bool parse_user(const char *caps, struct datadir_qemu *ret)
{
	const char *model = strstr(caps, "<model>dac</model>");
	const char *label = model ? strstr(model, "<baselabel ") : NULL;
	unsigned long uid, gid;
	char *end;

	label = label ? strstr(label, ">+") : NULL;
	if (!label)
		return false;
	uid = strtoul(label + 2, &end, 10);
	if (strncmp(end, ":+", 2) != 0)
		return false;
	gid = strtoul(end + 2, &end, 10);
	if (*end != '<')
		return false;
	*ret = (struct datadir_qemu){(uid_t)uid, (gid_t)gid};
	return true;
}

static void guess_user(struct datadir_qemu *ret)
{
	char text[4096];
	struct passwd p, *user = NULL;
	struct group g, *group = NULL;

	*ret = (struct datadir_qemu){0, 0};
	if (getpwnam_r(QEMU_USER, &p, text, sizeof(text), &user) == 0 && user)
		ret->uid = user->pw_uid;
	if (getgrnam_r(QEMU_USER, &g, text, sizeof(text), &group) == 0 && group)
		ret->gid = group->gr_gid;
}

void bl_qemu_user(struct backend *b, struct datadir_qemu *ret)
{
	auto_conn c = bl_connect(bl_of(b), NULL);
	autofree char *caps = c ? virConnectGetCapabilities(c) : NULL;

	if (!caps || !parse_user(caps, ret))
		guess_user(ret);
}

/* -- doctor ------------------------------------------------------------------ */

void bl_doctor(struct backend *b, backend_say *say, void *ctx)
{
	struct backend_libvirt *l = bl_of(b);
	struct err e = {0};
	auto_conn c = bl_connect(l, &e);
	autofree char *text = NULL;
	unsigned long version = 0;

	if (bl_firmware())
		say(ctx, "firmware", true, bl_firmware());
	else
		say(ctx, "firmware", false,
		    "no UEFI firmware for guests: sudo apt-get install ovmf");
	if (!c) {
		say(ctx, "libvirt", false, err_msg(&e));
		return;
	}
	virConnectGetLibVersion(c, &version);
	text = alloc_printf("%s answers, version %lu.%lu.%lu", BL_URI,
			    version / 1000000, version / 1000 % 1000,
			    version % 1000);
	say(ctx, "libvirt", true, text);
	doctor_accel(l, say, ctx);
	bl_network_doctor(c, say, ctx);
	bl_filters_doctor(c, say, ctx);
}
