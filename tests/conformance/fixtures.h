/*
 * fixtures.h - the tools that MCP's conformance suite asks a server for
 *
 * Shapes:  a toolset of fixed answers, whose texts the suite prescribes.
 * Threads: any.
 * Source:  npm @modelcontextprotocol/conformance, "Server Implementation
 *          Requirements" of each scenario.
 */
#ifndef TESTS_CONFORMANCE_FIXTURES_H
#define TESTS_CONFORMANCE_FIXTURES_H

#include "mcp/tools.h"

struct toolset fixtures_tools(void);
void fixtures_free(struct toolset *t);

#endif
