#!/bin/bash
# Machines without a desktop: made headless from the base image alone, and from
# a NoCloud cloud image that has none of our layers. Both images are built when
# what they are made of has changed, and kept beside the other tests' image.
#
#   tests/lab/images.sh        (enters the lab by itself)
top=$(cd "$(dirname "$0")/../.." && pwd)

# keep NAME HASH BUILD-COMMAND…: its image is $images/NAME-HASH.qcow2
keep() {
	local name=$1 file=$images/$1-$2.qcow2
	shift 2
	if [ ! -f "$file" ] || [ ! -f "$file.json" ]; then
		rm -f "$images/$name"-*
		echo "building $file"
		"$@" --out "$file" >"$images/$name.log" ||
			{ tail -n 5 "$images/$name.log" >&2; exit 1; }
	fi
}

# The lab has no way to a Debian mirror: built before it is entered.
if [ -z "${BOXERY_LAB:-}" ]; then
	images=${BOXERY_HOME:-/var/cache/boxery-check}/test-images
	mkdir -p "$images"
	hash_of() { cd "$top" && sha256sum "$@" | sha256sum | cut -c 1-16; }
	# shellcheck disable=SC2046 # none of our files' names has a space
	base_hash=$(hash_of $(cd "$top" && git ls-files guest/build-image \
		guest/boot guest/layers/base))
	# shellcheck disable=SC2046
	cloud_hash=$(hash_of $(cd "$top" && git ls-files guest/build-image \
		guest/boot tests/image/build-cloud-image tests/image/layers))
	keep base "$base_hash" "$top/guest/build-image" --layers base
	keep cloud "$cloud_hash" "$top/tests/image/build-cloud-image" --size 4G
	BASE_IMAGE=$images/base-$base_hash.qcow2
	CLOUD_IMAGE=$images/cloud-$cloud_hash.qcow2
	export BASE_IMAGE CLOUD_IMAGE
	exec "$top/tests/lab/run" "$0" "$@"
fi
# shellcheck source=tests/lab/lib.sh
. "$top/tests/lab/lib.sh"

home=$(mktemp -d /tmp/boxery-images-XXXXXX)
chmod 711 "$home"
trap 'rm -rf "$home"' EXIT
lab_home "$home/h"
group=$(getent group libvirt-qemu | cut -d: -f1)
install -d -m 2710 -o "$lab_uid" -g "$group" "$BOXERY_HOME/data" \
	"$BOXERY_HOME/data/images" "$BOXERY_HOME/data/vms"
must 'init' ask init

in_guest() {
	as_user ssh -F "$BOXERY_HOME/config/ssh_config" "$@" </dev/null
}
# What is true of any machine of ours, whatever it was made from.
is_a_machine() {
	local name=$1 info pin
	info=$(ask vm_info "{\"vm\":\"$name\"}")
	pin=$(field "$info" host_key)
	expect "$name runs" running "$(field "$info" state)"
	[[ $info == *'"desktop":false'* ]] || bad "$name has a desktop: $info"
	# D01, D09
	expect "$name presents one key, the host's" "${pin% *}" \
		"$(ssh-keyscan -T 30 "$(field "$info" address)" 2>/dev/null |
			cut -d' ' -f2- | sort -u)"
	# shellcheck disable=SC2016 # the guest's shell expands it
	expect "$name: user, sudo, host name" "agent root $name" \
		"$(in_guest "$name" 'echo $(id -un) $(sudo id -un) $(hostname)')"
	[[ $(agent vm_run "{\"vm\":\"$name\",\"command\":\"echo \$((6*7))\"}") == \
		*'"stdout":"42\n"'* ]] || bad "vm_run in $name"
	head -c 3000000 /dev/urandom >"$home/h/bytes"
	check "a copy to $name" \
		as_user boxery cp "local:$home/h/bytes" "$name:there"
	expect "what arrived in $name" "$(sha256sum <"$home/h/bytes")" \
		"$(in_guest "$name" 'sha256sum <there')"
	refuse state "$name has no desktop" agent vm_screenshot \
		"{\"vm\":\"$name\"}"
}

# ---- headless ----
refuse not_found 'boxery build-base --layers base' \
	ask vm_new '{"vm":"bare","headless":true}'
cp "$BASE_IMAGE.json" "$BOXERY_HOME/data/images/bare-base.qcow2.json"
chmod 644 "$BOXERY_HOME/data/images/bare-base.qcow2.json"
ln "$BASE_IMAGE" "$BOXERY_HOME/data/images/bare-base.qcow2" 2>/dev/null ||
	cp "$BASE_IMAGE" "$BOXERY_HOME/data/images/bare-base.qcow2"
chmod 644 "$BOXERY_HOME/data/images/bare-base.qcow2"
refuse not_found 'no guest image: run boxery build-base' \
	ask vm_new '{"vm":"bare"}'
t=$SECONDS
must 'new --headless' as_user boxery new --headless bare
say "new to ready: $((SECONDS - t)) s"
is_a_machine bare
expect 'nothing graphical is in it' '' \
	"$(in_guest bare 'ls /usr/bin/*Xvnc* /usr/bin/chromium 2>/dev/null')"
check 'rm' as_user boxery rm --force bare
expect_nothing bare lease

# ---- a cloud image ----
cp "$CLOUD_IMAGE" "$home/h/debian.qcow2"
chmod 644 "$home/h/debian.qcow2"
t=$SECONDS
must 'new --image' as_user boxery new --image "$home/h/debian.qcow2" cloudy
say "new to ready: $((SECONDS - t)) s"
rm "$home/h/debian.qcow2" # what it was made of was taken in
is_a_machine cloudy
expect 'cloud-init is content' 'status: done' \
	"$(in_guest cloudy 'cloud-init status --wait' | tail -n 1)"
expect 'none of our layers' '' \
	"$(in_guest cloudy 'ls /usr/lib/systemd/system/boxery-* 2>/dev/null')"
# cloud-init must not make keys of its own when it comes up again
check 'stop' as_user boxery stop cloudy
check 'start' as_user boxery start cloudy
is_a_machine cloudy
check 'rm' as_user boxery rm --force cloudy
expect_nothing cloudy lease
expect 'its image went with it' '' \
	"$(find "$BOXERY_HOME/data/images" -name 'import-*')"
lab_end
