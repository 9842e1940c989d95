/*
 * Microseconds of a call to the service, beside a bare ping-pong of the same
 * length over a unix socket between two processes. Medians.
 *
 * usage: call_bench [ROUNDS]     BOXERY_HOME names the service
 */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/home.h"
#include "base/json.h"
#include "ops/client.h"

#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_MAX 100000
/* what a call and its answer take on the wire */
#define PING_LEN 96

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *us, int count)
{
	qsort(us, (size_t)count, sizeof(*us), compare);
	return us[count / 2];
}

static int bench_calls(double *us, int rounds, struct err *e)
{
	auto_json json_t *args = json_pack("{s:i}", "seconds", 0);
	auto_client struct client *c = NULL;
	struct client_opts o = {.name = "bench"};
	struct home home;

	if (home_init(&home, NULL, e) != 0)
		return -1;
	o.home = &home;
	if (client_connect(&o, &c, e) != 0)
		return -1;
	for (int i = 0; i < rounds; i++) {
		struct client_io io = client_io_none(deadline_in_ms(10000));
		auto_json json_t *result = NULL;
		double begin = now_us();

		if (client_call(c, "vm_wait", args, &io, &result, e) != 0)
			return -1;
		us[i] = now_us() - begin;
	}
	home_finish(&home);
	return 0;
}

static int bench_pings(double *us, int rounds, struct err *e)
{
	struct deadline d = deadline_in_ms(60000);
	char bytes[PING_LEN] = {0};
	int fds[2];
	pid_t pid;

	if (fd_pair(fds, e) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		while (fd_read_all(fds[1], bytes, PING_LEN, d, e) == 0 &&
		       fd_write_all(fds[1], bytes, PING_LEN, d, e) == 0)
			;
		_exit(0);
	}
	close(fds[1]);
	for (int i = 0; i < rounds; i++) {
		double begin = now_us();

		if (fd_write_all(fds[0], bytes, PING_LEN, d, e) != 0 ||
		    fd_read_all(fds[0], bytes, PING_LEN, d, e) != 0)
			return -1;
		us[i] = now_us() - begin;
	}
	close(fds[0]);
	waitpid(pid, NULL, 0);
	return 0;
}

int main(int argc, char *argv[])
{
	static double calls[ROUNDS_MAX], pings[ROUNDS_MAX];
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 5000;
	struct err e = {0};

	if (rounds < 1 || rounds > ROUNDS_MAX)
		return 2;
	if (bench_calls(calls, (int)rounds, &e) != 0 ||
	    bench_pings(pings, (int)rounds, &e) != 0) {
		fprintf(stderr, "call_bench: %s\n", err_msg(&e));
		return 1;
	}
	printf("%.1f %.1f\n", median(calls, (int)rounds),
	       median(pings, (int)rounds));
	return 0;
}
