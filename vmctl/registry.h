/*
 * registry.h - the records of machines: what was intended, in the database
 *
 * A row is written before anything else of a machine exists and removed after
 * everything else is gone, so whatever cuts us off leaves a row that says what
 * was going on. libvirt, not the row, says whether a machine runs.
 *
 *   creating  new is working on it; after a restart of the service: broken
 *   ready     it answered once
 *   removing  rm is working on it, or was cut off: rm finishes
 *   broken    new was cut off: rm cleans up
 *
 * Shapes:  struct vm_record is a value; vm_record_finish() frees its texts.
 * Units:   bytes, seconds since the epoch.
 * Errors:  ERR_NOT_FOUND, ERR_EXISTS naming the machine; else as db.h.
 * Threads: any.
 */
#ifndef VMCTL_REGISTRY_H
#define VMCTL_REGISTRY_H

#include "base/db.h"
#include "base/err.h"
#include "base/limits.h"
#include "vmctl/netfilter.h"

#include <stdbool.h>
#include <stdint.h>

/* Every table of the service, for db_open(). */
extern const char *const registry_migrations[];

enum vm_phase { VM_CREATING, VM_READY, VM_REMOVING, VM_BROKEN };
const char *vm_phase_name(enum vm_phase p);

struct vm_record {
	char name[LIMIT_NAME_LEN + 1];
	enum vm_phase phase;
	char uuid[37];
	char mac[18];
	char address[16];
	char owner[128]; /* "agent:CLIENT", or a person's client */
	char shape[16];	 /* "" when every size was given */
	unsigned cpus;
	uint64_t memory_len, disk_len;
	char image[64];
	char *layers;	 /* JSON: the image's layers and hashes at that time */
	bool desktop;	 /* ready includes the X socket */
	int64_t created_s;
	enum net_mode network;
	bool filtered; /* last booted behind the network filter */
	char *stopped; /* why the service stopped it since then, or "" */
};
void vm_record_finish(struct vm_record *r);

struct registry;
/* Rows that a dead service was creating become broken. */
int registry_new(struct db *db, struct registry **ret, struct err *e)
	__attribute__((warn_unused_result));
void registry_free(struct registry *r);

/*
 * Add a row in phase creating. prepare() fills in mac and address and runs
 * inside the transaction, after the agent's limit was checked (max_owned
 * machines of owners that start with "agent:"; 0: no limit).
 */
typedef int registry_prepare_fn(struct registry *r, struct vm_record *v,
				void *ctx, struct err *e);
int registry_add(struct registry *r, struct vm_record *v, unsigned max_owned,
		 registry_prepare_fn *prepare, void *ctx, struct err *e)
	__attribute__((warn_unused_result));
int registry_get(struct registry *r, const char *name, struct vm_record *ret,
		 struct err *e) __attribute__((warn_unused_result));
/* In order of names. fn must not call back into the registry. */
typedef int registry_row_fn(const struct vm_record *v, void *ctx,
			    struct err *e);
int registry_list(struct registry *r, registry_row_fn *fn, void *ctx,
		  struct err *e) __attribute__((warn_unused_result));
/* A copy of all, for whoever waits for something between them. */
struct vm_records {
	struct vm_record *list;
	size_t count;
};
int registry_copy(struct registry *r, struct vm_records *ret, struct err *e)
	__attribute__((warn_unused_result));
void vm_records_finish(struct vm_records *r);
int registry_set_phase(struct registry *r, const char *name,
		       enum vm_phase phase, struct err *e)
	__attribute__((warn_unused_result));
int registry_set_address(struct registry *r, const char *name,
			 const char *address, const char *mac, struct err *e)
	__attribute__((warn_unused_result));
/* Is what it is or will be booted as behind the network filter? */
int registry_set_filtered(struct registry *r, const char *name, bool filtered,
			  struct err *e) __attribute__((warn_unused_result));
/* why: "" once it is booted again. */
int registry_set_stopped(struct registry *r, const char *name,
			 const char *why, struct err *e)
	__attribute__((warn_unused_result));
/* Removing a row that is not there is success. */
int registry_remove(struct registry *r, const char *name, struct err *e)
	__attribute__((warn_unused_result));
/* Has another machine this address? Errors count as yes. */
bool registry_address_taken(struct registry *r, const char *address,
			    const char *but_name);
/* fn(), when no machine is made from that image: nobody adds one meanwhile.
 * *ret_used: one is, and fn() was not called. */
int registry_unless_image_used(struct registry *r, const char *image,
			       int (*fn)(void *ctx, struct err *e), void *ctx,
			       bool *ret_used, struct err *e)
	__attribute__((warn_unused_result));

#endif
