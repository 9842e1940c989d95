#include "base/version.h"

const char *version_string(void)
{
	return VERSION;
}
