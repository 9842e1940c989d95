#include "cli/interrupt.h"

#include "base/fd.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static int write_fd = -1;
static volatile sig_atomic_t count;

static void on_signal(int sig)
{
	int saved = errno;

	(void)sig;
	/* the pipe takes a byte; should it not, the second signal is there */
	if (count++ > 0 || write(write_fd, "c", 1) < 0)
		_exit(err_exit_status(ERR_CANCELLED));
	errno = saved;
}

int interrupt_open(struct err *e)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	int fds[2];

	if (fd_pipe(fds, e) != 0)
		return -1;
	write_fd = fds[1];
	signal(SIGPIPE, SIG_IGN);
	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction old;

		sigaction(signals[i], &sa, &old);
		/* nohup means it */
		if (signals[i] == SIGHUP && old.sa_handler == SIG_IGN)
			sigaction(SIGHUP, &old, NULL);
	}
	return fds[0];
}
