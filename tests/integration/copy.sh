#!/bin/bash
# vm_copy against real sshds on 127.0.0.1: trees, resumption, faults, guests
# that lie, figures beside OpenSSH's sftp.
#
# As root it goes into a mount namespace whose /etc/passwd has one more user;
# else it logs in as who runs the test, and what needs mounts is left to root.
set -eu
cd "$(dirname "$0")/../.."
make -s build/release/tools/copy_drive
drive_bin=$PWD/build/release/tools/copy_drive

if [ "$(id -u)" = 0 ] && [ -z "${COPY_TEST_INSIDE:-}" ]; then
	COPY_TEST_INSIDE=1 exec unshare -m --propagation private -- "$0" "$@"
fi
dir=$(mktemp -d /tmp/boxery-copy-XXXXXX)
chmod 755 "$dir"
pids=()
finish() {
	local pid
	for pid in "${pids[@]}"; do
		kill "$pid" 2> /dev/null || true
	done
	umount "$dir"/*/small "$dir/small" 2> /dev/null || true
	chmod -R u+rwX "$dir" 2> /dev/null || true
	rm -rf "$dir"
}
trap finish EXIT

user=$(id -un)
guest=$dir/guest # a place in the guest, by its absolute path
mkdir -p "$guest" "$dir/local" "$dir/tools"
if [ "$(id -u)" = 0 ]; then
	user=boxcopy
	# not that of another run: processes are looked for by it
	uid=$((40000 + RANDOM % 20000))
	mkdir -p "$dir/home" /run/sshd
	sed "/^boxcopy:/d" /etc/passwd > "$dir/passwd"
	echo "boxcopy:x:$uid:$uid::$dir/home:/bin/bash" >> "$dir/passwd"
	mount --bind "$dir/passwd" /etc/passwd
	chown "$uid:$uid" "$dir/home" "$guest"
fi
for key in host client; do
	ssh-keygen -q -t ed25519 -N '' -C '' -f "$dir/$key"
done
cp "$dir/client.pub" "$dir/authorized"
chmod 644 "$dir/authorized"

# start_sshd NAME LINE…: leaves its port in $port
start_sshd() {
	local name=$1
	shift
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		port=$((20000 + RANDOM % 12000))
		printf '%s\n' "Port $port" 'ListenAddress 127.0.0.1' \
			"HostKey $dir/host" 'UsePAM no' 'StrictModes no' \
			"AuthorizedKeysFile $dir/authorized" 'PidFile none' \
			'PasswordAuthentication no' 'MaxStartups 100' \
			'Subsystem sftp internal-sftp' "$@" > "$dir/$name.conf"
		/usr/sbin/sshd -D -f "$dir/$name.conf" -E "$dir/$name.log" &
		pids+=("$!")
		for _ in $(seq 50); do
			grep -q 'Server listening' "$dir/$name.log" \
				2> /dev/null && return 0
			kill -0 "${pids[-1]}" 2> /dev/null || break
			sleep 0.1
		done
	done
	echo "no sshd: $(cat "$dir/$name.log")" >&2
	return 1
}
start_sshd main
main_port=$port

# copy FROM TO: the result is in $out (JSON), the error in $err, status in $rc
copy() {
	rc=0
	BOXERY_HOME=$dir/bx "$drive_bin" -k "$dir/client" \
		-h "$dir/host.pub" -u "$user" -a "$main_port" \
		-b "$main_port" "$@" > "$dir/out" 2> "$dir/err" || rc=$?
	out=$(cat "$dir/out")
	err=$(cat "$dir/err")
}
# the same to a guest with other tools
copy_odd() {
	local main_port=$odd_port
	copy "$@"
}
in_guest() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid="$uid" --regid="$uid" --clear-groups -- "$@"
	else
		"$@"
	fi
}

passed=0
fail() {
	echo "FAIL  $1: rc=$rc out=$out err=$err" >&2
	exit 1
}
ok() {
	echo "ok    $1"
	passed=$((passed + 1))
}
good() { [ "$rc" = 0 ] || fail "$1"; }
# refused NAME TEXT: it failed, and said so
refused() {
	[ "$rc" != 0 ] || fail "$1: was not refused"
	case $err in *"$2"*) ;; *) fail "$1: wanted \"$2\"" ;; esac
}
# says KEY NUMBER
says() {
	[ "$(value "$1")" = "$2" ] || fail "wanted $1 $2"
}
value() { grep -o "\"$1\": [0-9]*" <<< "$out" | cut -d' ' -f2; }
# everything that is kept of a tree, whatever lies around it
describe() {
	(cd "$1" && find . -printf '%y %m %T@ %l %P\0' | sort -z |
		tr '\0' '\n' && find . -type f -print0 | sort -z |
		xargs -0r sha256sum --)
}
same() {
	describe "$1" > "$dir/one"
	describe "$2" > "$dir/two"
	cmp -s "$dir/one" "$dir/two" || {
		diff "$dir/one" "$dir/two" >&2 || true
		fail "$3: the trees differ"
	}
}
no_parts() {
	[ -z "$(find "$1" -name '.boxery-part-*' 2> /dev/null)" ] ||
		fail "$2: partial files were left"
}

# ---- a tree with everything ---------------------------------------------------
src=$dir/local/src
mkdir -p "$src/sub/deep/deeper" "$src/empty" "$src/-dash"
printf 'hello\n' > "$src/a"
: > "$src/none"
head -c 300000 /dev/urandom > "$src/sub/middle"
head -c 5000000 /dev/urandom > "$src/sub/large"
head -c 131072 /dev/urandom > "$src/sub/edge"
head -c 131073 /dev/urandom > "$src/sub/over"
printf x > "$src/sub/"$'new\nline'
printf x > "$src/sub/"$'\xff\xfe\x81'
printf x > "$src/sub/it's \"\$(id)\` * ~ \\ #"
printf x > "$src/-dash/-rf"
printf x > "$src/ blank "
printf x > "$src/$(printf 'n%.0s' $(seq 255))"
ln -s nowhere "$src/dangling"
ln -s /etc/passwd "$src/absolute"
ln -s ../a "$src/sub/"$'link\n'
ln -s "$(printf 't%.0s' $(seq 3000))" "$src/far"
chmod 755 "$src/a"
chmod 400 "$src/none"
chmod 4711 "$src/sub/middle"
chmod 1777 "$src/empty"
touch -d '2001-02-03 04:05:06.789012345' "$src/a" "$src/sub/deep"
touch -d '1960-01-01 00:00:00.5' "$src/sub/large"
touch -h -d '2011-01-01 00:00:00.25' "$src/dangling"
chmod 555 "$src/sub/deep"
# what is not kept: setuid, setgid, sticky
cp -a "$src" "$dir/local/want"
chmod 711 "$dir/local/want/sub/middle"
chmod 777 "$dir/local/want/empty"

tree_there_and_back() {
	local how=$1
	rm -rf "$dir/local/back"
	$how "local:$src" "a:$guest/$how"
	good "$how: to the guest"
	same "$dir/local/want" "$guest/$how" "$how: to the guest"
	no_parts "$guest" "$how"
	says files 12
	says links 4
	$how "a:$guest/$how" "local:$dir/local/back"
	good "$how: back"
	same "$dir/local/want" "$dir/local/back" "$how: back"
	says files 12
	# again, either way: nothing crosses
	$how "local:$dir/local/want/." "a:$guest/$how"
	good "$how: again"
	says files 0
	says skipped 12
	same "$dir/local/want/sub" "$guest/$how/sub" "$how: again"
	$how "a:$guest/$how/." "local:$dir/local/back"
	good "$how: back again"
	says bytes 0
	says skipped 12
	ok "$how: a tree there, back and again"
}
tree_there_and_back copy

copy "a:$guest/copy" "b:$guest/second"
good 'guest to guest'
same "$guest/copy" "$guest/second" 'guest to guest'
ok 'from guest to guest'

# a guest without tar: one by one
mkdir "$dir/tools/notar"
for tool in sh bash env find xargs stat cat tail head dd touch chmod mv rm \
	mkdir ln tr; do
	ln -s "$(command -v $tool)" "$dir/tools/notar/$tool"
done
start_sshd notar "SetEnv PATH=$dir/tools/notar"
odd_port=$port
tree_there_and_back copy_odd

# a guest without a find that can print: listed over sftp, in whole seconds
mkdir "$dir/tools/nofind"
for tool in sh bash env cat head tail; do
	ln -s "$(command -v $tool)" "$dir/tools/nofind/$tool"
done
printf '#!/bin/sh\necho "find: unrecognized: -printf" >&2\nexit 1\n' \
	> "$dir/tools/nofind/find"
chmod +x "$dir/tools/nofind/find"
start_sshd nofind "SetEnv PATH=$dir/tools/nofind"
odd_port=$port
copy_odd "a:$guest/copy" "local:$dir/local/plain"
good 'without find'
says files 12
diff -r --no-dereference "$guest/copy" "$dir/local/plain" ||
	fail 'without find: the trees differ'
[ "$(stat -c '%a %Y' "$dir/local/plain/a" "$dir/local/plain/sub/deep")" = \
	"$(stat -c '%a %Y' "$guest/copy/a" "$guest/copy/sub/deep")" ] ||
	fail 'without find: other modes and times'
copy_odd "a:$guest/copy/." "local:$dir/local/plain"
says skipped 12
copy_odd "a:$guest/none" "local:$dir/local/x"
refused 'without find: missing' 'no such file'
ok 'a guest without GNU find'

# ---- where a copy goes --------------------------------------------------------
in_guest mkdir "$guest/d" "$guest/full" "$guest/full/a"
in_guest sh -c "echo old > $guest/file; ln -s d $guest/todir; ln -s file $guest/tolink; mkfifo $guest/fifo; echo x > $guest/full/src"
while read -r from to lands; do
	copy "local:$src/$from" "a:$guest/$to"
	good "$from to $to"
	[ -e "$guest/$lands" ] || [ -L "$guest/$lands" ] ||
		fail "$from to $to: not at $lands"
done <<- END
	a d d/a
	a d/ d/a
	a d/b d/b
	a file file
	a tolink tolink
	a todir d/a
	dangling d d/dangling
	sub d d/sub
	sub/ d/other d/other
	sub/. d/merged d/merged/large
END
[ ! -L "$guest/tolink" ] || fail 'a link was written through'
[ "$(cat "$guest/file")" = hello ] || fail 'file over file'
while read -r from to text; do
	copy "local:$src/$from" "a:$guest/$to"
	refused "$from to $to" "$text"
done <<- END
	a new/ no such directory
	a no/such/dir no such directory
	sub file not a directory
	a file/ no such directory
	a full a directory is in the way
	a fifo device, socket or pipe
END
copy "a:$guest/none" "local:$dir/local/x"
refused 'missing' 'no such file'
copy "a:$guest/fifo" "local:$dir/local/x"
refused 'fifo' 'device, socket or pipe'
copy "local:$src/a" "a:$guest/full/a"
good 'into a directory of that name'
ok 'where a copy goes'

if [ "$(id -u)" = 0 ]; then
	tilde='~'
	for to in '' "$tilde" "$tilde/" .; do
		rm -f "$dir/home/a"
		copy "local:$src/a" "a:$to"
		good "to \"$to\""
		[ -f "$dir/home/a" ] || fail "to \"$to\" is not home"
	done
	copy "local:$src/a" "a:$tilde/x"
	copy 'a:x' "local:$dir/local/"
	good 'from home'
	ok 'the home directory'
fi

# ---- resumption ---------------------------------------------------------------
head -c 200000000 /dev/urandom > "$dir/local/huge"
mkdir "$dir/local/d"
# cut_copy FROM TO WHERE: kill -9 once a part of 10 MB is there
cut_copy() {
	BOXERY_HOME=$dir/bx "$drive_bin" -k "$dir/client" \
		-h "$dir/host.pub" -u "$user" -a "$main_port" \
		-b "$main_port" "$1" "$2" > /dev/null 2>&1 &
	local pid=$! size=0
	for _ in $(seq 2000); do
		size=$(find "$3" -maxdepth 1 -name '.boxery-part-*' -type f \
			-printf '%s\n' 2> /dev/null | tail -n 1)
		[ "${size:-0}" -lt 10000000 ] || break
		kill -0 "$pid" 2> /dev/null || break
		sleep 0.005
	done
	kill -9 "$pid" 2> /dev/null || true
	wait "$pid" 2> /dev/null || true
	[ "${size:-0}" -ge 10000000 ] || fail "$1: no partial file"
}
while read -r from to where; do
	cut_copy "$from" "$to" "$where"
	sleep 0.5
	[ ! -e "$where/huge" ] || fail "$from: too fast to be cut"
	copy "$from" "$to"
	good "$from: resumed"
	[ "$(value bytes)" -lt 190000000 ] || fail "$from: was not resumed"
	cmp "$dir/local/huge" "$where/huge" || fail "$from: other bytes"
	no_parts "$where" "$from"
done <<- END
	local:$dir/local/huge a:$guest/huge $guest
	a:$guest/huge local:$dir/local/d/huge $dir/local/d
	a:$guest/huge b:$guest/d/huge $guest/d
END
ok 'resumption after kill -9'

# ---- files that change ---------------------------------------------------------
# A batch of small files and a large one; the guest's cat changes them first.
mkdir "$dir/tools/odd"
cat > "$dir/tools/odd/cat" <<- 'END'
	#!/bin/sh
	PATH=/usr/bin:/bin
	case $(cat "$ODD/what" 2> /dev/null) in
	grow) for f; do case $f in */m) echo more >> "$f" ;; esac; done ;;
	shrink) for f; do case $f in */m) : > "$f" ;; esac; done ;;
	swap) for f; do case $f in
		*/m) printf 1 > "$f" ;;
		*/n) printf 123456789 > "$f" ;;
		esac; done ;;
	touch) for f; do case $f in */m) touch "$f" ;; esac; done ;;
	vanish) for f; do case $f in */m) rm "$f" ;; esac; done ;;
	short) printf x; exit 0 ;;
	long) exec cat /dev/zero ;;
	# where dash keeps its stderr meanwhile
	chatter) exec yes > /proc/$PPID/fd/11 ;;
	garbage) exec head -c 100000 /dev/urandom ;;
	esac
	exec cat "$@"
END
cat > "$dir/tools/odd/find" <<- 'END'
	#!/bin/sh
	PATH=/usr/bin:/bin
	e() { printf '%s\0%s\0%s\0%s\0%s\0%s\0' "$@"; }
	root() { e d 755 4096 1.0 '' ''; }
	case $(cat "$ODD/what" 2> /dev/null) in
	abs) root; e f 644 1 1.0 /etc/cron.d/x '' ;;
	up) root; e f 644 1 1.0 ../x '' ;;
	upper) root; e d 755 1 1.0 a ''; e f 644 1 1.0 a/../../x '' ;;
	planted) root; e l 777 1 1.0 a /etc; e f 644 1 1.0 a/x '' ;;
	twice) root; e f 644 1 1.0 a ''; e f 644 1 1.0 a '' ;;
	orphan) root; e f 644 1 1.0 a/b '' ;;
	device) e b 644 0 1.0 '' '' ;;
	huge) root; e f 644 99999999999999999 1.0 a '' ;;
	parts) root; e f 644 1 1.0 .boxery-part-0123456789abcdef '' ;;
	endless) exec cat /dev/zero ;;
	flood) exec tr '\0' x < /dev/zero ;;
	errors) exec tr '\0' x < /dev/zero >&2 ;;
	deep) root; p=d; for i in $(seq 70); do e d 755 1 1.0 "$p" ''; p=$p/d; done ;;
	many) root; exec awk 'BEGIN { for (i = 0; i < 300000; i++) printf "f%c644%c1%c1.0%c%d%c%c", 0, 0, 0, 0, i, 0, 0 }' ;;
	pipes) root; exec awk 'BEGIN { for (;;) printf "p%c644%c0%c1.0%cp%c%c", 0, 0, 0, 0, 0, 0 }' ;;
	killed) root; kill -9 $$ ;;
	nothing) ;;
	*) exec find "$@" ;;
	esac
END
chmod +x "$dir/tools/odd/"*
echo > "$dir/what"
start_sshd odd "SetEnv PATH=$dir/tools/odd:/usr/bin:/bin ODD=$dir"
odd_port=$port

for what in grow shrink swap touch vanish; do
	rm -rf "$guest/odd" "$dir/local/odd"
	in_guest mkdir "$guest/odd"
	for f in a b m n z; do
		in_guest sh -c "printf '%s1234' $f > $guest/odd/$f"
	done
	echo $what > "$dir/what"
	copy_odd "a:$guest/odd" "local:$dir/local/odd"
	refused "$what" 'm: '
	[ ! -e "$dir/local/odd/m" ] || fail "$what: m is there"
	for f in a b z; do
		[ "$(cat "$dir/local/odd/$f")" = "${f}1234" ] ||
			fail "$what: $f is not what it was"
	done
	no_parts "$dir/local/odd" "$what"
	# nothing changes any more: the next run completes it
	echo > "$dir/what"
	copy_odd "a:$guest/odd/." "local:$dir/local/odd"
	good "$what: again"
done
ok 'files that change in a batch'

for what in shrink grow vanish; do
	cp "$dir/local/huge" "$guest/m"
	chown --reference="$guest" "$guest/m"
	rm -rf "$dir/local/m"
	(
		for _ in $(seq 2000); do
			find "$dir/local" -maxdepth 1 -size +2M \
				-name '.boxery-part-*' | grep -q . && break
			sleep 0.005
		done
		case $what in
		shrink) truncate -s 100M "$guest/m" ;;
		grow) echo more >> "$guest/m" ;;
		vanish) rm "$guest/m" ;;
		esac
	) &
	changer=$!
	copy "a:$guest/m" "local:$dir/local/m"
	wait $changer
	refused "large: $what" "$guest/m: "
	[ ! -e "$dir/local/m" ] || fail "large: $what: is there"
	no_parts "$dir/local" "large: $what"
done
ok 'a large file that changes'

# ---- guests that lie -------------------------------------------------------------
in_guest sh -c "rm -rf $guest/odd; mkdir $guest/odd; echo 1 > $guest/odd/a; echo 2 > $guest/odd/b"
outside_before=$(find /etc/cron.d -ls 2> /dev/null | sha256sum)
while read -r what text; do
	rm -rf "$dir/local/odd" "$dir/local/x"
	echo "$what" > "$dir/what"
	# what never comes is waited for until somebody cancels
	wait_ms=60000
	[ "$what" != short ] || wait_ms=2000
	copy_odd -c $wait_ms "a:$guest/odd" "local:$dir/local/odd"
	refused "$what" "$text"
	[ ! -e "$dir/local/x" ] || fail "$what: got out"
	# where a copy ended within a file the next run goes on
	case $what in
	short | chatter) ;;
	*) no_parts "$dir/local/odd" "$what" ;;
	esac
	# the same lie to another guest
	copy_odd -c $wait_ms "a:$guest/odd" "b:$guest/lied"
	refused "$what: guest to guest" "$text"
	rm -rf "$guest/lied"
done <<- END
	abs relative path
	up not allowed
	upper not allowed
	planted no directory
	twice twice
	orphan before its directory
	device device, socket or pipe
	huge larger than
	parts partial files
	endless type
	flood too long
	deep deeper
	many more than
	killed find
	nothing not listed
	short cancelled
	long changed
	chatter nobody asked for
	pipes special files
	garbage changed
END
echo > "$dir/what"
[ "$outside_before" = "$(find /etc/cron.d -ls 2> /dev/null | sha256sum)" ] ||
	fail 'a lie reached /etc'
ok 'listings and bytes that lie'

# A link planted in the target guest is not followed, nor one that an earlier
# copy from a hostile guest made.
in_guest mkdir -p "$guest/keys" "$guest/target" "$guest/evil"
in_guest ln -s "$guest/keys" "$guest/evil/sub"
copy "a:$guest/evil/." "b:$guest/target"
good 'a link is copied'
in_guest sh -c "rm $guest/evil/sub; mkdir $guest/evil/sub; echo mine > $guest/evil/sub/authorized_keys"
copy "a:$guest/evil/." "b:$guest/target"
refused 'through a link of an earlier copy' 'symbolic link is in the way'
copy "local:$src/sub" "a:$guest/target"
refused 'through a planted link' 'symbolic link is in the way'
[ -z "$(ls "$guest/keys")" ] || fail 'a link was followed'
ok 'links in the target guest'

# ---- faults ------------------------------------------------------------------------
in_guest sh -c "mkdir $guest/some; cd $guest/some; echo 1 > a; echo 2 > b; mkfifo p; mkdir d; echo 3 > d/c; chmod 0 b d"
if [ "$(id -u)" = 0 ]; then
	copy "a:$guest/some" "local:$dir/local/some"
	refused 'unreadable' 'ermission denied'
	[ "$(cat "$dir/local/some/a")" = 1 ] || fail 'the rest was not copied'
	case $err in *'special file'*) ;; *) fail 'no warning' ;; esac
	in_guest chmod 500 "$guest/some"
	copy "local:$src/a" "a:$guest/some/new"
	refused 'read-only' 'ermission denied'
	in_guest chmod -R u+rwX "$guest/some"
	ok 'without permission'

	for where in guest local; do
		mkdir -p "$dir/$where/small"
		mount -t tmpfs -o size=8M,mode=777 none "$dir/$where/small"
	done
	head -c 20000000 /dev/urandom > "$dir/local/20M"
	cp "$dir/local/20M" "$guest/20M"
	copy "local:$dir/local/20M" "a:$guest/small/x"
	refused 'full guest' 'No space left'
	[ "$rc" = 11 ] || fail 'full guest: not told as such'
	copy "a:$guest/20M" "local:$dir/local/small/x"
	refused 'full disk' 'No space left'
	[ "$rc" = 11 ] || fail 'full disk: not told as such'
	mkdir "$dir/local/1000"
	for i in $(seq 1000); do head -c 20000 /dev/zero > "$dir/local/1000/$i"; done
	rm -rf "$guest/small"/* "$guest/small"/.box*
	copy "local:$dir/local/1000" "a:$guest/small/y"
	refused 'full guest, small files' 'No space left'
	for where in guest local; do
		mount -o remount,size=64M "$dir/$where/small"
	done
	copy "local:$dir/local/20M" "a:$guest/small/x"
	good 'room again'
	copy "local:$dir/local/1000/." "a:$guest/small/y"
	good 'room again, small files'
	copy "a:$guest/20M" "local:$dir/local/small/x"
	good 'local room again'
	cmp "$dir/local/20M" "$dir/local/small/x" || fail 'other bytes'
	[ "$(value bytes)" -lt 20000000 ] || fail 'was not resumed'
	ok 'a full disk'
fi

# cancelled in the middle: soon over, nothing is left running in the guest
in_guest truncate -s 20G "$guest/sparse"
begun=$SECONDS
copy -c 1000 "a:$guest/sparse" "local:$dir/local/sparse"
refused 'cancel from' 'cancelled'
rm -f "$dir/local/".boxery-part-*
truncate -s 20G "$dir/local/sparse"
copy -c 1000 "local:$dir/local/sparse" "a:$guest/sparse2"
refused 'cancel to' 'cancelled'
rm -f "$guest/".boxery-part-*
copy -c 1000 "a:$guest/sparse" "b:$guest/sparse2"
refused 'cancel between' 'cancelled'
rm -f "$guest/".boxery-part-* "$guest/sparse" "$dir/local/sparse"
[ $((SECONDS - begun)) -lt 20 ] || fail 'cancelling took too long'
if [ "$(id -u)" = 0 ]; then
	for _ in $(seq 50); do
		# shellcheck disable=SC2009 # pgrep -x takes 15 characters
		left=$(ps -u "$uid" -o comm= | grep -Ex 'dd|cat|tar|find|sh' ||
			true)
		[ -n "$left" ] || break
		sleep 0.1
	done
	[ -z "$left" ] || fail "left in the guest: $(ps -u "$uid" -o stat,etimes,args)"
fi
ok 'cancelling'

# ---- an agent's paths ---------------------------------------------------------------
copy -r "$dir/local/src" 'local:a' "a:$guest/agent"
good 'inside the copy root'
copy -r "$dir/local/src" "local:../huge" "a:$guest/agent"
refused 'outside the copy root' 'outside the directory'
copy -r "$dir/local/src" "a:$guest/agent" "local:$dir/local/x"
refused 'to outside the copy root' 'outside the directory'
copy -r "$HOME" 'local:x' "a:$guest/agent"
refused 'the home directory as root' '--copy-root'
ok 'the copy root'

# ---- figures ---------------------------------------------------------------------------
sftp_batch() {
	sftp -q -b - -i "$dir/client" -o UserKnownHostsFile="$dir/known" \
		-o StrictHostKeyChecking=yes -P "$main_port" \
		"$user@127.0.0.1" > /dev/null
}
echo "[127.0.0.1]:$main_port $(cat "$dir/host.pub")" > "$dir/known"
ms() { echo $(($(date +%s%N) / 1000000)); }
median() { sort -n | sed -n "$(((rounds + 1) / 2))p"; }
figure() {
	printf 'figure: %s: boxery %s ms, sftp %s ms, throughput ratio %s\n' \
		"$1" "$2" "$3" "$(awk "BEGIN { printf \"%.2f\", $3 / $2 }")"
}
# pairs, interleaved; medians
compare() {
	local name=$1 from=$2 to=$3 batch=$4 target=$5 t
	: > "$dir/ours"
	: > "$dir/theirs"
	for _ in $(seq $rounds); do
		rm -rf "$target"
		t=$(ms)
		sftp_batch <<< "$batch"
		echo $(($(ms) - t)) >> "$dir/theirs"
		rm -rf "$target"
		t=$(ms)
		copy "$from" "$to"
		echo $(($(ms) - t)) >> "$dir/ours"
		good "$name"
	done
	figure "$name" "$(median < "$dir/ours")" "$(median < "$dir/theirs")"
}
head -c 268435456 /dev/urandom > "$dir/local/256M"
rm -f "$dir/local/huge" "$guest/huge" "$guest/d/huge"
rounds=3
compare '256 MiB to a guest' "local:$dir/local/256M" "a:$guest/256M" \
	"put $dir/local/256M $guest/256M" "$guest/256M"
compare '256 MiB from a guest' "a:$guest/256M" "local:$dir/local/got" \
	"get $guest/256M $dir/local/got" "$dir/local/got"
cmp "$dir/local/256M" "$dir/local/got"
rm -f "$dir/local/256M" "$guest/256M" "$dir/local/got"
many=$dir/local/many
for d in $(seq 100); do
	mkdir -p "$many/$d"
	for f in $(seq 100); do
		echo "file $d $f $RANDOM" > "$many/$d/$f"
	done
done
rounds=1
compare '10,000 files to a guest' "local:$many" "a:$guest/many" \
	"put -Rp $many $guest/many" "$guest/many"
same "$many" "$guest/many" '10,000 files to a guest'
mkdir "$dir/local/in"
compare '10,000 files from a guest' "a:$guest/many" "local:$dir/local/in/many" \
	"get -Rp $guest/many $dir/local/in/" "$dir/local/in/many"
same "$many" "$dir/local/in/many" '10,000 files from a guest'
ok 'figures'
echo "$passed passed, 0 failed"
