/*
 * service.h - what all handlers share, and the table of handlers
 *
 * Shapes:  one struct service per process. Members are set before the first
 *          call and read-only after; what they point to locks itself.
 * Threads: docs/THREADS.md has the lock order.
 */
#ifndef VMCTL_SERVICE_H
#define VMCTL_SERVICE_H

#include "base/home.h"
#include "vmctl/call.h"

struct backend;
struct registry; /* vmctl/registry.h: records, in the database */
struct machines; /* vmctl/machines.h: what is alive, per VM */
struct jobs;	 /* vmctl/job.h */
struct db;
struct serve;	 /* vmctl/serve.h */
struct audit;	 /* vmctl/audit.h */
struct store;	 /* grants/store.h */
struct apply;	 /* vmctl/apply.h: grants in the guests */
struct netwatch; /* vmctl/netwatch.h */

struct service {
	struct home home;
	struct db *db;
	struct backend *backend;
	struct registry *registry;
	struct machines *machines;
	struct jobs *jobs;
	struct serve *serve;
	struct audit *audit; /* NULL: none is kept */
	struct store *grants;
	struct apply *apply;
	struct netwatch *netwatch;
	char *guest_dir; /* guest/: recipe and layers; NULL: not installed */
};

/* home is set; the rest is opened. service_close() also after a failure. */
int service_open(struct service *s, struct err *e)
	__attribute__((warn_unused_result));
/* From now on machines that are not isolated as they must be lose their power.
 * audit: borrowed until service_close(). */
int service_watch(struct service *s, struct audit *audit, struct err *e)
	__attribute__((warn_unused_result));
void service_close(struct service *s);

/* The handler of a row, or NULL (OP_LOCAL rows). One table, in handlers.c;
 * a unit test holds it against the rows. */
call_handler *service_handler(const struct op *op);

#endif
