/*
 * shelves.h - what boxery has for reading: each VM's screen and console, files
 * that were copied out, prompts, and the page of vm_view
 *
 * Shapes:  a library (library.h) over the service. What a VM wrote is marked:
 *          text is fenced, and every piece has "boxery/untrusted" in its _meta.
 * Units:   bytes.
 * Errors:  jsonrpc faults.
 * Threads: any.
 */
#ifndef MCP_SHELVES_H
#define MCP_SHELVES_H

#include "mcp/copied.h"
#include "mcp/library.h"
#include "mcp/links.h"

struct shelves;

/* Both outlive it. */
struct shelves *shelves_new(struct links *links, struct copied *copied);
/* When no client of its is left. */
void shelves_free(struct shelves *s);
struct library shelves_library(struct shelves *s);

#endif
