/*
 * served.h - a service for a case: the real transport on its I/O thread, and
 * handlers that stand behind real rows of the table, because what is tested is
 * how calls of each kind travel, not what they do to a VM
 *
 *	vm_info vm_list	echo who asks and the arguments
 *	vm_wait		lasts until it is cancelled
 *	vm_new vm_copy	a job that lasts until it is released
 *	vm_run		by argv[0]: cat, flood (writes without end), job
 *	vm_stop		asks the person
 *	vm_screenshot	an image of three windows' length
 *	doctor		a result larger than a frame
 *	service_status	fails without a reason
 *
 * Shapes:  served_start/served_stop are a case's set-up and teardown;
 *          served_raw_* are a client that may break the protocol.
 * Threads: the test's main thread.
 */
#ifndef TESTS_SUPPORT_SERVED_H
#define TESTS_SUPPORT_SERVED_H

#include "tests/support/unit.h"

#include "base/buf.h"
#include "base/home.h"
#include "base/rpc.h"
#include "ops/client.h"
#include "vmctl/serve.h"

#include <stdatomic.h>

#define SERVED_WAIT_MS 20000

struct served {
	struct home home;
	struct service service;
	struct audit *audit;
	struct serve *serve;
	int lock_fd;
	pthread_t thread;
	/* what the handlers saw */
	atomic_int cancelled; /* calls that ended cancelled */
	atomic_int release;   /* jobs may end */
	atomic_int running;
};
extern struct served served;

#define SERVED(fn) \
	cmocka_unit_test_setup_teardown(fn, served_start, served_stop)
int served_start(void **state);
int served_stop(void **state);

struct client *served_connect(const char *name, bool agent,
			      const char *const *vms);
struct client_io served_io(int64_t ms);
int served_call(struct client *c, const char *op, const char *args,
		const struct client_io *io, json_t **ret, struct err *e);
/* Until so many; a case that waits too long fails. */
void served_until(atomic_int *counter, int value);
void served_until_calls(unsigned count);

int served_raw_connect(void);
void served_raw_send(int fd, enum rpc_type type, uint32_t call,
		     const char *json);
/* The next frame that is no progress: its type and text; 0 at the end. */
int served_raw_next(int fd, struct buf *in, char *text, size_t size);
/* A raw client that said hello. */
int served_raw_greeted(struct buf *in);

#endif
