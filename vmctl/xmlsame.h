/*
 * xmlsame.h - do two of libvirt's XML texts say the same?
 *
 * Compared are the tags in their order, each with its attributes in any order,
 * and so with lists in them (state='NEW,ESTABLISHED');
 * blanks, the text between tags and <uuid> elements do not count. A text that
 * is not of this simple kind (comments, declarations) is the same as none.
 *
 * Errors:  none: what cannot be read differs.
 * Threads: pure.
 */
#ifndef VMCTL_XMLSAME_H
#define VMCTL_XMLSAME_H

#include <stdbool.h>

bool xmlsame(const char *a, const char *b);

#endif
