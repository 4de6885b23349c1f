#!/bin/sh
# check-health.sh MONITOR_PORT STORE_DIR PID_FILE
# Succeeds while nats-server is well. After one failed write, mostly because the disk was full, a stream takes nothing until
# nats-server is started again; one of several brokers even switches JetStream off, and holds no copy of the log any more. So
# with room on the disk this ends it, and whoever keeps the container running starts it again; with none that would change
# nothing.
set -eu
port=$1
store=$2
pid_file=$3
# Bytes. With less it would be full again at once.
room=16777216

# wget of busybox shows nothing of an answer that is not 200, and the reason stands there.
answer=$(printf 'GET /healthz HTTP/1.0\r\n\r\n' | nc -w 2 127.0.0.1 "$port") || true
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
