#include "base/err.h"

#include "base/cleanup.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef err_set
#undef err_sys
#undef err_wrap

/*
 * Messages are formatted into a buffer of twice the size of msg and escaped
 * from there, so that what vsnprintf() cuts off is never what is shown.
 */
#define DRAFT_SIZE (2 * sizeof(((struct err *)0)->msg))

/*
 * JSON-RPC: -32602 and -32603 are the standard's; MCP reserves -32000 to
 * -32029 for itself, so ours follow below that.
 */
static const struct {
	const char *name;
	int exit_status;
	int jsonrpc;
	int http;
} codes[ERR_CODE_COUNT] = {
	[ERR_NONE] = {"none", 0, 0, 200},
	[ERR_INVALID] = {"invalid", 2, -32602, 400},
	[ERR_NOT_FOUND] = {"not_found", 3, -32041, 404},
	[ERR_EXISTS] = {"exists", 4, -32042, 409},
	[ERR_DENIED] = {"denied", 5, -32043, 403},
	[ERR_BUSY] = {"busy", 6, -32044, 409},
	[ERR_STATE] = {"state", 7, -32045, 409},
	[ERR_TIMEOUT] = {"timeout", 8, -32046, 504},
	[ERR_LIMIT] = {"limit", 9, -32047, 413},
	[ERR_UNAVAILABLE] = {"unavailable", 10, -32048, 503},
	[ERR_NOSPACE] = {"nospace", 11, -32049, 507},
	[ERR_CANCELLED] = {"cancelled", 130, -32050, 499},
	[ERR_PROTOCOL] = {"protocol", 12, -32051, 502},
	[ERR_SYSTEM] = {"system", 1, -32603, 500},
	[ERR_INTERNAL] = {"internal", 70, -32603, 500},
};

static void put_msg(struct err *e, char *draft)
{
	size_t len = strlen(draft);

	/* libraries end their messages with newlines */
	while (len > 0 && (draft[len - 1] == '\n' || draft[len - 1] == '\r'))
		len--;
	utf8_escape(e->msg, sizeof(e->msg), draft, len);
}

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
	char draft[DRAFT_SIZE];
	int saved = errno;
	va_list ap;

	if (!e)
		return -1;
	va_start(ap, fmt);
	if (vsnprintf(draft, sizeof(draft), fmt, ap) < 0)
		draft[0] = '\0';
	va_end(ap);
	e->code = code;
	e->errnum = 0;
	put_msg(e, draft);
	errno = saved;
	return -1;
}

static enum err_code code_of_errno(int errnum)
{
	switch (errnum) {
	case ENOENT:
		return ERR_NOT_FOUND;
	case EEXIST:
		return ERR_EXISTS;
	case EACCES:
	case EPERM:
		return ERR_DENIED;
	case ENOSPC:
	case EDQUOT:
		return ERR_NOSPACE;
	case ETIMEDOUT:
		return ERR_TIMEOUT;
	default:
		return ERR_SYSTEM;
	}
}

int err_sys(struct err *e, const char *fmt, ...)
{
	char draft[DRAFT_SIZE];
	char reason[128];
	int saved = errno;
	va_list ap;
	int n;

	if (!e)
		return -1;
	va_start(ap, fmt);
	n = vsnprintf(draft, sizeof(draft), fmt, ap);
	va_end(ap);
	if (n < 0)
		n = 0;
	/* a long name must not push the reason out of the message */
	if ((size_t)n > sizeof(e->msg) - sizeof(reason))
		n = sizeof(e->msg) - sizeof(reason);
	snprintf(draft + n, sizeof(draft) - (size_t)n, ": %s",
		 strerror_r(saved, reason, sizeof(reason)));
	e->code = code_of_errno(saved);
	e->errnum = saved;
	put_msg(e, draft);
	errno = saved;
	return -1;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	char draft[DRAFT_SIZE];
	int saved = errno;
	va_list ap;
	int n;

	if (!e)
		return -1;
	va_start(ap, fmt);
	n = vsnprintf(draft, sizeof(draft), fmt, ap);
	va_end(ap);
	if (n < 0)
		n = 0;
	if ((size_t)n > sizeof(e->msg) / 2)
		n = sizeof(e->msg) / 2;
	snprintf(draft + n, sizeof(draft) - (size_t)n, ": %s", err_msg(e));
	if (e->code == ERR_NONE)
		e->code = ERR_INTERNAL;
	put_msg(e, draft);
	errno = saved;
	return -1;
}

const char *err_msg(const struct err *e)
{
	return e && e->msg[0] ? e->msg : "unknown error";
}

static enum err_code known(enum err_code code)
{
	return (unsigned)code < ERR_CODE_COUNT ? code : ERR_INTERNAL;
}

const char *err_quote(char ret[ERR_QUOTE_SIZE], const char *text, size_t len)
{
	static const char cut[] = "\xe2\x80\xa6"; /* … */
	char *to = ret;

	*to++ = '"';
	if (len > ERR_QUOTE_LEN) {
		text += len - ERR_QUOTE_LEN;
		len = ERR_QUOTE_LEN;
		memcpy(to, cut, sizeof(cut) - 1);
		to += sizeof(cut) - 1;
	}
	for (; len > 0; len--, text++) {
		char c = *text;

		if (c == '"')
			c = '\'';
		else if (c == '\0')
			c = ' ';
		*to++ = c;
	}
	*to++ = '"';
	*to = '\0';
	return ret;
}

const char *err_code_name(enum err_code code)
{
	return codes[known(code)].name;
}

enum err_code err_code_parse(const char *name)
{
	for (unsigned i = ERR_NONE + 1; i < ERR_CODE_COUNT; i++) {
		if (strcmp(codes[i].name, name) == 0)
			return (enum err_code)i;
	}
	return ERR_INTERNAL;
}

int err_exit_status(enum err_code code)
{
	return codes[known(code)].exit_status;
}

int err_jsonrpc(enum err_code code)
{
	return codes[known(code)].jsonrpc;
}

int err_http(enum err_code code)
{
	return codes[known(code)].http;
}
