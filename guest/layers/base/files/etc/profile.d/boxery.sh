# shellcheck shell=sh
# shellcheck source=guest/layers/base/files/usr/lib/boxery/granted
. /usr/lib/boxery/granted
