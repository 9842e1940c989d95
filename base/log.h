/*
 * log.h - what the operator of a program reads
 *
 * Shapes:  one line a call to stderr (or the fd set), prefixed by time, level
 *          and program. Libraries log at debug only; the main layer logs
 *          once. Bytes that are not printable are escaped.
 * Errors:  none: a log that cannot be written is dropped, never waited for
 *          (the fd may be a pipe that nobody drains).
 * Threads: any.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_init(const char *program, enum log_level level);
void log_set_fd(int fd);
void log_at(enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_at(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_at(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)

#endif
