/*
 * guest_tool.h - what the drivers of guest.c share: a guest from the
 * environment, checks that end the program, and what the process costs
 *
 * Shapes:  GUEST_PORT, GUEST_USER, GUEST_KEY (private), GUEST_HOST_KEY
 * (public). Threads: one.
 */
#ifndef TESTS_TOOLS_GUEST_TOOL_H
#define TESTS_TOOLS_GUEST_TOOL_H

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/path.h"
#include "vmctl/guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(what)                                                      \
	do {                                                             \
		if (!(what)) {                                           \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, \
				__LINE__, #what);                        \
			_exit(1);                                        \
		}                                                        \
	} while (0)

#define CHECK_OK(rc, e)                                                        \
	do {                                                                   \
		if ((rc) < 0) {                                                \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, \
				#rc, err_msg(e));                              \
			_exit(1);                                              \
		}                                                              \
	} while (0)

#define CHECK_FAILS(rc, e, want, text)                                 \
	do {                                                           \
		*(e) = (struct err){0};                                \
		if ((rc) >= 0 || (e)->code != (want) ||                \
		    !strstr(err_msg(e), (text))) {                     \
			fprintf(stderr, "%s:%d: %s: got %s \"%s\"\n",  \
				__FILE__, __LINE__, #rc,               \
				err_code_name((e)->code), err_msg(e)); \
			_exit(1);                                      \
		}                                                      \
	} while (0)

static inline const char *tool_env(const char *name)
{
	const char *value = getenv(name);

	if (value)
		return value;
	fprintf(stderr, "%s is not set\n", name);
	exit(2);
}

static inline struct guest *tool_guest_with(const char *key,
					    const char *host_key_path)
{
	autofree char *line = NULL;
	struct guest_config c = {.name = "testvm",
				 .user = tool_env("GUEST_USER"),
				 .address = "127.0.0.1",
				 .key_path = key};
	struct guest *g = NULL;
	struct err e = {0};
	size_t len;

	c.port = (unsigned)strtoul(tool_env("GUEST_PORT"), NULL, 10);
	CHECK_OK(path_read_file(host_key_path, 4096, &line, &len, &e), &e);
	c.host_key = line;
	CHECK_OK(guest_new(&c, &g, &e), &e);
	return g;
}

static inline struct guest *tool_guest(void)
{
	return tool_guest_with(tool_env("GUEST_KEY"),
			       tool_env("GUEST_HOST_KEY"));
}

/* Sanitizers keep freed memory, and take processor time of their own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TOOL_COSTS_COUNT 0
#else
#define TOOL_COSTS_COUNT 1
#endif

/* Resident memory in bytes. */
static inline size_t tool_memory_len(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long size = 0, resident = 0;

	CHECK(f && fscanf(f, "%lu %lu", &size, &resident) == 2);
	fclose(f);
	return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* Processor time of all threads. */
static inline double tool_cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static inline double tool_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

#endif
