# Sourced by the lab's tests: an instance of boxery of its own, and checks.
# shellcheck shell=bash
#
#   lab_home DIR      a fresh BOXERY_HOME owned by the test's user
#   lab_image         puts a guest image in it
#   ask OP [JSON]     one call as a person;  agent OP [JSON]  as an agent
#   check TEXT CMD…   CMD must succeed;  refuse CODE PATTERN CMD…  must fail
#   has FILE/STRING …

set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bin=$top/build/${MODE:-release}/bin
tools=$top/build/${MODE:-release}/tools
export PATH=$bin:$PATH

# An ordinary user in group libvirt: tests/lab/run makes it.
lab_uid=${LAB_UID:-60123}
libvirt_gid=$(getent group libvirt | cut -d: -f3)

if [ -z "${BOXERY_LAB:-}" ]; then
	echo "run it in the lab: tests/lab/run $0" >&2
	exit 1
fi

# tests/run keeps the guest image in a home of its own
suite_home=${BOXERY_HOME:-/var/cache/boxery-check}
begin=$SECONDS
failures=0

say() { printf '[%3d s] %s\n' $((SECONDS - begin)) "$*"; }
bad() {
	printf '[%3d s] FAIL: %s\n' $((SECONDS - begin)) "$*"
	failures=$((failures + 1))
}

# The service keeps the client's groups, so all of it runs as this user.
as_user() {
	if [ "$lab_uid" -eq 0 ]; then
		"$@"
	else
		setpriv --reuid "$lab_uid" --regid "$lab_uid" \
			--groups "$libvirt_gid" --inh-caps=-all -- "$@"
	fi
}

lab_home() {
	BOXERY_HOME=$1
	export BOXERY_HOME
	export HOME=$BOXERY_HOME/nohome
	mkdir -p "$BOXERY_HOME"
	chmod 711 "$BOXERY_HOME"
	chown "$lab_uid:$lab_uid" "$BOXERY_HOME"
}

# The helper that reads the packet filter, as `boxery init` has root do it.
netread=/usr/local/libexec/boxery-netread
lab_netread() {
	install -D -m 0750 -o root -g libvirt "$bin/boxery-netread" "$netread" &&
		setcap cap_net_admin,cap_net_raw=ep "$netread"
}

# The newest image that somebody built on this host.
lab_find_image() {
	local f
	for f in ${BOXERY_TEST_IMAGE:-} \
		$(ls -t "$suite_home"/data/images/*desktop*.qcow2 \
			/var/lib/boxery/*/images/*desktop*.qcow2 2>/dev/null); do
		if [ -f "$f" ] && [ -f "$f.json" ]; then
			echo "$f"
			return 0
		fi
	done
	echo "no guest image: boxery build-base, or set BOXERY_TEST_IMAGE" >&2
	return 1
}

lab_image() {
	local from to=$BOXERY_HOME/data/images/test.qcow2
	from=$(lab_find_image) || exit 1
	cp "$from.json" "$to.json"
	chmod 644 "$to.json"
	# the same file where that works: its folder may be closed to our user
	ln "$from" "$to" 2>/dev/null || ln -s "$from" "$to"
	as_user test -r "$to" || bad "cannot read $from"
}

ask() { as_user "$tools/ask" --quiet "$@"; }
agent() { as_user "$tools/ask" --quiet --agent --client robot "$@"; }

check() {
	local what=$1
	shift
	if "$@" >/tmp/lab-out.$$ 2>&1; then
		say "ok: $what"
	else
		bad "$what: $(tail -n 3 /tmp/lab-out.$$)"
	fi
	rm -f /tmp/lab-out.$$
}

# What the rest cannot do without.
must() {
	local before=$failures
	check "$@"
	[ "$failures" -eq "$before" ] || lab_end
}

# refuse CODE PATTERN COMMAND…: it fails with that code and says that.
refuse() {
	local code=$1 pattern=$2 said
	shift 2
	if said=$("$@" 2>&1); then
		bad "accepted: $* ($said)"
	elif [[ $said != *"$code: "* || $said != *$pattern* ]]; then
		bad "$*: wanted $code \"$pattern\", got: $said"
	else
		say "ok: refused: $said"
	fi
}

# field JSON KEY: a string member of a flat object.
field() { sed -n "s/.*\"$2\":\"\\([^\"]*\\)\".*/\\1/p" <<<"$1"; }
state_is() { [ "$(state_of "$1")" = "$2" ]; }
state_of() { field "$(ask vm_info "{\"vm\":\"$1\"}" 2>/dev/null)" state; }

expect() {
	if [ "$2" = "$3" ]; then
		say "ok: $1: $3"
	else
		bad "$1: wanted \"$2\", got \"$3\""
	fi
}

# wait_for SECONDS TEXT COMMAND…
wait_for() {
	local until=$((SECONDS + $1)) what=$2
	shift 2
	while ! "$@" >/tmp/lab-wait.$$ 2>&1; do
		if [ "$SECONDS" -ge "$until" ]; then
			bad "$what: not within the time: $(tail -n 3 /tmp/lab-wait.$$)"
			rm -f /tmp/lab-wait.$$
			return 1
		fi
		sleep 0.3
	done
	rm -f /tmp/lab-wait.$$
}

service_pid() {
	ask service_status | sed -n 's/.*"pid":\([0-9]*\).*/\1/p'
}

# Everything that a VM is made of, but for the records.
leftovers() {
	virsh -q -c qemu:///system list --all --name | grep -- "-$1\$"
	find "$BOXERY_HOME/data/vms" "$BOXERY_HOME/config/host-keys" \
		"$BOXERY_HOME/config/keys" -name "$1" -o -name "$1.*" 2>/dev/null
	find "$BOXERY_HOME/data/images" -name '.*' -type f
	grep -s "^Host boxery-$1 " "$BOXERY_HOME/config/ssh_config"
	if [ "${2:-}" != lease ]; then return 0; fi
	virsh -q -c qemu:///system net-dumpxml default |
		grep "<host mac='$(lab_mac)"
}
# What this home is called in libvirt.
lab_instance() {
	echo "h$(realpath "$BOXERY_HOME" | tr -d '\n' | sha256sum | cut -c 1-8)"
}
# What the MACs of its machines begin with.
lab_mac() {
	printf '%s' "$(lab_instance)" | sha256sum |
		sed 's/^\(..\)\(..\).*/52:54:\1:\2:/'
}

expect_nothing() {
	local left
	left=$(leftovers "$@")
	expect "nothing is left of $1" '' "$left"
	[[ $(ask vm_list) == *"\"name\":\"$1\""* ]] && bad "$1 is still listed"
	return 0
}

lab_end() {
	ask service_stop >/dev/null 2>&1
	if [ "$failures" -gt 0 ]; then
		echo "-- the service's log"
		tail -n 40 "$BOXERY_HOME/state/host.log"
		echo "-- libvirt's"
		tail -n 20 /run/lab/libvirtd.log
		say "$failures failed"
		exit 1
	fi
	say "all as it should be"
	exit 0
}
