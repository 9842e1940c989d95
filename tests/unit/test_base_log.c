#include "base/log.h"

#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <regex.h>
#include <string.h>
#include <unistd.h>

static int fds[2];

static void begin(enum log_level level)
{
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	/* our end of a real log is blocking */
	assert_int_equal(fcntl(fds[1], F_SETFL, 0), 0);
	log_init("tester", level);
	log_set_fd(fds[1]);
}

static const char *take(void)
{
	static char out[1 << 17];
	ssize_t n = read(fds[0], out, sizeof(out) - 1);

	out[n > 0 ? n : 0] = '\0';
	return out;
}

static void end(void)
{
	log_set_fd(STDERR_FILENO);
	close(fds[0]);
	close(fds[1]);
}

static void lines(void **state)
{
	static const char pattern[] =
		"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
		"\\.[0-9]{3}Z warning tester: vm \\\\x1B\\[31m a\\\\x0Ab\n$";
	regex_t re;

	(void)state;
	begin(LOG_INFO);
	errno = EBUSY;
	log_warn("vm %s", "\033[31m a\nb\n");
	assert_int_equal(errno, EBUSY);
	assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
	assert_int_equal(regexec(&re, take(), 0, NULL, 0), 0);
	regfree(&re);
	log_debug("not at this level");
	assert_string_equal(take(), "");
	errno = ENOENT;
	log_error("opening: %m");
	assert_non_null(strstr(take(), "opening: No such file or directory\n"));
	end();
}

static void long_lines_are_cut(void **state)
{
	char text[9000];
	const char *out;

	(void)state;
	begin(LOG_INFO);
	for (int c = 1; c < 0x80; c += 0x60) {
		memset(text, c, sizeof(text));
		text[sizeof(text) - 1] = '\0';
		log_info("%s", text);
		out = take();
		assert_true(strlen(out) <= PIPE_BUF);
		assert_non_null(strstr(out, " [cut]\n"));
		assert_ptr_equal(strchr(out, '\n'), out + strlen(out) - 1);
	}
	end();
}

/* A pipe that nobody reads: the log is dropped, never waited for. */
static void full_pipe_drops(void **state)
{
	(void)state;
	begin(LOG_INFO);
	for (int i = 0; i < 5000; i++)
		log_info("line %d of a program that goes on", i);
	while (take()[0])
		;
	log_info("after");
	assert_non_null(strstr(take(), "after\n"));
	end();
}

static void closed_pipe_is_survived(void **state)
{
	(void)state;
	begin(LOG_INFO);
	close(fds[0]);
	log_info("to nobody");
	fds[0] = -1;
	close(fds[1]);
	log_info("to an fd that is closed");
	log_set_fd(STDERR_FILENO);
}

static void *chatter(void *arg)
{
	for (int i = 0; i < 50; i++)
		log_info("%s and the same again: %s", (char *)arg, (char *)arg);
	return NULL;
}

static void threads_do_not_mix(void **state)
{
	static char names[4][32] = {"one", "two", "three", "four"};
	pthread_t threads[4];
	int count = 0;
	char *out, *line, *rest;

	(void)state;
	begin(LOG_INFO);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, chatter, names[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	out = strdup(take());
	for (line = strtok_r(out, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *text = strstr(line, "tester: ");
		char *word;

		assert_non_null(text);
		text += strlen("tester: ");
		word = strndup(text, strcspn(text, " "));
		assert_string_equal(text + strlen(text) - strlen(word), word);
		free(word);
		count++;
	}
	free(out);
	assert_int_equal(count, 200);
	end();
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(lines),
	cmocka_unit_test(long_lines_are_cut),
	cmocka_unit_test(full_pipe_drops),
	cmocka_unit_test(closed_pipe_is_survived),
	cmocka_unit_test(threads_do_not_mix),
};

UNIT_MAIN(tests)
