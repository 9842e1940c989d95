#!/bin/sh
# Each folder is a layer: it may include itself and what stands below it.
# Prints every include that points upward and fails.
set -eu
cd "$(dirname "$0")/../.."
rc=0

allow() {
	layer=$1
	allowed=$2
	[ -d "$layer" ] || return 0
	bad=$(grep -nE '^#include "[a-z]+/' "$layer"/*.[ch] 2>/dev/null |
		grep -vE "#include \"($allowed)/" || true)
	if [ -n "$bad" ]; then
		printf 'layer %s may include only %s:\n%s\n' \
			"$layer" "$allowed" "$bad" >&2
		rc=1
	fi
}

allow base 'base'
allow ops 'ops|base'
allow grants 'grants|ops|base'
allow desktop 'desktop|grants|ops|base'
allow vmctl 'vmctl|desktop|grants|ops|base'
allow proxy 'proxy|grants|ops|base'
allow mcp 'mcp|ops|base'
allow cli 'cli|ops|base'
# has capabilities: nothing of ours goes into it
allow netread 'netread'

# One user per library.
only() {
	header=$1
	file=$2
	bad=$(grep -lE "^#include <$header" ./*/*.[ch] 2>/dev/null |
		grep -vE "^\./($file)\.[ch]\$" || true)
	if [ -n "$bad" ]; then
		printf '<%s…> belongs to %s, also included by:\n%s\n' \
			"$header" "$file" "$bad" >&2
		rc=1
	fi
}
only 'libssh' 'vmctl/(guest|guest_[a-z]+)'
only 'libvirt' 'vmctl/backend_libvirt[a-z_]*'
only 'xcb' 'desktop/x11[a-z_]*'
only 'png' 'desktop/png'
only 'turbojpeg' 'desktop/jpeg'
only 'sqlite3' 'base/db'
only 'openssl' 'base/(crypto|secret)'

# Whatever goes to a guest goes by the session whose host key was compared
# (D01, D02, D03, D04, D05, D06, D07: files, tokens, keys that are forwarded).
bad=$(grep -lE 'ssh_userauth' ./*/*.c 2>/dev/null |
	grep -v '^\./vmctl/guest_session\.c$' || true)
if [ -n "$bad" ]; then
	printf 'only vmctl/guest_session.c logs in to a guest, also:\n%s\n' \
		"$bad" >&2
	rc=1
fi
exit $rc
