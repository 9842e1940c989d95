/*
 * client_impl.h - what client.c (connecting) and client_call.c (calling) share
 *
 * Shapes:  in and out are the socket's two buffers.
 * Threads: as client.h.
 */
#ifndef OPS_CLIENT_IMPL_H
#define OPS_CLIENT_IMPL_H

#include "base/limits.h"
#include "base/rpc.h"
#include "ops/client.h"

/* one read of the socket */
#define CLIENT_READ_LEN ((size_t)256 * 1024)
/* our own requests wait in memory up to here, then sources are not read */
#define CLIENT_OUT_LEN ((size_t)1024 * 1024)
#define CLIENT_OUT_CAP (CLIENT_OUT_LEN + (size_t)2 * LIMIT_RPC_FRAME_LEN)

struct client {
	int fd;
	bool agent;
	bool dead; /* nothing more can be asked on it */
	const struct home *home;
	uint32_t last_call;
	struct buf in, out;
	size_t out_at; /* of out, what is sent */
	char *service_version;
};

/* What an ERROR frame says, as our own error. Always -1. */
int client_take_error(const struct rpc_frame *f, struct err *e);

#endif
