/*
 * guest_ssh.h - what guest_channel.c and guest_pump.c share of libssh
 *
 * Shapes:  a guest_ssh_channel belongs to its guest_chan from the open request
 *          until libssh may forget the channel.
 * Threads: the I/O thread.
 */
#ifndef VMCTL_GUEST_SSH_H
#define VMCTL_GUEST_SSH_H

#include "vmctl/guest_impl.h"

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

struct guest_ssh_channel {
	ssh_channel channel;
	struct ssh_channel_callbacks_struct callbacks;
};

/* A channel of libssh's for c, whose session is set; false: there is none. */
bool guest_chan_attach(struct guest_chan *c);

/* libssh's data callback, with the guest_chan. */
int guest_pump_data(ssh_session ssh, ssh_channel channel, void *data,
		    uint32_t len, int is_stderr, void *chan);
/* Both ways, as far as it goes now. */
void guest_pump_step(struct guest_chan *c);
/* Take over all that libssh still holds: it forgets the channel next. */
void guest_pump_save(struct guest_chan *c);
/* To the local fds alone; true when nothing is left. */
bool guest_pump_drain(struct guest_chan *c);
/* Our ends of the local fds. */
void guest_pump_close_in(struct guest_chan *c);
void guest_pump_close(struct guest_chan *c);

#endif
