#!/bin/sh
# check-health.sh MONITOR_PORT STORE_DIR PID_FILE CONFIG
# Succeeds while nats-server is well. After one failed write, mostly because the disk was full, a stream takes nothing until
# nats-server is started again; one of several brokers even switches JetStream off, and holds no copy of the log any more. So
# with room on the disk this ends it, and whoever keeps the container running starts it again; with none that would change
# nothing.
set -eu
port=$1
store=$2
pid_file=$3
config=$4
# Bytes. With less it would be full again at once.
room=16777216

answer=$("$(dirname "$0")/ask-nats.sh" "$port" "$config" /healthz) || true
case $answer in
  'HTTP/1.'?' 200 '*) exit 0 ;;
  # It says the second only when it has started, never while it still reads its streams.
  *'write error'* | *'JetStream not enabled'*) ;;
  *)
    echo "nats-server is not well, or not yet: ${answer:-it does not answer}"
    exit 1
    ;;
esac

free=$(stat -f -c '%a %S' "$store" | awk '{ printf "%.0f", $1 * $2 }')
if [ "$free" -lt "$room" ]; then
  echo "The disk of $store is full: $free bytes are left. Free $room or more, and nats-server is started again by itself."
  exit 1
fi
echo "nats-server stores nothing since a write failed. It is ended, to be started again. It said: $answer"
kill -TERM "$(cat "$pid_file")"
exit 1
