#!/bin/bash
# What a real machine is granted: a variable, a file and an ssh agent, used in
# it and taken back; and what a reboot and panic leave of it.
#
#   tests/lab/grants.sh           (enters the lab by itself)
#
# What stands in single quotes is for the guest's shell; wait_for calls.
# shellcheck disable=SC2016,SC2317
if [ -z "${BOXERY_LAB:-}" ]; then
	exec "$(dirname "$0")/run" "$0" "$@"
fi
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"

home=$(mktemp -d /tmp/boxery-grants-XXXXXX)
chmod 711 "$home"
agent_pid=
trap '[ -z "$agent_pid" ] || kill "$agent_pid"; rm -rf "$home"' EXIT

lab_home "$home/h"
group=$(getent group libvirt-qemu | cut -d: -f1)
install -d -m 2710 -o "$lab_uid" -g "$group" "$BOXERY_HOME/data" \
	"$BOXERY_HOME/data/images" "$BOXERY_HOME/data/vms"
must 'the packet filter can be read' lab_netread
must 'init' ask init
lab_image

# ---- the person: a variable, a file, an ssh agent, a terminal ----
person=$home/person
install -d -m 700 -o "$lab_uid" "$person"
printf 'canary-file' > "$person/netrc"
ssh-keygen -q -t ed25519 -N '' -C granted -f "$person/key"
chown -R "$lab_uid" "$person"
as_user ssh-agent -D -a "$person/agent.sock" > /dev/null 2>&1 &
agent_pid=$!
wait_for 10 'an ssh agent' test -S "$person/agent.sock"
as_user env SSH_AUTH_SOCK="$person/agent.sock" ssh-add -q "$person/key" 2> /dev/null
key=$(cut -d' ' -f2 "$person/key.pub")

boxery() { as_user "$bin/boxery" --quiet "$@" < /dev/null; }
# yes WORDS…: typed in a terminal, and answered there with y
yes_to() {
	local words
	words=$(printf ' %q' "$bin/boxery" --quiet "$@")
	# the answer comes once the question is there
	{
		sleep 3
		echo y
	} | as_user env TOKEN=canary-env SSH_AUTH_SOCK="$person/agent.sock" \
		timeout 600 script -qec "$words" /dev/null
}
guest() { boxery run demo -- bash -lc "$1"; }
plain() { boxery run demo -- bash -c "$1"; }
row() { boxery grants demo --json | tr '{' '\n' | grep -F "\"grant\":\"$1"; }
applied() { row "$1" | grep -q '"state":"applied"'; }

# ---- with new, and afterwards ----
yes_to new demo --grant env:TOKEN > "$home/out" 2>&1
wait_for 5 'new --grant' state_is demo running ||
	bad "$(cat "$home/out")"
grep -q 'May the new VM demo use this' "$home/out" || bad 'no question'
check 'env: applied' applied env:TOKEN
expect 'env: a login' canary-env "$(guest 'echo $TOKEN')"
expect 'env: a command' canary-env "$(plain 'echo $TOKEN')"
expect 'env: boxery ssh' canary-env \
	"$(as_user ssh -F "$BOXERY_HOME/config/ssh_config" demo 'echo $TOKEN' < /dev/null)"
expect 'env: a terminal' canary-env \
	"$(plain "env -u TOKEN script -qec 'bash -ic \"echo \\\$TOKEN\"' /dev/null" | tr -d '\r')"
expect 'env: in memory' 'tmpfs 400' "$(plain \
	'f=/run/user/1000/boxery-grants/env/TOKEN; echo $(stat -f -c %T $f) $(stat -c %a $f)')"
yes_to grant demo "file:$person/netrc=>~/sub/netrc" ssh-agent > "$home/out" 2>&1
wait_for 30 'file: applied' applied file:
wait_for 60 'ssh-agent: applied' applied ssh-agent
expect 'file: its content' canary-file "$(plain 'cat ~/sub/netrc')"
expect 'ssh-agent: the key' "$key" "$(plain 'ssh-add -L' | cut -d' ' -f2)"
expect 'ssh-agent: a signature' ok "$(plain '
	cd /tmp && ssh-add -L > k.pub && echo data > data &&
	ssh-keygen -q -Y sign -f k.pub -n file data 2>/dev/null && echo ok')"

# ---- taken back ----
check 'revoke env' boxery revoke demo env:TOKEN
expect 'env: gone' '<>' "$(plain 'echo "<$TOKEN>"')"
check 'agent-forward off' boxery agent-forward off demo
expect 'ssh-agent: gone' no "$(plain 'ssh-add -L >/dev/null 2>&1 || echo no')"
expect 'file: still there' canary-file "$(plain 'cat ~/sub/netrc')"

# ---- a reboot and its end ----
check 'stop' ask vm_stop '{"vm":"demo"}'
before=$(cat "$BOXERY_HOME/config/tokens.json")
check 'start' ask vm_start '{"vm":"demo"}'
[ "$before" != "$(cat "$BOXERY_HOME/config/tokens.json")" ] ||
	bad 'the token is the old one'
expect 'file: after a boot' canary-file "$(plain 'cat ~/sub/netrc')"
check 'panic' boxery panic
expect 'panic: paused' paused "$(state_of demo)"
expect 'panic: nothing is granted' '' "$(row '')"
refuse state paused ask vm_run '{"vm":"demo","argv":["true"]}'
check 'start after panic' ask vm_start '{"vm":"demo"}'
expect 'file: gone' gone "$(plain 'ls -d ~/sub 2>/dev/null || echo gone')"
check 'rm' ask vm_rm '{"vm":"demo","force":true}'
expect_nothing demo
grep -rqs 'canary' "$BOXERY_HOME/state" "$BOXERY_HOME/config" &&
	bad "a value: $(grep -rls canary "$BOXERY_HOME/state" "$BOXERY_HOME/config")"
lab_end
