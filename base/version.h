/*
 * version.h - which boxery this is
 *
 * Shapes:  what `git describe` said when it was built, or "unknown".
 * Threads: a constant.
 */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

const char *version_string(void);

#endif
