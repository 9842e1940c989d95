#include "vmctl/audit.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct audit {
	pthread_mutex_t lock;
	char *path, *older;
	int fd;
	int64_t len;
};

static int reopen(struct audit *a, struct err *e)
{
	struct stat st;
	int fd = open(a->path,
		      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
		      0600);

	if (fd < 0)
		return err_sys(e, "%s", a->path);
	if (fstat(fd, &st) != 0) {
		close(fd);
		return err_sys(e, "%s", a->path);
	}
	if (a->fd >= 0)
		close(a->fd);
	a->fd = fd;
	a->len = st.st_size;
	return 0;
}

int audit_open(const char *path, struct audit **ret, struct err *e)
{
	struct audit *a = ALLOC_NEW(struct audit);

	pthread_mutex_init(&a->lock, NULL);
	a->fd = -1;
	a->path = alloc_str(path);
	a->older = alloc_printf("%s.1", path);
	if (reopen(a, e) != 0) {
		audit_free(a);
		return -1;
	}
	*ret = a;
	return 0;
}

void audit_free(struct audit *a)
{
	if (!a)
		return;
	if (a->fd >= 0)
		close(a->fd);
	pthread_mutex_destroy(&a->lock);
	free(a->path);
	free(a->older);
	free(a);
}

static void rotate(struct audit *a)
{
	struct err e = {0};

	if (rename(a->path, a->older) != 0 || reopen(a, &e) != 0) {
		log_error("%s could not be renamed away", a->path);
		a->len = 0; /* not again for each line */
	}
}

static void put_time(char *text, size_t size)
{
	struct timespec now;
	struct tm tm;
	char day[32];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	if (strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		day[0] = '\0';
	snprintf(text, size, "%s.%03ldZ", day, now.tv_nsec / 1000000);
}

static void write_line(struct audit *a, const json_t *line)
{
	autofree char *text = json_print(line);
	autofree char *record = alloc_printf("%s\n", text);
	size_t len = strlen(record);

	pthread_mutex_lock(&a->lock);
	if (a->len > LIMIT_AUDIT_LEN)
		rotate(a);
	if (write(a->fd, record, len) == (ssize_t)len)
		a->len += (int64_t)len;
	else
		log_error("a line of %s was not written", a->path);
	pthread_mutex_unlock(&a->lock);
}

void audit_add(struct audit *a, const struct audit_entry *entry)
{
	auto_json json_t *line = NULL;
	char when[64];

	put_time(when, sizeof(when));
	line = json_pack("{s:s, s:s, s:b, s:s, s:s, s:s, s:I}", "t", when,
			 "client", entry->client, "agent", (int)entry->agent,
			 "op", entry->op, "vm", entry->vm, "outcome",
			 entry->outcome == ERR_NONE
				 ? "ok"
				 : err_code_name(entry->outcome),
			 "ms", (json_int_t)entry->took_ms);
	if (*entry->job)
		json_object_set_new(line, "job", json_string(entry->job));
	write_line(a, line);
}

void audit_event(struct audit *a, json_t *line)
{
	auto_json json_t *timed = NULL;
	char when[64];

	if (a) {
		put_time(when, sizeof(when));
		timed = json_pack("{s:s}", "t", when);
		json_object_update(timed, line);
		write_line(a, timed);
	}
	json_decref(line);
}
