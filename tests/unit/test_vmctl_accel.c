#include "tests/support/unit.h"

#include "vmctl/accel.h"

static void cpu_flags(void **state)
{
	static const struct {
		const char *text;
		bool can;
	} cases[] = {
		{"model\t: x\nflags\t\t: fpu vmx sse\n", true},
		{"flags\t\t: fpu svm\n", true},
		{"flags\t\t: fpu vmx", true},
		{"flags\t\t: fpu svm_lock xvmx\nbugs\t: vmx\n", false},
		{"vmx flags\t: fpu\n", false},
		{"", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
		assert_int_equal(accel_cpu_can(cases[i].text), cases[i].can);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(cpu_flags),
};
UNIT_MAIN(tests)
