/*
 * backend_libvirt_impl.h - what the files of the libvirt backend share
 *
 * Shapes:  bl_connect() hands out a counted connection; each caller closes its
 *          own reference (auto_conn).
 * Errors:  bl_fail() turns libvirt's last error of this thread into ours.
 * Threads: any; the connection is shared and replaced under `lock`.
 */
#ifndef VMCTL_BACKEND_LIBVIRT_IMPL_H
#define VMCTL_BACKEND_LIBVIRT_IMPL_H

#include "base/cleanup.h"
#include "base/err.h"
#include "vmctl/backend.h"

#include <libvirt/libvirt.h>
#include <pthread.h>
#include <stdint.h>

#define BL_URI "qemu:///system"

struct backend_libvirt {
	struct backend b;
	const struct home *home;
	char network[48];
	char bridge[16];
	/* the connection */
	pthread_mutex_t lock;
	virConnectPtr conn;
	/* one thread at a time changes the network */
	pthread_mutex_t network_lock;
};

static inline void bl_conn_free(virConnectPtr c)
{
	if (c)
		virConnectClose(c);
}
static inline void bl_domain_free(virDomainPtr d)
{
	if (d)
		virDomainFree(d);
}
static inline void bl_network_free(virNetworkPtr n)
{
	if (n)
		virNetworkFree(n);
}
CLEANUP_DEFINE(conn, virConnect, bl_conn_free)
CLEANUP_DEFINE(domain, virDomain, bl_domain_free)
CLEANUP_DEFINE(network, virNetwork, bl_network_free)
#define auto_conn __attribute__((cleanup(cleanup_conn_))) virConnectPtr
#define auto_domain __attribute__((cleanup(cleanup_domain_))) virDomainPtr
#define auto_network __attribute__((cleanup(cleanup_network_))) virNetworkPtr

/* -- backend_libvirt.c ------------------------------------------------------- */

struct backend_libvirt *bl_of(struct backend *b);
virConnectPtr bl_connect(struct backend_libvirt *l, struct err *e)
	__attribute__((warn_unused_result));
int bl_fail(struct err *e, const char *what, const char *name)
	__attribute__((warn_unused_result));
/* A machine of this home; NULL with ERR_NOT_FOUND when it is not there. */
virDomainPtr bl_find(struct backend_libvirt *l, virConnectPtr c,
		     const char *name, struct err *e);

/* -- backend_libvirt_agent.c ------------------------------------------------- */

int bl_read_host_key(struct backend *b, const char *name,
		     struct deadline deadline, char **ret_line, struct err *e)
	__attribute__((warn_unused_result));

/* -- backend_libvirt_net.c --------------------------------------------------- */

/* Defined, active and starting with the host; its /24. */
int bl_network_ensure(struct backend_libvirt *l, virConnectPtr c,
		      uint32_t *ret_subnet, struct err *e)
	__attribute__((warn_unused_result));
int bl_lease_set(struct backend_libvirt *l, virConnectPtr c, const char *mac,
		 const char *address, struct err *e)
	__attribute__((warn_unused_result));
int bl_lease_remove(struct backend_libvirt *l, virConnectPtr c,
		    const char *mac, struct err *e)
	__attribute__((warn_unused_result));
void bl_network_doctor(struct backend_libvirt *l, virConnectPtr c,
		       backend_say *say, void *ctx);

/* -- backend_libvirt_host.c -------------------------------------------------- */

/* UEFI firmware of this host, or NULL. */
const char *bl_firmware(void);
int bl_accelerated(struct backend *b, bool *ret, struct err *e)
	__attribute__((warn_unused_result));
void bl_qemu_user(struct backend *b, struct datadir_qemu *ret);
void bl_doctor(struct backend *b, backend_say *say, void *ctx);

#endif
