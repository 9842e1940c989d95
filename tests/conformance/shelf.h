/*
 * shelf.h - the resources, prompts and completions that MCP's conformance suite
 * asks a server for
 *
 * Shapes:  a library of fixed answers, whose texts the suite prescribes.
 * Threads: any.
 * Source:  npm @modelcontextprotocol/conformance, "Server Implementation
 *          Requirements" of each scenario.
 */
#ifndef TESTS_CONFORMANCE_SHELF_H
#define TESTS_CONFORMANCE_SHELF_H

#include "mcp/library.h"

struct library fixtures_library(struct feed *feed);

#endif
