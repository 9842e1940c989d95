#include "vmctl/rpcjoin.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/limits.h"
#include "ops/client_start.h"

#include <errno.h>
#include <poll.h>

#define LANE_LEN ((size_t)256 * 1024)

/* One direction: bytes read and not yet written. */
struct lane {
	int from, to;
	struct buf bytes;
	size_t at;
	bool ended; /* nothing more comes */
};

static void lane_polls(const struct lane *l, struct pollfd p[2])
{
	bool empty = l->bytes.len == 0;

	p[0] = (struct pollfd){.fd = empty && !l->ended ? l->from : -1,
			       .events = POLLIN};
	p[1] = (struct pollfd){.fd = empty ? -1 : l->to, .events = POLLOUT};
}

static int lane_move(struct lane *l, const struct pollfd p[2], struct err *e)
{
	struct err why = {0};
	ssize_t n;

	if (p[0].revents) {
		n = buf_read_fd(&l->bytes, l->from, LANE_LEN, &why);
		if (n == 0 || (n < 0 && why.errnum == ECONNRESET))
			l->ended = true;
		else if (n < 0 && why.errnum != EAGAIN && why.errnum != EINTR) {
			*e = why;
			return -1;
		}
	}
	if (p[1].revents) {
		n = fd_write_some(l->to, l->bytes.data + l->at,
				  l->bytes.len - l->at);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return err_sys(e, "writing");
		if (n > 0)
			l->at += (size_t)n;
		if (l->at == l->bytes.len) {
			buf_reset(&l->bytes);
			l->at = 0;
		}
	}
	return 0;
}

static bool lane_over(const struct lane *l)
{
	return l->ended && l->bytes.len == 0;
}

int rpcjoin_run(const struct home *h, int in_fd, int out_fd, struct err *e)
{
	struct deadline start = deadline_in_ms(LIMIT_SERVICE_START_MS);
	autoclose int fd = client_start(h, true, start, e);
	struct lane up = {.from = in_fd, .to = fd};
	struct lane down = {.from = fd, .to = out_fd};
	int rc = 0;

	if (fd < 0)
		return -1;
	buf_init(&up.bytes, LANE_LEN);
	buf_init(&down.bytes, LANE_LEN);
	while (rc == 0 && !lane_over(&up) && !lane_over(&down)) {
		struct deadline d = deadline_in_ms(DEADLINE_MAX_MS);
		struct err why = {0};
		struct pollfd p[4];

		lane_polls(&up, p);
		lane_polls(&down, p + 2);
		/* an idle day is no reason to hang up */
		if (deadline_poll(p, 4, d, "waiting", &why) < 0) {
			if (why.code == ERR_TIMEOUT)
				continue;
			*e = why;
			rc = -1;
		} else if (lane_move(&up, p, e) != 0 ||
			   lane_move(&down, p + 2, e) != 0) {
			rc = -1;
		}
	}
	buf_finish(&up.bytes);
	buf_finish(&down.bytes);
	return rc;
}
