/*
 * handlers.h - the functions behind the rows of the operations table: the wire
 * name is the C name
 *
 * Shapes:  call_handler of vmctl/call.h. args are valid and complete (what the
 *          table says of a parameter holds); *ret_result is a new object, or
 *          left alone for {}.
 * Threads: each runs on its call's thread.
 */
#ifndef VMCTL_HANDLERS_H
#define VMCTL_HANDLERS_H

#include "vmctl/call.h"

call_handler op_vm_run;
call_handler op_vm_read;
call_handler op_vm_write;
call_handler op_vm_edit;
call_handler op_vm_copy;
call_handler op_vm_screenshot;
call_handler op_vm_view;
call_handler op_vm_click;
call_handler op_vm_move;
call_handler op_vm_drag;
call_handler op_vm_scroll;
call_handler op_vm_type;
call_handler op_vm_key;
call_handler op_vm_actions;
call_handler op_vm_windows;
call_handler op_vm_window;
call_handler op_vm_clipboard;
call_handler op_vm_launch;
call_handler op_vm_hold;
call_handler op_vm_mouse_down;
call_handler op_vm_mouse_up;
call_handler op_vm_list;
call_handler op_vm_info;
call_handler op_vm_new;
call_handler op_vm_start;
call_handler op_vm_stop;
call_handler op_vm_rm;
call_handler op_vm_pin;
call_handler op_vm_wait;
call_handler op_vm_grant;
call_handler op_vm_revoke;
call_handler op_vm_grants;
call_handler op_agent_forward;
call_handler op_approvals;
call_handler op_approve;
call_handler op_deny;
call_handler op_panic;
call_handler op_audit;
call_handler op_init;
call_handler op_doctor;
call_handler op_build_base;
call_handler op_service_status;
call_handler op_service_stop;

#endif
