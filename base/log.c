/*
 * A line is built on the stack, then written whole under a mutex: poll(2)
 * first, because a pipe with room has at least PIPE_BUF bytes of it, so one
 * write of less than that neither blocks nor mixes with another line. The
 * mutex keeps two threads from using the same room; nothing under it waits.
 */
#include "base/log.h"

#include "base/fd.h"
#include "base/utf8.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_SIZE 2048
#define CUT_MARK " [cut]"

_Static_assert(LINE_SIZE <= PIPE_BUF, "a line must fit a pipe's atomic write");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = STDERR_FILENO;
static char log_program[32] = "boxery";
static atomic_int log_level = LOG_INFO;

void log_init(const char *program, enum log_level level)
{
	pthread_mutex_lock(&lock);
	snprintf(log_program, sizeof(log_program), "%s", program);
	pthread_mutex_unlock(&lock);
	atomic_store(&log_level, (int)level);
}

void log_set_fd(int fd)
{
	pthread_mutex_lock(&lock);
	log_fd = fd;
	pthread_mutex_unlock(&lock);
}

static size_t put_prefix(char *ret, size_t size, enum log_level level)
{
	static const char *const names[] = {
		[LOG_ERROR] = "error",
		[LOG_WARN] = "warning",
		[LOG_INFO] = "info",
		[LOG_DEBUG] = "debug",
	};
	struct timespec ts;
	struct tm tm;
	size_t at;
	int n;

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	at = strftime(ret, size, "%Y-%m-%dT%H:%M:%S", &tm);
	n = snprintf(ret + at, size - at, ".%03ldZ %s %s: ",
		     ts.tv_nsec / 1000000, names[level], log_program);
	return n > 0 ? at + (size_t)n : at;
}

static void write_line(const char *line, size_t len)
{
	struct pollfd p = {.fd = log_fd, .events = POLLOUT};

	if (poll(&p, 1, 0) != 1 || p.revents != POLLOUT)
		return;
	while (fd_write_some(log_fd, line, len) < 0 && errno == EINTR)
		;
}

void log_at(enum log_level level, const char *fmt, ...)
{
	char draft[LINE_SIZE];
	char line[LINE_SIZE];
	const size_t end = sizeof(line) - sizeof(CUT_MARK "\n");
	int saved = errno;
	size_t len, at;
	va_list ap;
	int n;

	if ((int)level > atomic_load(&log_level))
		return;
	errno = saved; /* for %m */
	va_start(ap, fmt);
	n = vsnprintf(draft, sizeof(draft), fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	len = strlen(draft);
	while (len > 0 && draft[len - 1] == '\n')
		len--;

	pthread_mutex_lock(&lock);
	at = put_prefix(line, end, level);
	at += utf8_escape(line + at, end - at, draft, len);
	/* one \xNN may have been left out before the end */
	if ((size_t)n >= sizeof(draft) || at + 16 > end)
		at = (size_t)((char *)mempcpy(line + at, CUT_MARK,
					      sizeof(CUT_MARK) - 1) -
			      line);
	line[at++] = '\n';
	write_line(line, at);
	pthread_mutex_unlock(&lock);
	errno = saved;
}
