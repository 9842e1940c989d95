#include "vmctl/handlers.h"

#include "base/cleanup.h"
#include "vmctl/service.h"

#include <string.h>

/* In the order of ops/table.c. */
static const struct {
	const char *name;
	call_handler *handler;
} handlers[] = {
	{"vm_wait", op_vm_wait},
	{"service_status", op_service_status},
	{"service_stop", op_service_stop},
};

call_handler *service_handler(const struct op *op)
{
	for (size_t i = 0; i < ARRAY_COUNT(handlers); i++) {
		if (strcmp(handlers[i].name, op->name) == 0)
			return handlers[i].handler;
	}
	return NULL;
}
