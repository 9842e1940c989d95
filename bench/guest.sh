#!/bin/bash
# The warm command `true` over our connection, beside OpenSSH's ControlMaster,
# to the same local sshd.
# shellcheck source=bench/sshd.sh
. "$(dirname "$0")/sshd.sh"
rounds=20

ssh "${ssh_options[@]}" -M -N -f -p "$port" "$GUEST_USER@127.0.0.1"
peer=$(for _ in $(seq "$rounds"); do
	t=$(now_us)
	ssh "${ssh_options[@]}" -p "$port" "$GUEST_USER@127.0.0.1" true
	echo $(($(now_us) - t))
done | median)
ssh "${ssh_options[@]}" -O exit -p "$port" "$GUEST_USER@127.0.0.1" 2> /dev/null
ours=$("$tools/guest_bench" "$rounds" | median)
printf 'warm command         ours %d us  OpenSSH ControlMaster %d us  ratio %s  (aim ≤ 1.0)\n' \
	"$ours" "$peer" "$(ratio "$ours" "$peer")"
