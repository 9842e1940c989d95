#include "vmctl/handlers.h"

#include "base/cleanup.h"
#include "vmctl/service.h"

#include <string.h>

/* In the order of ops/table.c. */
static const struct {
	const char *name;
	call_handler *handler;
} handlers[] = {
	{"vm_list", op_vm_list},
	{"vm_info", op_vm_info},
	{"vm_new", op_vm_new},
	{"vm_start", op_vm_start},
	{"vm_stop", op_vm_stop},
	{"vm_rm", op_vm_rm},
	{"vm_pin", op_vm_pin},
	{"vm_run", op_vm_run},
	{"vm_read", op_vm_read},
	{"vm_write", op_vm_write},
	{"vm_edit", op_vm_edit},
	{"vm_copy", op_vm_copy},
	{"vm_screenshot", op_vm_screenshot},
	{"vm_click", op_vm_click},
	{"vm_move", op_vm_move},
	{"vm_drag", op_vm_drag},
	{"vm_scroll", op_vm_scroll},
	{"vm_type", op_vm_type},
	{"vm_key", op_vm_key},
	{"vm_wait", op_vm_wait},
	{"vm_actions", op_vm_actions},
	{"vm_view", op_vm_view},
	{"vm_windows", op_vm_windows},
	{"vm_window", op_vm_window},
	{"vm_hold", op_vm_hold},
	{"vm_mouse_down", op_vm_mouse_down},
	{"vm_mouse_up", op_vm_mouse_up},
	{"vm_clipboard", op_vm_clipboard},
	{"vm_launch", op_vm_launch},
	{"vm_grant", op_vm_grant},
	{"vm_revoke", op_vm_revoke},
	{"vm_grants", op_vm_grants},
	{"agent_forward", op_agent_forward},
	{"approvals", op_approvals},
	{"approve", op_approve},
	{"deny", op_deny},
	{"panic", op_panic},
	{"audit", op_audit},
	{"init", op_init},
	{"upgrade", op_init},
	{"doctor", op_doctor},
	{"build_base", op_build_base},
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
