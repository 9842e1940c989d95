/*
 * First the port is tried, cheaply and often, so that progress can be shown
 * and a crash is noticed; only then comes the handshake, which takes seconds
 * in an emulated guest and must not be cut short.
 */
#include "vmctl/ready.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "vmctl/backend.h"
#include "vmctl/datadir.h"
#include "vmctl/guest.h"
#include "vmctl/pin.h"
#include "vmctl/service.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBE_MS 1500
#define PAUSE_MS 250
#define AGENT_PAUSE_MS 1000
/* how often libvirt is asked whether the machine still lives */
#define STATE_EVERY_MS 3000
#define CONSOLE_TAIL_LEN 2048
/* guest/layers/desktop: made once the window manager answers; it stays when
 * that ends, so its unit is asked as well */
#define DESKTOP_UP "/run/user/1000/boxery-vnc/desktop-up"

struct wait {
	struct call *call;
	struct machine *machine;
	const struct vm_record *v;
	bool pins;
	struct deadline deadline;
	int64_t started_ms;
	int64_t state_asked_ms;
};

static void show(struct wait *w, const char *what)
{
	int64_t seconds = (deadline_now_ms() - w->started_ms) / 1000;

	call_progress(w->call, seconds, 0, "%s", what);
}

/* -- the console -------------------------------------------------------------
 */

/* The last line that has words, of bytes that the guest wrote. */
static char *last_words(const struct wait *w)
{
	const struct home *h = &call_service(w->call)->home;
	autofree char *path = datadir_console(h, w->v->name);
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[CONSOLE_TAIL_LEN + 1];
	struct stat st;
	ssize_t n = 0;
	char *line;

	if (fd >= 0 && fstat(fd, &st) == 0)
		n = pread(fd, text, CONSOLE_TAIL_LEN,
			  st.st_size > CONSOLE_TAIL_LEN
				  ? st.st_size - CONSOLE_TAIL_LEN
				  : 0);
	text[n > 0 ? n : 0] = '\0';
	for (size_t len = strlen(text); len > 0;) {
		while (len > 0 && strchr("\r\n\t ", text[len - 1]))
			len--;
		text[len] = '\0';
		line = memrchr(text, '\n', len);
		line = line ? line + 1 : text;
		if (*line)
			return alloc_str(line);
	}
	return NULL;
}

static int fail(struct wait *w, const struct err *why, struct err *e)
{
	autofree char *words = last_words(w);
	char quoted[ERR_QUOTE_SIZE];

	if (!words)
		return err_set(e, why->code, "%s", err_msg(why));
	return err_set(e, why->code, "%s; its console ends with %s",
		       err_msg(why), err_quote(quoted, words, strlen(words)));
}

/* -- the machine -------------------------------------------------------------
 */

static int check_alive(struct wait *w, struct err *e)
{
	struct backend *b = call_service(w->call)->backend;
	enum machine_state state;

	if (deadline_now_ms() - w->state_asked_ms < STATE_EVERY_MS)
		return 0;
	w->state_asked_ms = deadline_now_ms();
	if (b->ops->state(b, w->v->name, &state, e))
		return -1;
	if (state == MACHINE_RUNNING)
		return 0;
	if (state == MACHINE_NOSPACE)
		return err_set(e, ERR_NOSPACE,
			       "%s stopped while booting: the host's disk is "
			       "full (%s)",
			       w->v->name, call_service(w->call)->home.data);
	return err_set(e, ERR_STATE, "%s stopped while booting (%s)",
		       w->v->name, machine_state_name(state));
}

/*
 * Does somebody listen? The answer is not waited for: an emulated sshd takes
 * seconds to greet, and each connection that is given up costs it as much as
 * one that is used.
 */
static bool port_is_open(const struct wait *w)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(22)};
	const struct linger reset = {.l_onoff = 1, .l_linger = 0};
	autoclose int fd = socket(
		AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct deadline d =
		deadline_min(deadline_in_ms(PROBE_MS), w->deadline);
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	int error = 0;
	socklen_t len = sizeof(error);

	if (fd < 0 || inet_pton(AF_INET, w->v->address, &to.sin_addr) != 1)
		return false;
	/* so that sshd's process for it ends at its first look */
	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)))
		return false;
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return true;
	return errno == EINPROGRESS &&
	       deadline_poll(&p, 1, d, "connecting", NULL) > 0 &&
	       getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 &&
	       error == 0;
}

static int wait_port(struct wait *w, struct err *e)
{
	while (!port_is_open(w)) {
		if (call_check(w->call, e) || check_alive(w, e) ||
		    deadline_check(w->deadline, "waiting for its ssh", e))
			return -1;
		show(w, "booting");
		deadline_sleep_ms(PAUSE_MS);
	}
	return 0;
}

/* -- the guest ---------------------------------------------------------------
 */

/* An sshd that is just starting, or a busy host, may break a handshake. */
static bool may_pass(const struct err *e)
{
	return e->code == ERR_UNAVAILABLE || e->code == ERR_TIMEOUT;
}

/* May come up yet, or answer the next time. */
static bool is_coming(const struct err *e, struct deadline d)
{
	return e->code == ERR_UNAVAILABLE && !deadline_passed(d);
}

/*
 * A machine without a pin gets one through its agent, and in no other way. One
 * that has a pin keeps it, whatever the guest says.
 */
static int wait_pin(struct wait *w, struct err *e)
{
	struct deadline d = deadline_min(deadline_in_ms(LIMIT_AGENT_BOOT_MS),
					 w->deadline);
	struct service *s = call_service(w->call);
	const char *name = w->v->name;
	struct pin_change ignored;

	while (pin_is_missing(s, name)) {
		struct deadline once =
			deadline_min(deadline_in_ms(LIMIT_AGENT_MS), d);
		struct err why = {0};

		show(w, "waiting for the guest agent, to pin the host key");
		if (pin_through_agent(s, w->machine, once, &ignored, &why) == 0)
			return 0;
		if (!is_coming(&why, d))
			return err_set(e, ERR_DENIED,
				       "Host key verification failed: no key "
				       "is pinned for %s, and %s: boxery pin "
				       "%s asks again; boxery pin %s "
				       "--from-guest trusts what answers",
				       name, err_msg(&why), name, name);
		if (call_check(w->call, e) || check_alive(w, e))
			return -1;
		deadline_sleep_ms(AGENT_PAUSE_MS);
	}
	return 0;
}

static int wait_ssh(struct wait *w, struct guest *g, struct err *e)
{
	for (;;) {
		struct deadline d = deadline_min(
			deadline_in_ms(LIMIT_SSH_CONNECT_MS), w->deadline);
		struct err why = {0};

		show(w, "waiting for ssh");
		if (guest_connect(g, d, &why) == 0)
			return 0;
		if (!may_pass(&why) || deadline_passed(w->deadline)) {
			*e = why;
			return -1;
		}
		if (call_check(w->call, e) || check_alive(w, e))
			return -1;
		deadline_sleep_ms(PAUSE_MS);
	}
}

static int wait_desktop(struct wait *w, struct guest *g, struct err *e)
{
	static const char *const argv[] = {
		"sh", "-c",
		"for i in 1 2 3 4 5 6 7 8 9 10; do"
		" test -e " DESKTOP_UP " &&"
		" systemctl -q is-active boxery-desktop && exit 0;"
		" sleep 0.5; done; exit 1",
		NULL};

	while (w->v->desktop) {
		const struct guest_run run = {
			.argv = argv,
			.cancel_fd = call_cancel_fd(w->call),
		};
		struct guest_exit how = {.status = -1};

		show(w, "waiting for the desktop");
		if (guest_run(g, &run, w->deadline, &how, e))
			return -1;
		if (how.status == 0)
			break;
		if (call_check(w->call, e) || check_alive(w, e) ||
		    deadline_check(w->deadline, "waiting for its desktop", e))
			return -1;
	}
	return 0;
}

static int wait_all(struct wait *w, struct err *e)
{
	struct guest *g;

	if (wait_port(w, e) || (w->pins && wait_pin(w, e)) ||
	    machine_guest_booting(w->machine, &g, e) ||
	    wait_ssh(w, g, e))
		return -1;
	return wait_desktop(w, g, e);
}

static int run(struct wait *w, struct err *e)
{
	struct err why = {0};

	w->started_ms = deadline_now_ms();
	if (wait_all(w, &why) == 0)
		return 0;
	if (why.code == ERR_CANCELLED)
		return err_set(e, ERR_CANCELLED, "%s", err_msg(&why));
	return fail(w, &why, e);
}

int ready_wait(struct call *c, struct machine *m, const struct vm_record *v,
	       struct deadline d, struct err *e)
{
	struct wait w = {.call = c, .machine = m, .v = v, .deadline = d};

	return run(&w, e);
}

int ready_wait_pinning(struct call *c, struct machine *m,
		       const struct vm_record *v, struct deadline d,
		       struct err *e)
{
	struct wait w = {
		.call = c,
		.machine = m,
		.v = v,
		.pins = true,
		.deadline = d,
	};

	return run(&w, e);
}
