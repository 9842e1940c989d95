/*
 * A line is built on the stack, then written whole under a mutex: poll(2)
 * first, because a pipe with room has at least PIPE_BUF bytes of it, so one
 * writev() of less than that neither blocks nor mixes with another line. The
 * mutex keeps two threads from using the same room; nothing under it waits.
 */
#include "base/log.h"

#include "base/utf8.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define LINE_SIZE 2048
#define CUT_MARK " [cut]"

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

static void write_line(const struct iovec *iov, int count)
{
	struct pollfd p = {.fd = log_fd, .events = POLLOUT};
	ssize_t n;

	if (poll(&p, 1, 0) != 1 || p.revents != POLLOUT)
		return;
	do {
		n = writev(log_fd, iov, count);
	} while (n < 0 && errno == EINTR);
}

void log_at(enum log_level level, const char *fmt, ...)
{
	char draft[LINE_SIZE];
	char text[LINE_SIZE];
	char prefix[96];
	struct iovec iov[4];
	int count = 0;
	int saved = errno;
	size_t len, shown;
	va_list ap;
	int n;

	_Static_assert(sizeof(text) + sizeof(prefix) + 8 < PIPE_BUF,
		       "a line must fit a pipe's atomic write");
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
	shown = utf8_escape(text, sizeof(text), draft, len);

	pthread_mutex_lock(&lock);
	iov[count++] = (struct iovec){
		prefix, put_prefix(prefix, sizeof(prefix), level)};
	iov[count++] = (struct iovec){text, shown};
	if ((size_t)n >= sizeof(draft) || shown + 8 > sizeof(text))
		iov[count++] = (struct iovec){(char[]){CUT_MARK},
					      sizeof(CUT_MARK) - 1};
	iov[count++] = (struct iovec){(char[]){"\n"}, 1};
	write_line(iov, count);
	pthread_mutex_unlock(&lock);
	errno = saved;
}
