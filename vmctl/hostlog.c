#include "vmctl/hostlog.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int reopen(const char *path, struct err *e)
{
	autoclose int fd = open(
		path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
		0600);

	if (fd < 0 || dup2(fd, STDERR_FILENO) < 0)
		return err_sys(e, "%s", path);
	return 0;
}

int hostlog_open(const char *path, struct err *e)
{
	if (reopen(path, e) != 0)
		return -1;
	hostlog_rotate(path);
	return 0;
}

void hostlog_rotate(const char *path)
{
	autofree char *aside = alloc_printf("%s.1", path);
	struct err e = {0};
	struct stat st;

	if (fstat(STDERR_FILENO, &st) != 0 || st.st_size <= LIMIT_LOG_LEN)
		return;
	if (rename(path, aside) != 0 || reopen(path, &e) != 0)
		log_error("%s could not be renamed away", path);
}
