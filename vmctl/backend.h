/*
 * backend.h - what makes machines: one vtable, one file per backend
 *
 * Shapes:  a backend knows machines by their VM name; paths, connection and
 *          network are its own business. Specifications are borrowed.
 * Errors:  ERR_UNAVAILABLE with the command that mends it when the
 *          hypervisor cannot be reached.
 * Threads: any; calls block (libvirt), so never from a guest's thread.
 */
#ifndef VMCTL_BACKEND_H
#define VMCTL_BACKEND_H

#include "base/deadline.h"
#include "base/err.h"
#include "base/home.h"
#include "vmctl/netfilter.h"

#include <stdbool.h>
#include <stdint.h>

enum machine_state {
	MACHINE_ABSENT,	 /* the hypervisor does not know it */
	MACHINE_OFF,
	MACHINE_RUNNING,
	MACHINE_PAUSED,
	MACHINE_CRASHED,
	MACHINE_NOSPACE, /* paused by QEMU on ENOSPC */
};
const char *machine_state_name(enum machine_state s);

struct machine_spec {
	const char *name;
	const char *uuid;
	unsigned cpus;
	uint64_t memory_len;
	const char *disk_path;	  /* qcow2 overlay */
	const char *seed_path;	  /* NoCloud disk */
	const char *console_path; /* serial log */
	const char *mac;
	const char *address;	  /* the address its lease will have */
	enum net_mode network;
	bool isolated; /* behind the network filter */
	bool uefi;
};

/* A machine's place on the network. */
struct machine_address {
	char address[16];
	char mac[18];
};

/* What the hypervisor says of a running machine's way to the network. */
struct machine_port {
	int id;		     /* another at each boot; 0: it does not run */
	unsigned count;	     /* of its network devices; this is the first */
	char dev[16];	     /* "vnet0" */
	char mac[18];
	char filter[64];     /* "": none */
	/* the filter's parameters; "" when they are not these two alone */
	char address[16], gateway[16];
	bool on_network;     /* on the one where machines belong */
	char bridge[16];     /* that network's, on the host, */
	char host[16];	     /* and the host's address on it */
	bool applied;	     /* what the hypervisor applied says the same */
	bool filter_is_ours; /* and by that name it knows our rules */
};

/* One finding of a check-up: what was looked at, and what mends it. */
typedef void backend_say(void *ctx, const char *check, bool ok,
			 const char *detail);

struct backend;
struct datadir_qemu; /* vmctl/datadir.h */
struct backend_ops {
	const char *name;
	/* Host set-up that `init` asks for: network and filters. Idempotent. */
	int (*init)(struct backend *b, struct err *e);
	/* What earlier versions made and no machine uses any more goes. */
	int (*retire)(struct backend *b, struct err *e);
	void (*doctor)(struct backend *b, backend_say *say, void *ctx);
	/* Whom machines run as; a guess when the hypervisor is not there. */
	void (*qemu_user)(struct backend *b, struct datadir_qemu *ret);
	/* Hardware virtualisation, or emulation? An error when the person's
	 * setting makes no sense. */
	int (*accelerated)(struct backend *b, bool *ret, struct err *e);
	/* Make the definition say what s says, also when there is one. The
	 * machine must be off to be sure of it. */
	int (*define)(struct backend *b, const struct machine_spec *s,
		      struct err *e);
	/* Makes one that is off ready to run, all but its first instruction;
	 * one that runs or is paused stays as it is. */
	int (*boot)(struct backend *b, const char *name, struct err *e);
	/* One that runs waits until it is resumed; another stays as it is. */
	int (*pause)(struct backend *b, const char *name, struct err *e);
	/* One that waits runs on; a running one is fine. */
	int (*resume)(struct backend *b, const char *name, struct err *e);
	/* force: power off at once; else ACPI and the deadline, then force.
	 * cancel_fd readable: ERR_CANCELLED, and it keeps its power. */
	int (*stop)(struct backend *b, const char *name, bool force,
		    struct deadline d, int cancel_fd, struct err *e);
	/* The power, if it still is the boot that port() told of; else 1. */
	int (*cut)(struct backend *b, const char *name, int id, struct err *e);
	/* Forget a machine that is off, its address too, and the address that
	 * was reserved for mac (or ""). One that is not known is fine. */
	int (*undefine)(struct backend *b, const char *name, const char *mac,
			struct err *e);
	int (*state)(struct backend *b, const char *name,
		     enum machine_state *ret, struct err *e);
	/* Each machine of this home that the hypervisor knows. */
	int (*list)(struct backend *b,
		    void (*each)(void *ctx, const char *name,
				 enum machine_state s),
		    void *ctx, struct err *e);
	/* An address nobody on the network has, reserved for a MAC: `wanted`,
	 * when it belongs to the network and is free, or else another.
	 * taken(): has another machine of this home it? */
	int (*reserve)(struct backend *b, const char *wanted,
		       bool (*taken)(void *ctx, const char *address), void *ctx,
		       struct machine_address *ret, struct err *e);
	int (*port)(struct backend *b, const char *name,
		    struct machine_port *ret, struct err *e);
	/* The public host key that a running guest has, one line (free()),
	 * through a channel that nothing on its network can stand in for.
	 * ERR_UNAVAILABLE when nobody answers there (yet). */
	int (*read_host_key)(struct backend *b, const char *name,
			     struct deadline d, char **ret_line,
			     struct err *e);
	/* lost() is called, by a thread that must not wait, when the
	 * hypervisor's connection broke; NULL: by none any more. */
	void (*on_lost)(struct backend *b, void (*lost)(void *ctx), void *ctx);
	void (*free)(struct backend *b);
};
struct backend {
	const struct backend_ops *ops;
};

/* Never connects: that happens when it is used. */
struct backend *backend_libvirt_new(const struct home *h);

#endif
