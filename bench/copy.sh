#!/bin/bash
# 256 MiB to and from a guest, beside OpenSSH's sftp of the same, pairs,
# interleaved, to the same local sshd with the same cipher.
# shellcheck source=bench/sshd.sh
. "$(dirname "$0")/sshd.sh"
pairs=${PAIRS:-10}
head -c $((256 << 20)) /dev/urandom > "$dir/big"
mkdir "$dir/there" "$dir/back"

time_us() {
	local t
	t=$(now_us)
	"$@" > /dev/null
	echo $(($(now_us) - t))
}
sftp_do() {
	sftp -q "${ssh_options[@]}" -P "$port" -b - "$GUEST_USER@127.0.0.1" <<< "$1"
}
ours_do() {
	"$tools/copy_drive" -k "$dir/client" -h "$dir/host.pub" -u "$GUEST_USER" \
		-a "$port" "$1" "$2"
}
for _ in $(seq "$pairs"); do
	rm -rf "${dir:?}/there/"* "$dir/back/"*
	time_us sftp_do "put $dir/big $dir/there/sftp" >> "$dir/put.peer"
	time_us ours_do "local:$dir/big" "a:$dir/there/ours" >> "$dir/put.ours"
	time_us sftp_do "get $dir/there/sftp $dir/back/sftp" >> "$dir/get.peer"
	time_us ours_do "a:$dir/there/ours" "local:$dir/back/ours" >> "$dir/get.ours"
	cmp "$dir/big" "$dir/there/ours"
	cmp "$dir/big" "$dir/back/ours"
done
for way in put get; do
	ours=$(median < "$dir/$way.ours")
	peer=$(median < "$dir/$way.peer")
	printf 'vm_copy 256 MiB %s  ours %d MiB/s  sftp %d MiB/s  throughput ratio %s  (aim ≥ 1.0; %d pairs)\n' \
		"$way" $((256000000 / ours)) $((256000000 / peer)) \
		"$(ratio "$peer" "$ours")" "$pairs"
done
