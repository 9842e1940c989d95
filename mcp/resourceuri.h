/*
 * resourceuri.h - the URIs of what a server offers to read: pure
 *
 *	boxery://vm/NAME/screenshot	the desktop, as it is when it is read
 *	boxery://vm/NAME/console	the end of its console's log
 *	boxery://copied/PATH		a file that was copied out, its path
 *					in the copy root percent-encoded
 *	ui://boxery/view		the page of vm_view
 *
 * Shapes:  one URI per thing: any other spelling of it is none.
 * Errors:  false.
 * Threads: no state.
 * Source:  RFC 3986 §2.1, §2.3.
 */
#ifndef MCP_RESOURCEURI_H
#define MCP_RESOURCEURI_H

#include <stdbool.h>

#define RESOURCEURI_VIEW "ui://boxery/view"

enum resourceuri_kind {
	RESOURCEURI_SCREENSHOT,
	RESOURCEURI_CONSOLE,
	RESOURCEURI_COPIED,
	RESOURCEURI_PAGE,
};

struct resourceuri {
	enum resourceuri_kind kind;
	char *name; /* the VM's, or the path; owned */
};

bool resourceuri_parse(const char *uri, struct resourceuri *ret);
void resourceuri_finish(struct resourceuri *u);
/* free() */
char *resourceuri_print(enum resourceuri_kind kind, const char *name);

#endif
