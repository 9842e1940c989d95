/*
 * icon.h - boxery's icon, for clients that show one
 *
 * Shapes:  a data: URL of an image/png, 32 by 32 px.
 * Threads: a constant.
 */
#ifndef MCP_ICON_H
#define MCP_ICON_H

#define ICON_URL                                                               \
	"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAACAAAAAgAgMAAAAOFJ" \
	"JnAAAADFBMVEUAAAAfb+v///8WGyLapMXBAAAAAXRSTlMAQObYZgAAADdJREFUeN" \
	"pjYMANWEPBIAAbo/4/EPzFzli1Hp2BRc2q1WgMPAYSwcDtVCAQDYH6CIMBUoLKQA" \
	"MAqrNrYM/DgDAAAAAASUVORK5CYII="

#endif
