/*
 * unit.h - what every unit test starts from
 *
 * Shapes:  UNIT_MAIN(tests) is main(): argv[1] picks cases by a pattern. A
 *          case that leaves more file descriptors open than it found fails.
 *          assert_ok/assert_fails show the message of a struct err.
 * Threads: the test's main thread.
 */
#ifndef TESTS_SUPPORT_UNIT_H
#define TESTS_SUPPORT_UNIT_H

/* cmocka.h wants these before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* and has to come after them */
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/err.h"

/* A fresh 0700 folder for this case, removed with all in it when it ends. */
const char *unit_dir(void);
/* A path in it. Valid until the case ends. */
const char *unit_path(const char *name);

int unit_run(const struct CMUnitTest *tests, size_t count, int argc,
	     char *argv[]);

#define UNIT_MAIN(tests)                                                       \
	int main(int argc, char *argv[])                                       \
	{                                                                      \
		return unit_run((tests), ARRAY_COUNT(tests), argc, argv);      \
	}

/* rc of a function that takes `struct err *`, e being what it was given. */
#define assert_ok(rc, e) unit_ok_((rc), (e), #rc, __FILE__, __LINE__)
/* It failed with this code, and with text in its message. */
#define assert_fails(rc, e, code, text)                                        \
	unit_fails_((rc), (e), (code), (text), __FILE__, __LINE__)

void unit_ok_(long rc, const struct err *e, const char *expr, const char *file,
	      int line);
void unit_fails_(long rc, const struct err *e, enum err_code code,
		 const char *text, const char *file, int line);

#endif
