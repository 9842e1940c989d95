#!/bin/bash
# TCP from a guest through its network filter to an "internet" beyond the
# host, beside the same path without the filter; pairs, interleaved. The guest is
# a namespace behind a port of libvirt's bridge (tests/lab/net.sh), so what is
# measured is the host's part alone. On a busy machine the ratio by CPU time
# says more than the one by the clock. And the time from a DHCP answer to the
# first answer to something else, behind the filter.
set -eu
cd "$(dirname "$0")/.."
export PAIRS=${PAIRS:-10}
if [ -z "${BOXERY_LAB:-}" ]; then
	exec tests/lab/run "$PWD/bench/net.sh"
fi
# shellcheck source=tests/lab/lib.sh
. tests/lab/lib.sh
work=$(mktemp -d /tmp/boxery-bench-net-XXXXXX)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/lab/netlab.sh
. tests/lab/netlab.sh

netlab_places
netlab_network 50 51 52 53
sysctl -qw net.ipv4.ip_forward=1
n=50
for name in nat none other stranger; do
	netlab_port $name $((n++))
done
netlab_filters
netlab_bind nat 50 boxery-guest-isolation
wait_for 40 'the ports forward' netlab_settled nat other
python3 bench/net_pairs.py "$PAIRS"
