/*
 * copy_drive - vm_copy without the service: guests are sshds
 *
 *	copy_drive [-r ROOT] [-k KEY] [-h HOST_KEY] [-u USER] [-a PORT]
 *		[-b PORT] [-c MS] FROM TO
 *
 * FROM and TO are local:PATH, a:PATH or b:PATH. -r confines local paths as an
 * agent's are. -c cancels after so long. Prints the result as JSON, or the
 * error, whose exit status is that of its code.
 */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/home.h"
#include "base/path.h"
#include "ops/localtree.h"
#include "ops/validate.h"
#include "vmctl/copy.h"
#include "vmctl/guest.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#define PIECE_LEN (1024 * 1024)
#define COPY_MS (30 * 60 * 1000)

struct drive {
	const char *root, *key, *host_key, *user;
	unsigned port[2];
	long cancel_ms;
	struct guest *guest[2];
	struct home home;
	int cancel_fd;
};

/* ---- the local side, as ops/client.c drives it -------------------------- */

struct local {
	struct localtree *tree;
	int fd;
	pthread_t thread;
};

static int say_all(struct local *l, char *bytes)
{
	size_t n;

	while ((n = localtree_produce(l->tree, bytes, PIECE_LEN)) > 0) {
		struct err e = {0};

		if (fd_write_all(l->fd, bytes, n, deadline_in_ms(COPY_MS),
				 &e) != 0)
			return -1;
	}
	return 0;
}

static void *run_local(void *p)
{
	struct local *l = p;
	autofree char *bytes = alloc_array(PIECE_LEN, 1);

	while (say_all(l, bytes) == 0 && !localtree_ended(l->tree)) {
		ssize_t n = read(l->fd, bytes, PIECE_LEN);

		if (n <= 0)
			break;
		localtree_feed(l->tree, bytes, (size_t)n);
	}
	shutdown(l->fd, SHUT_WR);
	/* what is on its way is not waited for by anybody, but must not jam */
	while (read(l->fd, bytes, PIECE_LEN) > 0)
		;
	return NULL;
}

/* ---- the link ----------------------------------------------------------- */

static int link_send(void *ctx, const void *p, size_t len, struct err *e)
{
	return fd_write_all(*(int *)ctx, p, len, deadline_in_ms(COPY_MS), e);
}

static ssize_t link_recv(void *ctx, void *p, size_t max, struct err *e)
{
	ssize_t n;

	do {
		n = read(*(int *)ctx, p, max);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? err_sys(e, "reading") : n;
}

/* ---- the whole ---------------------------------------------------------- */

static int connect_guest(struct drive *d, int which, struct err *e)
{
	autofree char *host_key = NULL;
	struct guest_config c = {.name = which ? "b" : "a",
				 .user = d->user,
				 .address = "127.0.0.1",
				 .port = d->port[which],
				 .key_path = d->key};
	size_t len;

	if (d->guest[which])
		return 0;
	if (path_read_file(d->host_key, 4096, &host_key, &len, e) != 0)
		return -1;
	host_key[strcspn(host_key, "\n")] = '\0';
	c.host_key = host_key;
	return guest_new(&c, &d->guest[which], e);
}

static int find_guest(struct drive *d, const struct validate_endpoint *at,
		      struct guest **ret, struct err *e)
{
	int which = strcmp(at->vm, "b") == 0;

	*ret = NULL;
	if (!at->vm[0])
		return 0;
	if (connect_guest(d, which, e) != 0)
		return -1;
	*ret = d->guest[which];
	return 0;
}

static int start_local(struct drive *d, const char *from, const char *to,
		       struct local *l, int *ret_fd, struct err *e)
{
	json_t *args = json_pack("{s:s, s:s}", "from", from, "to", to);
	int fds[2], rc;

	if (!args)
		return err_set(e, ERR_INVALID, "not UTF-8");
	rc = localtree_for_call("vm_copy", args, d->root, &d->home, &l->tree,
				e);
	json_decref(args);
	if (rc != 0 || !l->tree)
		return rc;
	if (fd_pair(fds, e) != 0)
		return -1;
	l->fd = fds[0];
	*ret_fd = fds[1];
	rc = pthread_create(&l->thread, NULL, run_local, l);
	return rc ? err_set(e, ERR_SYSTEM, "no thread") : 0;
}

static int copy(struct drive *d, const char *from_text, const char *to_text,
		struct copy_report *report, struct err *e)
{
	struct validate_endpoint from, to;
	struct local local = {.fd = -1};
	int fd = -1, rc;
	const struct copy_link link = {&fd, link_send, link_recv, -1};
	struct copy_link mine = link;
	struct copy_side a = {.deadline = deadline_in_ms(COPY_MS),
			      .cancel_fd = d->cancel_fd,
			      .link = &mine,
			      .report = report};
	struct copy_side b = a;

	if (validate_endpoint(from_text, &from, e) != 0 ||
	    validate_endpoint(to_text, &to, e) != 0 ||
	    find_guest(d, &from, &a.guest, e) != 0 ||
	    find_guest(d, &to, &b.guest, e) != 0 ||
	    start_local(d, from_text, to_text, &local, &fd, e) != 0)
		return -1;
	mine.recv_fd = fd;
	a.vm = from.vm;
	a.path = from.path;
	b.vm = to.vm;
	b.path = to.path;
	if (a.guest && b.guest)
		rc = copy_between(&a, &b, e);
	else
		rc = a.guest ? copy_from_guest(&a, e) : copy_to_guest(&b, e);
	if (local.tree) {
		shutdown(fd, SHUT_RDWR);
		pthread_join(local.thread, NULL);
		close(fd);
		close(local.fd);
		localtree_free(local.tree);
	}
	return rc;
}

static int parse(struct drive *d, int argc, char *argv[])
{
	int opt;

	while ((opt = getopt(argc, argv, "r:k:h:u:a:b:c:")) != -1) {
		switch (opt) {
		case 'r':
			d->root = optarg;
			break;
		case 'k':
			d->key = optarg;
			break;
		case 'h':
			d->host_key = optarg;
			break;
		case 'u':
			d->user = optarg;
			break;
		case 'a':
		case 'b':
			d->port[opt - 'a'] =
				(unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'c':
			d->cancel_ms = strtol(optarg, NULL, 10);
			break;
		default:
			return -1;
		}
	}
	return argc - optind == 2 ? 0 : -1;
}

static void print_report(const struct copy_report *r, int64_t took_ms)
{
	const struct treewire_result *n = &r->result;

	printf("{\"files\": %" PRIu32 ", \"bytes\": %" PRIu64
	       ", \"skipped\": %" PRIu32 ", \"links\": %" PRIu32
	       ", \"dirs\": %" PRIu32 ", \"ms\": %" PRId64
	       ", \"warnings\": %u}\n",
	       n->file_count, n->byte_count, n->same_count, n->link_count,
	       n->dir_count, took_ms, r->warning_count);
	for (unsigned i = 0; i < COPY_WARNINGS_COUNT && r->warnings[i]; i++)
		fprintf(stderr, "warning: %s\n", r->warnings[i]);
}

int main(int argc, char *argv[])
{
	struct drive d = {.user = "agent", .cancel_fd = -1};
	struct copy_report report = {0};
	struct err e = {0};
	int64_t start_ms = deadline_now_ms();
	int rc;

	if (parse(&d, argc, argv) != 0) {
		fprintf(stderr, "usage: copy_drive [options] FROM TO\n");
		return 2;
	}
	if (d.cancel_ms > 0) {
		struct itimerspec when = {
			.it_value = {.tv_sec = d.cancel_ms / 1000,
				     .tv_nsec = d.cancel_ms % 1000 * 1000000}};

		d.cancel_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		timerfd_settime(d.cancel_fd, 0, &when, NULL);
	}
	rc = home_init(&d.home, NULL, &e);
	if (rc == 0)
		rc = copy(&d, argv[optind], argv[optind + 1], &report, &e);
	print_report(&report, deadline_now_ms() - start_ms);
	if (rc != 0)
		fprintf(stderr, "copy_drive: %s: %s\n",
			err_code_name(e.code), err_msg(&e));
	copy_report_finish(&report);
	guest_free(d.guest[0]);
	guest_free(d.guest[1]);
	home_finish(&d.home);
	return rc == 0 ? 0 : err_exit_status(e.code);
}
