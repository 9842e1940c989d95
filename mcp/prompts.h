/*
 * prompts.h - prompts that a person picks in their client: how an agent is to
 * use a desktop well
 *
 * Shapes:  the list and each prompt as MCP has them; texts are ours, with the
 *          person's arguments put in as they are.
 * Errors:  jsonrpc faults: JSONRPC_INVALID_PARAMS for a name or an argument
 *          that is none.
 * Threads: no state; new references.
 * Source:  MCP 2025-11-25 "Prompts".
 */
#ifndef MCP_PROMPTS_H
#define MCP_PROMPTS_H

#include "mcp/protocol.h"

json_t *prompts_list(void);
/* args: an object of strings, or NULL. A result, or NULL. */
json_t *prompts_get(const char *name, const json_t *args,
		    struct jsonrpc_fault *f);
/* Is there such an argument of such a prompt, and is it the name of a VM? */
bool prompts_has(const char *name, const char *arg, bool *ret_is_vm);

#endif
