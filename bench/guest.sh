#!/bin/bash
# The warm command `true` over our connection, beside OpenSSH's ControlMaster,
# to the same local sshd.
# shellcheck source=bench/sshd.sh
. "$(dirname "$0")/sshd.sh"
rounds=40

ssh "${ssh_options[@]}" -M -N -f -p "$port" "$GUEST_USER@127.0.0.1"
coproc bench { exec "$tools/guest_bench"; }
for ((i = 0; i < rounds; i++)); do
	t=$(now_us)
	ssh "${ssh_options[@]}" -p "$port" "$GUEST_USER@127.0.0.1" true
	echo $(($(now_us) - t)) >> "$dir/peer"
	echo >&"${bench[1]}"
	read -r t <&"${bench[0]}"
	echo "$t" >> "$dir/ours"
done
ssh "${ssh_options[@]}" -O exit -p "$port" "$GUEST_USER@127.0.0.1" 2> /dev/null
ours=$(median < "$dir/ours")
peer=$(median < "$dir/peer")
printf 'warm command         ours %d us  OpenSSH ControlMaster %d us  ratio %s  (aim ≤ 1.0)\n' \
	"$ours" "$peer" "$(ratio "$ours" "$peer")"
