#include "mcp/viewpage.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/crypto.h"

#include <stdint.h>
#include <string.h>

/* The files as they are in the tree. */
#define EMBED(symbol, file)                           \
	__asm__(".section .rodata\n"                  \
		".global " #symbol "\n" #symbol ":\n" \
		".incbin \"" file "\"\n"              \
		".byte 0\n"                           \
		".previous\n");                       \
	extern const char symbol[] /* NOLINT(bugprone-macro-parentheses) */

EMBED(viewpage_script, "mcp/view.js");
EMBED(viewpage_style, "mcp/view.css");

static char *hash_of(const char *text, struct err *e)
{
	uint8_t digest[CRYPTO_SHA256_LEN];

	if (crypto_sha256(text, strlen(text), digest, e) != 0)
		return NULL;
	return crypto_base64(digest, sizeof(digest));
}

char *viewpage_html(struct err *e)
{
	autofree char *script = hash_of(viewpage_script, e);
	autofree char *style = hash_of(viewpage_style, e);

	if (!script || !style)
		return NULL;
	return alloc_printf(
		"<!doctype html>\n<html lang=\"en\">\n<head>\n"
		"<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\""
		"default-src 'none'; img-src data:; script-src 'sha256-%s'; "
		"style-src 'sha256-%s'; base-uri 'none'; form-action 'none'"
		"\">\n<title>boxery</title>\n<style>%s</style>\n</head>\n"
		"<body>\n<canvas id=\"screen\" width=\"1\" height=\"1\">"
		"</canvas>\n<p id=\"status\"></p>\n<script>%s</script>\n"
		"</body>\n</html>\n",
		script, style, viewpage_style, viewpage_script);
}

json_t *viewpage_meta(void)
{
	return json_pack("{s:{s:{}, s:b}}", "ui", "csp", "prefersBorder", 1);
}
