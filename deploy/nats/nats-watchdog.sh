#!/bin/sh
# nats-watchdog.sh MONITOR_PORT NATS_SERVER [ARGUMENT]...
# Runs nats-server, passes signals on to it, and ends as it ends. As one of several, it is killed when it has not answered for
# three seconds: a broker that was frozen and goes on costs all streams an election, one that starts again does not
# (docs/adr/0050-a-frozen-broker-is-killed.md). Whoever keeps this running starts it again.
set -u

# Seconds without an answer. The shortest election timer of nats-server takes 4 s, from a heartbeat that is up to 1 s old.
SILENT_S=3
# One request a second: an overloaded nats-server is not killed again as soon as it is back.
ANSWERS_BEFORE=30

fail() {
  echo "nats-watchdog: $1" >&2
  exit 2
}

usage='Usage: nats-watchdog.sh MONITOR_PORT NATS_SERVER [ARGUMENT]...'
port=${1-}
case $port in
  '' | *[!0-9]*) fail "'$port' is no port. $usage" ;;
esac
shift
[ $# -gt 0 ] || fail "The command to run is missing. $usage"
ask=$(dirname "$0")/ask-nats.sh
for command in timeout nc sed "$ask" "$1"; do
  command -v "$command" >/dev/null || fail "The command '$command' is not there. Install it, or put it on PATH."
done
# The configuration of nats-server says below which path its monitoring answers.
config=
before=
for argument; do
  case $before in
    -c | -config | --config) config=$argument ;;
  esac
  before=$argument
done
[ -r /proc/uptime ] || fail 'There is no /proc/uptime to read. This needs Linux.'

# In hundredths of a second.
read_clock() {
  read -r uptime _ </proc/uptime
  now=${uptime%.*}${uptime#*.}
}

# Also true after this process was frozen together with nats-server: then a moment is left before nats-server calls for votes.
is_silent() {
  read_clock
  [ "$answers" -ge "$ANSWERS_BEFORE" ] && [ $((now - last)) -ge $((SILENT_S * 100)) ]
}

watch() {
  answers=0
  read_clock
  last=$now
  while sleep 1 && kill -0 "$server" 2>/dev/null; do
    # Its parent was killed: nobody would start nats-server again, or pass a signal on to it.
    kill -0 $$ 2>/dev/null || kill -TERM "$server"
    if ! is_silent; then
      # From memory: it waits for no disk, and answers also while nats-server reads its log back or has no majority.
      answer=$("$ask" "$port" "$config" /routez 2>/dev/null)
    fi
    if is_silent; then
      # The script ends with nats-server, and waits for this line. What reads it may hang too.
      trap '' TERM
      kill -KILL "$server"
      said="nats-watchdog: nats-server did not answer for $(((now - last) / 100)) s. It is killed, to be started again."
      # shellcheck disable=SC2016 # The other shell expands it.
      timeout -s KILL 1 sh -c 'echo "$1" >&2' sh "$said"
      return
    fi
    # Also when the connection was refused, as when it starts or stops: a frozen server refuses none.
    last=$now
    case $answer in
      *'"num_routes": 0,'*) answers=0 ;;
      *'"num_routes": '*)
        answers=$((answers + 1))
        [ "$answers" -ne "$ANSWERS_BEFORE" ] ||
          echo "nats-watchdog: nats-server is one of several: it is killed when it does not answer for $SILENT_S s." >&2
        ;;
    esac
  done
}

"$@" &
server=$!
for signal in HUP INT QUIT TERM USR1 USR2; do
  # shellcheck disable=SC2064 # The process id of now.
  trap "kill -s $signal $server" "$signal"
done
watch &
watchdog=$!

# A signal ends the waiting too.
while
  wait "$server"
  status=$?
  kill -0 "$server" 2>/dev/null
do :; done
kill "$watchdog" 2>/dev/null
# Some shells say that it was terminated.
wait "$watchdog" 2>/dev/null
exit "$status"
