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
#include "vmctl/subnet.h"

#include <libvirt/libvirt.h>
#include <pthread.h>
#include <stdint.h>

#define BL_URI "qemu:///system"
/* libvirt's own: all homes' machines are on it, and other people's */
#define BL_NETWORK "default"

struct backend_libvirt {
	struct backend b;
	const struct home *home;
	bool loops; /* the event loop's thread runs */
	/* the connection, and who is told that it broke */
	pthread_mutex_t lock;
	pthread_cond_t opened;
	virConnectPtr conn;
	bool opening;
	struct deadline open_until;
	struct err open_err; /* why there is none */
	pthread_mutex_t lost_lock;
	void (*lost)(void *ctx);
	void *lost_ctx;
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
static inline void bl_filter_free(virNWFilterPtr f)
{
	if (f)
		virNWFilterFree(f);
}
static inline void bl_binding_free(virNWFilterBindingPtr p)
{
	if (p)
		virNWFilterBindingFree(p);
}
CLEANUP_DEFINE(filter, virNWFilter, bl_filter_free)
CLEANUP_DEFINE(binding, virNWFilterBinding, bl_binding_free)
#define auto_filter __attribute__((cleanup(cleanup_filter_))) virNWFilterPtr
#define auto_binding \
	__attribute__((cleanup(cleanup_binding_))) virNWFilterBindingPtr
CLEANUP_DEFINE(conn, virConnect, bl_conn_free)
CLEANUP_DEFINE(domain, virDomain, bl_domain_free)
CLEANUP_DEFINE(network, virNetwork, bl_network_free)
#define auto_conn __attribute__((cleanup(cleanup_conn_))) virConnectPtr
#define auto_domain __attribute__((cleanup(cleanup_domain_))) virDomainPtr
#define auto_network __attribute__((cleanup(cleanup_network_))) virNetworkPtr

/* -- backend_libvirt.c ------------------------------------------------------- */

struct backend_libvirt *bl_of(struct backend *b);
int bl_fail(struct err *e, const char *what, const char *name)
	__attribute__((warn_unused_result));
/* A machine of this home; NULL with ERR_NOT_FOUND when it is not there. */
virDomainPtr bl_find(struct backend_libvirt *l, virConnectPtr c,
		     const char *name, struct err *e);

/* -- backend_libvirt_agent.c ------------------------------------------------- */

int bl_read_host_key(struct backend *b, const char *name,
		     struct deadline deadline, char **ret_line, struct err *e)
	__attribute__((warn_unused_result));

/* -- backend_libvirt_conn.c -------------------------------------------------- */

void bl_connection_init(struct backend_libvirt *l);
/* -1: somebody still tries to reach the daemon, and l must stay. */
int bl_disconnect(struct backend_libvirt *l)
	__attribute__((warn_unused_result));
/* The caller's own reference. */
virConnectPtr bl_connect(struct backend_libvirt *l, struct err *e)
	__attribute__((warn_unused_result));
void bl_on_lost(struct backend *b, void (*lost)(void *ctx), void *ctx);

/* -- backend_libvirt_net.c --------------------------------------------------- */

struct bl_network {
	struct subnet_range range; /* its address is the host's */
	char gateway[SUBNET_ADDRESS_SIZE];
	char bridge[16];
};
/* There and active; made where it is missing. */
int bl_network_ensure(struct backend_libvirt *l, virConnectPtr c,
		      struct bl_network *ret, struct err *e)
	__attribute__((warn_unused_result));
/* And starting with the host. */
int bl_network_init(struct backend_libvirt *l, virConnectPtr c, struct err *e)
	__attribute__((warn_unused_result));
int bl_network_read(virConnectPtr c, struct bl_network *ret, struct err *e)
	__attribute__((warn_unused_result));
int bl_retire(struct backend *b, struct err *e)
	__attribute__((warn_unused_result));
int bl_reserve(struct backend *b, const char *wanted,
	       bool (*taken)(void *ctx, const char *address), void *ctx,
	       struct machine_address *ret, struct err *e)
	__attribute__((warn_unused_result));
/* This home's entry of that MAC, if there is one. */
int bl_release(struct backend_libvirt *l, virConnectPtr c, const char *mac,
	       struct err *e) __attribute__((warn_unused_result));
void bl_network_doctor(virConnectPtr c, backend_say *say, void *ctx);

/* -- backend_libvirt_filter.c ------------------------------------------------ */

/* Both filters are defined as ours. */
int bl_filters_ensure(struct backend_libvirt *l, virConnectPtr c,
		      struct err *e) __attribute__((warn_unused_result));
/* Can guests behind them be reached from this host? */
int bl_filters_fit(struct err *e) __attribute__((warn_unused_result));
/* id, and the live definition of the machine when that is not 0. */
int bl_port_read(virConnectPtr c, const char *xml, struct machine_port *ret,
		 struct err *e) __attribute__((warn_unused_result));
void bl_filters_doctor(virConnectPtr c, backend_say *say, void *ctx);

/* -- backend_libvirt_loop.c -------------------------------------------------- */

/* libvirt's events: a connection that broke, and the questions whether its
 * other end still lives. Started once, before the first connection. */
int bl_loop_start(struct err *e) __attribute__((warn_unused_result));
void bl_loop_stop(void);

/* -- backend_libvirt_host.c -------------------------------------------------- */

/* UEFI firmware of this host, or NULL. */
const char *bl_firmware(void);
int bl_accelerated(struct backend *b, bool *ret, struct err *e)
	__attribute__((warn_unused_result));
void bl_qemu_user(struct backend *b, struct datadir_qemu *ret);
void bl_doctor(struct backend *b, backend_say *say, void *ctx);

#endif
