/*
 * viewpage.h - the page of vm_view, an MCP App
 *
 * Shapes:  one HTML text. Its policy lets it load nothing: no source of any
 *          kind but images from data: URLs, and the one script and the one
 *          style whose hashes it names.
 * Errors:  ERR_INTERNAL.
 * Threads: no state.
 * Source:  npm @modelcontextprotocol/ext-apps 2.0.4 (MCP Apps 2026-01-26);
 *          CSP Level 3.
 */
#ifndef MCP_VIEWPAGE_H
#define MCP_VIEWPAGE_H

#include "base/err.h"

#include <jansson.h>

#define VIEWPAGE_MIME "text/html;profile=mcp-app"

/* free() */
char *viewpage_html(struct err *e) __attribute__((warn_unused_result));
/* {"ui": …} of the resource: what a host must allow it, which is nothing. */
json_t *viewpage_meta(void);

#endif
