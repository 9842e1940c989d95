/*
 * The guest agent's channel: a virtio port that libvirt has, and no network. So
 * what comes through it comes from that very machine, which is why a host key
 * may be learnt here. It is the guest that answers all the same: it may lie
 * about its own key, say nothing, or say too much.
 *
 * libvirt waits for an answer as long as we tell it, and keeps no lock that
 * other questions about the machine need.
 */
#include "base/alloc.h"
#include "vmctl/agentwire.h"
#include "vmctl/backend_libvirt_impl.h"
#include "vmctl/hostkey.h"

#include <libvirt/libvirt-qemu.h>
#include <libvirt/virterror.h>
#include <string.h>

#define KEY_PATH "/etc/ssh/ssh_host_ed25519_key.pub"
#define LINE_LEN 1024

/* Nobody there, or nobody who answers; else it refused, in its own words. */
static int explain(const char *name, struct err *e)
{
	const virError *last = virGetLastError();
	const char *text = last && last->message ? last->message : "";
	int code = last ? last->code : 0;
	char words[ERR_QUOTE_SIZE];

	if (code == VIR_ERR_AGENT_UNRESPONSIVE ||
	    code == VIR_ERR_AGENT_UNSYNCED)
		return err_set(e, ERR_UNAVAILABLE,
			       "the guest agent of %s does not answer", name);
	if (code == VIR_ERR_ARGUMENT_UNSUPPORTED)
		return err_set(e, ERR_STATE,
			       "%s runs without a channel to a guest agent",
			       name);
	if (code == VIR_ERR_INTERNAL_ERROR)
		return err_set(e, ERR_STATE,
			       "the guest agent of %s refuses: %s", name,
			       err_quote(words, text, strlen(text)));
	return bl_fail(e, "asking the guest agent of", name);
}

/* One command; the answer is libvirt's copy (free()). */
static char *ask(virDomainPtr d, const char *name, const char *command,
		 struct deadline deadline, struct err *e)
{
	int64_t left_ms = deadline.at_ms - deadline_now_ms();
	char *answer = NULL;

	/* whole seconds, and 0 would mean: do not wait */
	if (left_ms <= 0)
		(void)!err_set(e, ERR_UNAVAILABLE,
			       "the guest agent of %s does not answer in time",
			       name);
	else
		answer = virDomainQemuAgentCommand(
			d, command, (int)((left_ms + 999) / 1000), 0);
	if (!answer && left_ms > 0)
		(void)!explain(name, e);
	return answer;
}

static int read_file(virDomainPtr d, const char *name, int64_t handle,
		     struct deadline deadline, char **ret_text, struct err *e)
{
	autofree char *command = agentwire_read(handle, LINE_LEN);
	autofree char *answer = ask(d, name, command, deadline, e);

	return answer ? agentwire_parse_read(answer, LINE_LEN, ret_text, e)
		      : -1;
}

static int read_key_file(virDomainPtr d, const char *name,
			 struct deadline deadline, char **ret_text,
			 struct err *e)
{
	autofree char *command = agentwire_open(KEY_PATH);
	autofree char *answer = ask(d, name, command, deadline, e);
	autofree char *close_command = NULL;
	int64_t handle;
	int rc;

	if (!answer || agentwire_parse_open(answer, &handle, e))
		return -1;
	rc = read_file(d, name, handle, deadline, ret_text, e);
	close_command = agentwire_close(handle);
	free(ask(d, name, close_command, deadline, NULL));
	return rc;
}

int bl_read_host_key(struct backend *b, const char *name,
		     struct deadline deadline, char **ret_line, struct err *e)
{
	struct backend_libvirt *l = bl_of(b);
	auto_conn c = bl_connect(l, e);
	auto_domain d = c ? bl_find(l, c, name, e) : NULL;
	autofree char *text = NULL;

	if (!d || read_key_file(d, name, deadline, &text, e))
		return -1;
	text[strcspn(text, "\n")] = '\0';
	if (hostkey_check_line(text, e))
		return err_wrap(e, "%s of %s", KEY_PATH, name);
	*ret_line = TAKE_PTR(text);
	return 0;
}
