#!/bin/bash
# The desktop layer against a real X server of its own: what a click, a drag
# and a typed text do to a program, and what a screenshot shows. Then against
# servers that lie. Everything lives in a directory of its own and in displays
# from :57 on that nobody has.
set -eu
cd "$(dirname "$0")/../.."

export LC_ALL=C.UTF-8
tools=build/release/tools
asan=build/asan/tools
make -s "$tools"/{desktop_drive,mirror_drive,xlog,xstate}
make -s MODE=asan "$asan"/{desktop_drive,xhostile}

tmp=$(mktemp -d /tmp/boxery-desktop.XXXXXX)
export XAUTHORITY=$tmp/xauth
: > "$tmp/failures"
pids=()

fail() { echo "FAILED: $*" | tee -a "$tmp/failures" >&2; }
step() { echo "-- $* ($SECONDS s)"; }
clean_up() {
	local p
	for p in "${pids[@]}"; do kill "$p" 2> /dev/null || true; done
	wait 2> /dev/null || true
	rm -rf "$tmp"
}
trap clean_up EXIT
# Until the command succeeds, at most 10 s.
await() {
	local i
	for ((i = 0; i < 500; i++)); do
		"$@" > /dev/null 2>&1 && return 0
		sleep 0.02
	done
	return 1
}

# ---- an X server, programs on it, and a driver -------------------------------------

start_x() { # WIDTHxHEIGHT XVNC-ARGUMENTS…
	local n
	for ((n = 57; n < 1000; n++)); do
		[ -e "/tmp/.X$n-lock" ] || [ -e "/tmp/.X11-unix/X$n" ] || break
	done
	display=$n
	export DISPLAY=:$n
	rm -f "$XAUTHORITY"
	xauth -q add ":$n" . "$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" \
		2> /dev/null
	Xvnc ":$n" -auth "$XAUTHORITY" -geometry "$1" -depth 24 -nolisten tcp \
		-rfbport -1 -rfbunixpath "$tmp/rfb" -SecurityTypes None \
		"${@:2}" > "$tmp/xvnc.log" 2>&1 &
	xvnc=$!
	pids+=("$xvnc")
	await "$tools/xstate" || {
		cat "$tmp/xvnc.log"
		exit 1
	}
}
stop() {
	kill "$1" 2> /dev/null || true
	wait "$1" 2> /dev/null || true
}
start_driver() { # ssh: to go that way
	coproc DRIVER { exec "$tools/desktop_drive" \
		"${1:-}/tmp/.X11-unix/X$display" "$XAUTHORITY" "$display" \
		30000; }
	driver=$DRIVER_PID
	pids+=("$driver")
}
stop_driver() {
	local fd=${DRIVER[1]}
	exec {fd}>&-
	wait "$driver" 2> /dev/null || true
}
# One line to the driver; its answer, which must say ok, is in $answer.
drive() {
	echo "$*" >&"${DRIVER[1]}"
	read -r -t 60 answer <&"${DRIVER[0]}" || answer="no answer"
	[[ $answer == *"ok "*" ms" ]] || fail "$*: $answer"
}
# One that must fail with these words.
refuse() {
	local words=$1
	shift
	echo "$*" >&"${DRIVER[1]}"
	read -r -t 60 answer <&"${DRIVER[0]}" || answer="no answer"
	[[ $answer == error*"$words"* ]] || fail "$*: $answer, not: $words"
}
start_log() { # its arguments
	: > "$tmp/log"
	: > "$tmp/text"
	"$tools/xlog" --text "$tmp/text" "$@" > "$tmp/log" 2> "$tmp/log.err" &
	log=$!
	pids+=("$log")
	await grep -q ready "$tmp/log" || fail "xlog does not start"
}
# Lines of the log that match, from the beginning.
logged() { grep -E "$1" "$tmp/log" || true; }
count_is() { [ "$(grep -cE "$1" "$tmp/log")" = "$2" ]; }
expect_count() {
	await count_is "$1" "$2" ||
		fail "$3: $(grep -cE "$1" "$tmp/log") of $2 '$1'"
}
nothing_held() {
	local s
	s=$("$tools/xstate")
	[ "$s" = "locked ${1:-0} group ${2:-0} base 0 buttons 0 keys" ] ||
		fail "left behind: $s"
}

# ---- seeing -----------------------------------------------------------------------

screenshots() {
	start_x 1280x720
	start_driver
	"$tools/xstate" noise 7 1 > /dev/null
	drive move 400 300
	drive shot "$tmp/shot.png"
	[[ $answer == "image 1280x720 desktop 1280x720 pointer 400,300 scale 1.0000"* ]] ||
		fail "shot: $answer"
	# all pixels but those of the pointer, and those differ
	read -r _ differ _ x0 y0 _ x1 y1 < <("$tools/xstate" same "$tmp/shot.png")
	if [ "$differ" = 0 ]; then
		fail "no pointer in the screenshot"
	elif [ "$x0" -lt 370 ] || [ "$y0" -lt 270 ] || [ "$x1" -gt 440 ] ||
		[ "$y1" -gt 340 ]; then
		fail "the screenshot differs away from the pointer: $x0 $y0 $x1 $y1"
	fi
	# a pointer in the corner is cut off, not a fault
	drive move 1279 719
	drive shot "$tmp/shot.png"
	drive move 0 0
	drive shot "$tmp/shot.png"
	drive shot "$tmp/part.png" 100 50 300 200
	[[ $answer == "image 300x200 "* ]] || fail "region: $answer"
	refuse "region: [1279, 0, 2, 1] is not within" \
		shot "$tmp/part.png" 1279 0 2 1
	# settled: after the last of a series of changes
	drive move 1279 719
	"$tools/xstate" noise 77 8 > "$tmp/noise" &
	noise=$!
	await grep -q drawing "$tmp/noise"
	drive settled "$tmp/shot.png"
	if kill -0 "$noise" 2> /dev/null; then
		fail "not settled: $answer"
	fi
	wait "$noise"
	read -r _ differ _ x0 y0 _ < <("$tools/xstate" same "$tmp/shot.png")
	if [ "$differ" = 0 ] || [ "$x0" -lt 1270 ] || [ "$y0" -lt 710 ]; then
		fail "settled is not the last picture: $differ from $x0 $y0"
	fi
	nothing_held
	stop_driver
	stop "$xvnc"
}

# One part of the root window, again and again, in the background.
start_blinking() { # X Y WIDTH HEIGHT MS COUNT
	"$tools/xstate" blink "$@" > "$tmp/blink" &
	blinker=$!
	pids+=("$blinker")
	await grep -q blinking "$tmp/blink"
}

# What a client learns of changes, and what it is sent.
changes() {
	local number differ
	start_x 1920x1080
	start_driver
	"$tools/xstate" blink 0 0 1920 1080 1 1 > /dev/null
	drive move 1450 810
	drive shot "$tmp/shot.png"
	[[ $answer != *changed* ]] || fail "changed since no shot: $answer"
	[[ $answer =~ number\ ([0-9]+) ]]
	number=${BASH_REMATCH[1]}
	drive seen
	# the same again, and encoded once
	cp "$tmp/shot.png" "$tmp/first.png"
	drive shot "$tmp/shot.png"
	[[ $answer == *"number $number changed none"* ]] || fail "same: $answer"
	cmp -s "$tmp/shot.png" "$tmp/first.png" || fail "another image"
	# drawn over with the same: no change
	"$tools/xstate" blink 0 0 1920 1080 1 1 > /dev/null
	drive shot "$tmp/shot.png"
	[[ $answer == *"number $number changed none"* ]] || fail "drawn: $answer"
	# the pointer is part of the picture, but no change of the desktop
	drive move 700 500
	drive shot "$tmp/shot.png"
	[[ $answer == *"number $number changed none"* ]] || fail "moved: $answer"
	! cmp -s "$tmp/shot.png" "$tmp/first.png" || fail "no pointer"
	# tiles of 16 px, 1920 of which are 1456 in the screenshot
	"$tools/xstate" blink 160 320 10 10 1 2 > /dev/null
	drive shot "$tmp/shot.png"
	[[ $answer == *"changed 121,242,13,13 "* ]] || fail "one tile: $answer"
	drive since "$tmp/part.png" "$number"
	[[ $answer == *"image/png "*" at 121,242 "* ]] || fail "since: $answer"
	# what was cut out is what the full one shows there
	convert "$tmp/shot.png" -crop 13x13+121+242 +repage "$tmp/cut.png"
	differ=$(compare -metric AE "$tmp/cut.png" "$tmp/part.png.0" null: 2>&1 ||
		true)
	[ "$differ" = 0 ] || fail "the part differs: $differ"
	drive since "$tmp/none.png" 0
	[[ $answer == *"changed 121,242,13,13 "* ]] || fail "since 0: $answer"
	drive seen
	drive since "$tmp/none.png" 0
	[[ $answer == *"changed none"* && $answer != *image/* ]] ||
		fail "nothing since: $answer"
	# all of it when that is no smaller, or the number is unknown
	"$tools/xstate" noise 3 1 > /dev/null
	drive since "$tmp/all.png" 0
	[[ $answer == *"image/"*" bytes ok"* ]] || fail "all: $answer"
	drive since "$tmp/all.png" 7
	[[ $answer == *"image/"*" bytes ok"* ]] || fail "unknown: $answer"
	# nobody looks for a while: then all of it comes again
	drive seen
	drive rest
	drive shot "$tmp/shot.png"
	[[ $answer == *"changed 0,0,1456,819 "* ]] || fail "rest: $answer"
	stop_driver
	stop "$xvnc"
}

# Returns when what the action did is done.
settling() {
	start_x 1920x1080
	start_log
	start_driver
	drive shot "$tmp/shot.png"
	drive after 150 3000 move 100 100
	[[ $answer == "settled changed none moving none ok "* ]] ||
		fail "nothing: $answer"
	took_between 150 400 "nothing"
	# a late effect is waited for and said; what is long still needs no
	# watching before the action
	sleep 1
	(sleep 0.1; "$tools/xstate" blink 160 320 10 10 60 4) > /dev/null &
	drive after 800 3000 move 110 100
	[[ $answer == "settled changed 121,242,13,13 moving none ok "* ]] ||
		fail "late: $answer"
	took_between 1050 2500 "late"
	# the cap
	drive shot "$tmp/shot.png"
	sleep 1
	(sleep 0.05; "$tools/xstate" blink 160 320 10 10 20 60) > /dev/null &
	drive after 800 1000 move 100 100
	[[ $answer == "unsettled changed 121,242,13,13 "* ]] ||
		fail "cap: $answer"
	took_between 1000 1800 "cap"
	wait $!
	# what moved before the action does not count
	start_blinking 800 400 200 150 30 400
	drive shot "$tmp/shot.png"
	drive after 150 3000 move 120 100
	[[ $answer == "settled changed none moving "* ]] || fail "film: $answer"
	took_between 150 800 "film"
	# watched for twice 800 ms first
	(sleep 2; "$tools/xstate" blink 160 320 10 10 60 2) > /dev/null &
	drive after 800 3000 move 130 100
	[[ $answer == "settled changed 121,242,13,13 moving "* ]] ||
		fail "beside a film: $answer"
	stop "$blinker"
	# a cursor that blinks does not keep anything from settling
	start_blinking 300 300 2 14 530 20
	sleep 0.6
	drive after 150 3000 move 100 100
	[[ $answer == settled* ]] || fail "cursor: $answer"
	took_between 150 800 "cursor"
	stop "$blinker"
	stop_driver
	stop "$log"
	stop "$xvnc"
}
took_between() { # MS MS WHAT
	local ms
	[[ $answer =~ ok\ ([0-9]+)\ ms ]] || return 0
	ms=${BASH_REMATCH[1]}
	if [ "$ms" -lt "$1" ] || [ "$ms" -gt "$2" ]; then
		fail "$3 took $ms ms, not $1 to $2"
	fi
}

# The mirror beside the screen, whatever is drawn.
mirror() {
	local seed sock
	start_x 1280x720
	sock=/tmp/.X11-unix/X$display
	for seed in 1 2 3 4; do
		"$tools/mirror_drive" "$sock" "$XAUTHORITY" "$display" 			random "$seed" 2500 | tee "$tmp/random" | tail -n 1
		grep -q ', 0 differ$' "$tmp/random" ||
			fail "seed $seed: $(head -n 3 "$tmp/random")"
	done
	stop "$xvnc"
	# a server that does not tell what is drawn
	start_x 1280x720 -extension DAMAGE
	"$tools/mirror_drive" "/tmp/.X11-unix/X$display" "$XAUTHORITY" \
		"$display" random 5 400 | tee "$tmp/random" | tail -n 1
	grep -q ', 0 differ$' "$tmp/random" || fail "no DAMAGE"
	start_driver
	drive shot "$tmp/shot.png"
	drive seen
	drive shot "$tmp/shot.png"
	[[ $answer == *"changed none"* ]] || fail "no DAMAGE, same: $answer"
	drive after 150 3000 move 100 100
	[[ $answer == "settled changed none "* ]] || fail "no DAMAGE: $answer"
	stop_driver
	stop "$xvnc"
}

resizing() {
	start_x 1024x768
	start_log
	start_driver
	drive shot "$tmp/shot.png"
	drive seen
	drive click 10 10 1 1 -
	xrandr -s 1280x720 > /dev/null 2>&1 || fail "no resize"
	refuse "state: the desktop was resized to 1280x720: take a screenshot first" \
		click 10 10 1 1 -
	refuse "take a screenshot first" drag 1 - 10 10 20 20
	# what needs no place goes on
	drive key 1 a
	drive shot "$tmp/shot.png"
	drive seen
	drive click 1279 719 1 1 -
	expect_count '^button press 1 1279 719 ' 1 "after the resize"
	expect_count '^button press' 2 "clicks in all"
	stop_driver
	stop "$log"
	stop "$xvnc"
}

# ---- the mouse -----------------------------------------------------------------------

# Clicks all over a desktop of this size; the screenshot's size beside.
click_grid() { # WIDTH HEIGHT SHOT_WIDTH SHOT_HEIGHT
	local W=$1 H=$2 w=$3 h=$4 x y
	start_x "${W}x$H"
	start_log
	start_driver
	drive shot "$tmp/shot.png"
	[[ $answer == "image ${w}x$h desktop ${W}x$H "* ]] || fail "$answer"
	: > "$tmp/want"
	for ((y = 0; y < h; y += 101)); do
		for ((x = y % 7; x < w; x += 97)); do
			drive click "$x" "$y" 1 1 -
			echo "button press 1 $(((2 * x + 1) * W / (2 * w))) $(((2 * y + 1) * H / (2 * h))) 0x0"
		done
	done >> "$tmp/want"
	drive click $((w - 1)) $((h - 1)) 1 1 -
	echo "button press 1 $((W - (W / w + 1) / 2)) $((H - (H / h + 1) / 2)) 0x0" \
		>> "$tmp/want"
	expect_count '^button release' "$(wc -l < "$tmp/want")" "grid"
	logged '^button press' > "$tmp/got"
	diff "$tmp/want" "$tmp/got" > "$tmp/diff" ||
		fail "${W}x$H: clicks went elsewhere: $(head -n 3 "$tmp/diff")"
	refuse "invalid: $w, 0 is outside the screenshot of ${w}x$h pixels" \
		click "$w" 0 1 1 -
	refuse "is outside the screenshot" click 0 -1 1 1 -
	refuse "is outside the screenshot" move 0 "$h"
	refuse "is outside the screenshot" drag 1 - 0 0 "$w" 0
	nothing_held
	stop_driver
	stop "$log"
	stop "$xvnc"
}

buttons() {
	start_x 1024x768
	start_log
	start_driver
	drive click 100 100 1 2 -
	drive click 200 100 1 3 -
	drive click - - 2 1 -
	drive click 300 100 3 1 -
	drive click 400 100 8 1 -
	drive click 500 100 9 1 -
	expect_count '^button press 1 100 100 0x0' 2 "double click"
	expect_count '^button press 1 200 100 0x0' 3 "triple click"
	expect_count '^button press 2 200 100 0x0' 1 "where it was"
	expect_count '^button press 3 300 100' 1 "right"
	expect_count '^button press 8 400 100' 1 "back"
	expect_count '^button press 9 500 100' 1 "forward"
	# modifiers are held for the click and no longer
	drive click 600 100 1 1 ctrl+shift
	drive click 700 100 1 1 -
	expect_count '^button press 1 600 100 0x5$' 1 "ctrl+shift"
	expect_count '^button press 1 700 100 0x0$' 1 "released"
	refuse "modifiers" click 1 1 1 1 ctrl+a
	refuse "unknown key" click 1 1 1 1 contrl
	# notches, not pixels
	drive click 50 50 5 7 -
	drive click - - 4 2 ctrl
	drive click - - 6 1 -
	drive click - - 7 3 -
	expect_count '^button press 5 50 50 0x0$' 7 "down"
	expect_count '^button press 4 50 50 0x4$' 2 "up"
	expect_count '^button press 6 ' 1 "left"
	expect_count '^button press 7 ' 3 "right"
	# a drag moves on the way, the button down
	: > "$tmp/log.before"
	cp "$tmp/log" "$tmp/log.before"
	drive drag 1 shift 100 200 500 400 300 600
	expect_count '^button release 1 300 600 0x101$' 1 "drag's end"
	expect_count '^button press 1 100 200 0x1$' 1 "drag's start"
	tail -n +"$(($(wc -l < "$tmp/log.before") + 1))" "$tmp/log" |
		awk '/^motion/ && $4 == "0x101" {
			n++
			if (n > 1 && ($2 - x > 10 || x - $2 > 10 ||
			    $3 - y > 10 || y - $3 > 10)) jump = 1
			x = $2; y = $3
			if ($2 == 500 && $3 == 400) corner = 1
		} END { exit !(n >= 60 && !jump && corner) }' ||
		fail "the drag's way: $(logged '^motion.*0x101' | wc -l) motions"
	nothing_held
	# what was cut off is let go
	"$tools/xstate" key 50 1
	drive release
	nothing_held
	stop_driver
	stop "$log"
	stop "$xvnc"
}

# ---- the keyboard ---------------------------------------------------------------------

texts() {
	local i c
	# shellcheck disable=SC1003
	printf '%s' ' !"#$%&'\''()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\]^_`abcdefghijklmnopqrstuvwxyz{|}~' > "$tmp/ascii"
	printf 'a\tb\nC_d/é ü ß ñ € œ „“ — ½\n' > "$tmp/latin"
	printf 'Привет, Ελλάδα שלום عربي देवनागरी 한국어 e\xcc\x81 😀👍🏽\n' > "$tmp/scripts"
	for ((i = 0; i < 200; i++)); do
		printf -v c '\\U%08x' $((19968 + (i * 7919) % 20000))
		printf '%b' "$c"
	done > "$tmp/cjk"
	printf 'one\r\ntwo\n' > "$tmp/crlf"
	printf 'one\ntwo\n' > "$tmp/crlf.want"
	head -c 66 "$tmp/cjk" > "$tmp/cjk22" # three bytes each
}
same_text() { cmp -s "$tmp/want" "$tmp/text"; }
# Type these files into a fresh xlog; all must have arrived.
type_into_log() { # WHAT FILES… -- XLOG-ARGUMENTS…
	local what=$1 f files=()
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		files+=("$1")
		shift
	done
	[ $# = 0 ] || shift
	start_log "$@"
	: > "$tmp/want"
	for f in "${files[@]}"; do
		if [ -e "$tmp/$f.want" ]; then
			cat "$tmp/$f.want" >> "$tmp/want"
		else
			cat "$tmp/$f" >> "$tmp/want"
		fi
		drive type "$tmp/$f"
	done
	await same_text ||
		fail "$what: $(cmp "$tmp/want" "$tmp/text" 2>&1 | head -n 1)"
	stop "$log"
}
has_manager() { xprop -root _NET_SUPPORTING_WM_CHECK | grep -q 0x; }
has_active_window() {
	xprop -root _NET_ACTIVE_WINDOW | grep -q '0x[0-9a-f]*[1-9a-f]'
}
# the first clicks may come before the window
focus_by_click() {
	drive click 200 200 1 1 -
	has_active_window
}
type_into_xterm() { # WHAT FILES…
	local what=$1 f
	shift
	rm -f "$tmp/xterm.text"
	: > "$tmp/want"
	for f in "$@"; do
		tr '\n' '\r' < "$tmp/$f" >> "$tmp/want"
	done
	xterm -u8 -geometry 100x30+0+0 -e sh -c \
		"stty raw -echo; exec cat > '$tmp/xterm.text'" 2> /dev/null &
	term=$!
	pids+=("$term")
	await test -e "$tmp/xterm.text" || fail "no xterm"
	await focus_by_click || fail "xterm does not get the focus"
	for f in "$@"; do
		drive type "$tmp/$f"
	done
	await cmp -s "$tmp/want" "$tmp/xterm.text" ||
		fail "$what: $(cmp "$tmp/want" "$tmp/xterm.text" 2>&1)"
	stop "$term"
}

typing() {
	texts
	start_x 1024x768
	openbox > /dev/null 2>&1 &
	pids+=($!)
	await has_manager || fail "openbox does not start"
	start_driver
	step "typing: a quick program"
	type_into_log quick ascii latin crlf scripts cjk -- --ping
	step "typing: one that takes 30 ms a key"
	type_into_log slow latin cjk22 scripts -- --ping --slow 30
	step "typing: one that knows no ping"
	type_into_log pingless ascii latin cjk22 scripts
	step "typing: xterm"
	type_into_xterm xterm ascii latin scripts cjk
	step "typing: layouts"
	for layout in de fr ru us,ru; do
		setxkbmap "$layout"
		type_into_log "layout $layout" ascii latin scripts -- --ping
	done
	step "typing: Caps Lock on, second layout active, Shift held"
	"$tools/xstate" lock 2 1
	type_into_log "Caps Lock and us,ru" ascii latin scripts -- --ping
	nothing_held 2 1
	type_into_xterm "xterm, Caps Lock and us,ru" ascii latin scripts
	nothing_held 2 1
	"$tools/xstate" lock 0 0
	setxkbmap us
	"$tools/xstate" key 50 1
	type_into_log "Shift held" ascii -- --ping
	[ "$("$tools/xstate")" = "locked 0 group 0 base 1 buttons 0 keys 50" ] ||
		fail "Shift was held before: $("$tools/xstate")"
	"$tools/xstate" key 50 0
	stop_driver
	# a second connection knows the first one's bindings as its own
	start_driver
	step "typing: after a reconnect"
	type_into_log reconnect cjk -- --ping
	nothing_held
	stop_driver
	stop "$xvnc"
}

keys() {
	start_x 1024x768
	start_log --ping
	start_driver
	drive key 1 ctrl+shift+t
	expect_count '^key press 28 0x5 0x54$' 1 "ctrl+shift+t"
	drive key 1 Ctrl+C
	expect_count '^key press 54 0x4 0x63$' 1 "Ctrl+C"
	drive key 1 ctrl++
	expect_count '^key press 21 0x5 0x2b$' 1 "ctrl++"
	drive key 1 ctrl+-
	expect_count '^key press 20 0x4 0x2d$' 1 "ctrl+-"
	drive key 3 Page_Down
	expect_count '^key press [0-9]* 0x0 0xff56$' 3 "repeat"
	drive key 1 ctrl+a Delete
	expect_count '^key press [0-9]* 0x0 0xffff$' 1 "sequence"
	drive key 1 KP_1
	expect_count '^key press [0-9]* 0x0 0xffb1$' 1 "a keypad key"
	drive key 1 ctrl+é
	expect_count '^key press [0-9]* 0x4 0xe9$' 1 "a key no layout has"
	drive key 1 super
	expect_count '^key press [0-9]* 0x0 0xffeb$' 1 "a modifier alone"
	drive key 1 Caps_Lock
	nothing_held 2
	drive key 1 a
	expect_count '^key press 38 0x0 0x61$' 1 "a under Caps Lock"
	nothing_held 2
	drive key 1 Caps_Lock
	nothing_held
	refuse "did you mean Return" key 1 Retrun
	refuse "lacks its last key" key 1 ctrl+
	printf 'a\033b' > "$tmp/escape"
	refuse "control character U+001B" type "$tmp/escape"
	nothing_held
	stop_driver
	stop "$log"
	# the server dies: an error, at once
	start_driver
	drive shot "$tmp/shot.png"
	stop "$xvnc"
	refuse "unavailable: the connection to the guest's desktop was lost" \
		key 1 a
	stop_driver
}

held() {
	start_x 1024x768
	start_log --ping
	start_driver
	drive hold 300 shift+Right
	expect_count '^key press [0-9]* 0x1 0xff53$' 1 "shift+Right"
	[[ $answer =~ ok\ ([0-9]+)\ ms && ${BASH_REMATCH[1]} -ge 300 ]] ||
		fail "hold: $answer"
	nothing_held
	# what is held repeats as on a keyboard
	drive hold 1200 é
	[ "$(grep -cE '^key press [0-9]* 0x0 0xe9$' "$tmp/log")" -ge 5 ] ||
		fail "no repeat: $(logged '0xe9$')"
	nothing_held
	drive down 100 100 1
	[ "$("$tools/xstate")" = "locked 0 group 0 base 0 buttons 1 keys" ] ||
		fail "not held: $("$tools/xstate")"
	drive move 300 200
	drive up 400 300 1
	expect_count '^button press 1 100 100 0x0$' 1 "down"
	expect_count '^motion 300 200 0x100$' 1 "held on the way"
	expect_count '^button release 1 400 300 0x100$' 1 "up"
	nothing_held
	drive down - - 3
	drive release
	nothing_held
	# not only modifiers are let go of
	"$tools/xstate" key 38 1
	drive release
	nothing_held
	stop_driver
	stop "$log"
	stop "$xvnc"
}

# ---- windows --------------------------------------------------------------------------

window_id() { # TITLE
	drive windows
	sed -n "s/^\(.*; \)*\([0-9]*\) '$1' .*/\2/p" <<< "$answer"
}
windows_are() { # their titles, in order, the topmost first
	drive windows
	[ "$(grep -o "[0-9]* '[^']*' 'XTerm'" <<< "$answer" |
		sed "s/^[0-9]* '\(.*\)' 'XTerm'/\1/" | tr '\n' ' ')" = "$*" ]
}
says() { # what the list of windows must show
	drive windows
	[[ $answer == *"$1"* ]]
}
start_terminal() { # TITLE GEOMETRY
	xterm -T "$1" -geometry "$2" -e sleep 600 2> /dev/null &
	pids+=("$!")
	await says "'$1'" || fail "no window $1"
}

windows() {
	local one two wm
	start_x 1920x1080
	start_driver
	refuse "state: no window manager runs on this desktop" windows
	openbox > /dev/null 2>&1 &
	wm=$!
	pids+=("$wm")
	await has_manager || fail "openbox does not start"
	drive windows
	[[ $answer == "ok "* ]] || fail "no windows: $answer"
	start_terminal eins 40x10+100+100
	start_terminal zwei 40x10+300+200
	one=$(window_id eins)
	two=$(window_id zwei)
	xprop -id "$one" -f _NET_WM_NAME 8u -set _NET_WM_NAME 'Fenster 中'
	if [ -z "$one" ] || [ -z "$two" ]; then fail "ids: $one, $two"; fi
	await windows_are "zwei Fenster 中 " || fail "order: $answer"
	drive window "$two" focus
	await says "$two 'zwei' 'XTerm' 1 0" || fail "focused: $answer"
	drive window "$one" raise
	await windows_are "Fenster 中 zwei " || fail "raised: $answer"
	says "$two 'zwei' 'XTerm' 1 0" || fail "raising took the focus: $answer"
	drive window "$one" focus
	await says "$one 'Fenster 中' 'XTerm' 1 0" || fail "focus: $answer"
	# the whole frame, in px of the screenshot
	drive shot "$tmp/shot.png"
	drive seen
	drive window "$two" move 400 300
	await says "$two 'zwei' 'XTerm' 0 0 400 300 " || fail "moved: $answer"
	drive window "$two" move - - 500 400
	await says "$two 'zwei' 'XTerm' 0 0 400 300 " || fail "grown: $answer"
	# whole characters only
	[[ $answer =~ $two\ \'zwei\'\ \'XTerm\'\ 0\ 0\ 400\ 300\ ([0-9]+)\ ([0-9]+) ]]
	if [ "${BASH_REMATCH[1]}" -lt 490 ] || [ "${BASH_REMATCH[1]}" -gt 500 ] ||
		[ "${BASH_REMATCH[2]}" -lt 385 ] || [ "${BASH_REMATCH[2]}" -gt 400 ]; then
		fail "size: $answer"
	fi
	refuse "is outside the screenshot" window "$two" move 5000 1
	refuse "no room for its frame" window "$two" move - - 1 1
	refuse "not_found: no window 77 is open" window 77 focus
	drive window "$one" close
	await windows_are "zwei " || fail "closed: $answer"
	# one that died leaves behind what says it is there
	kill -9 "$wm"
	wait "$wm" 2> /dev/null || true
	refuse "no window manager runs on this desktop" windows
	refuse "no window manager runs on this desktop" window "$two" close
	# … and a pointer that nobody may look at any more
	drive move 1400 30
	drive shot "$tmp/shot.png"
	[[ $answer == *"pointer 1400,30 "* ]] || fail "no manager: $answer"
	stop_driver
	stop "$xvnc"
}

# ---- over ssh, as the service reaches it ---------------------------------------------

over_ssh() {
	local key port sshd try
	start_x 1920x1080
	for key in host client; do
		ssh-keygen -q -t ed25519 -N '' -C '' -f "$tmp/$key"
	done
	mkdir -p /run/sshd 2> /dev/null || true
	for try in 1 2 3 4 5 6 7 8; do
		port=$((20000 + RANDOM % 12000))
		printf '%s\n' "Port $port" 'ListenAddress 127.0.0.1' \
			"HostKey $tmp/host" \
			"AuthorizedKeysFile $tmp/client.pub" 'UsePAM no' \
			'PasswordAuthentication no' 'StrictModes no' \
			'PidFile none' 'Subsystem sftp internal-sftp' \
			> "$tmp/sshd.conf"
		/usr/sbin/sshd -D -f "$tmp/sshd.conf" -E "$tmp/sshd.log" &
		sshd=$!
		pids+=("$sshd")
		await grep -q 'Server listening' "$tmp/sshd.log" && break
		stop "$sshd"
	done
	[ "$try" -lt 8 ] || fail "no sshd: $(cat "$tmp/sshd.log")"
	export GUEST_PORT=$port GUEST_KEY=$tmp/client
	GUEST_USER=$(id -un)
	export GUEST_USER GUEST_HOST_KEY=$tmp/host.pub
	texts
	start_log --ping
	start_driver ssh:
	"$tools/xstate" noise 5 1 > /dev/null
	drive click 700 400 1 1 -
	expect_count '^button press 1 923 528 0x0$' 1 "a click over ssh"
	for try in 1 2 3; do
		drive shot "$tmp/shot.png"
		echo "   $answer"
	done
	for try in ascii scripts cjk; do
		drive type "$tmp/$try"
		cat "$tmp/$try"
	done > "$tmp/want"
	await same_text || fail "typed over ssh: $(cmp "$tmp/want" "$tmp/text" 2>&1)"
	# the link is cut
	for try in $(ps -o pid= --ppid "$sshd"); do
		kill "$try" || true
	done
	refuse "unavailable: the connection to the guest's desktop was lost" \
		click 5 5 1 1 -
	nothing_held
	stop_driver
	stop "$sshd"
	stop "$log"
	stop "$xvnc"
}

# ---- servers that lie ------------------------------------------------------------------

# Under AddressSanitizer: an error within the time, and little memory.
hostile() { # LIE N
	local out rc=0 started=${EPOCHREALTIME/./} took memory server
	local x=$tmp/$1.$2
	"$asan/xhostile" "$x" tests/fuzz/corpus/xkbmap/us "$1" "$2" \
		2> "$x.err" &
	server=$!
	await test -S "$x" || fail "xhostile does not start: $(cat "$x.err")"
	out=$(printf '%s\n' "shot $x.png" "after 50 300 click 5 5 1 1 ctrl" \
		"settled $x.png" rest "shot $x.png" \
		"type $tmp/hostile.text" "key 1 ctrl+c" \
		"hold 20 shift+a" "down 5 5 1" "up 6 6 1" \
		windows "window 16 move 5 5 300 200" |
		timeout 60 "$asan/desktop_drive" "$x" "$XAUTHORITY" 57 400 \
			2>&1) || rc=$?
	took=$(((${EPOCHREALTIME/./} - started) / 1000))
	stop "$server"
	memory=$(sed -n 's/^memory \([0-9]*\) KiB/\1/p' <<< "$out")
	if [ "$rc" -gt 1 ] || [ -z "$memory" ] || grep -q 'error none' <<< "$out"; then
		fail "$1 $2: status $rc: $(tail -n 20 <<< "$out")"
	elif [ "$took" -gt 30000 ] || [ "$memory" -gt 200000 ]; then
		fail "$1 $2: $took ms, $memory KiB: $out"
	elif [ "$2" = 0 ] && ! grep -q '^error' <<< "$out"; then
		fail "$1 $2 was believed: $out"
	fi
	rm -f "$x" "$x.err" "$x.png"
}

hostile_servers() {
	local lie n waiting=0
	export XAUTHORITY=$tmp/hostile.auth
	xauth -q add ":57" . 00112233445566778899aabbccddeeff 2> /dev/null
	printf 'aé中😀b' > "$tmp/hostile.text"
	{
		# to the start, a shot, an action and what comes of it
		for n in 0 1 4 7 8 9 20 30 {50..82} 95 100 105 110 \
			{115..145..3}; do
			for lie in close huge wrap more less error ahead \
				behind twice; do
				echo "$lie $n"
			done
		done
		# each another way
		for n in {24..145..2} {1000..1003}; do
			echo "scramble $n"
		done
		# these take the whole of their time
		for n in 0 5 53 54 55 56 59 67 77 100 125 137; do
			for lie in stall half drip events messages damage \
				generic errors junk; do
				echo "$lie $n"
			done
		done
	} > "$tmp/lies"
	# most of it is waiting
	while read -r lie n; do
		hostile "$lie" "$n" < /dev/null &
		waiting=$((waiting + 1))
		[ "$waiting" -lt 8 ] || wait -n || true
	done < "$tmp/lies"
	wait
}

# each part starts a server of its own; `desktop.sh PART…` runs only those
parts=(screenshots changes settling mirror resizing mouse typing keys held windows over_ssh hostile_servers)
mouse() {
	click_grid 1024 768 1024 768
	click_grid 1920 1080 1456 819
	click_grid 1367 769 1367 769
	click_grid 2560 1600 1389 868
	buttons
}
[ $# = 0 ] || parts=("$@")
for part in "${parts[@]}"; do
	step "$part"
	"$part"
done
echo "$(wc -l < "$tmp/failures") failures, $SECONDS s"
[ ! -s "$tmp/failures" ]
