#!/bin/sh
# ask-nats.sh MONITOR_PORT CONFIG PATH
# What nats-server answers at this path of its monitoring, such as ask-nats.sh 8222 /etc/nats/nats.conf /healthz; nothing when it does not answer
# within two seconds. Where the configuration has an http_base_path, which is a secret, all paths are below it. It is read from there, and is in no
# argument of a program, which every other program of the machine sees: printf is a part of the shell.
set -u
port=$1
config=$2
base=
if [ -n "$config" ]; then
  [ -r "$config" ] || {
    echo "ask-nats: $config cannot be read. Ask as the user of nats-server." >&2
    exit 2
  }
  base=$(sed -n 's/^http_base_path: "\(.*\)"$/\1/p' "$config")
fi
# wget of busybox takes no address from its input, and shows nothing of an answer that is not 200.
printf 'GET %s%s HTTP/1.0\r\n\r\n' "$base" "$3" | timeout 2 nc 127.0.0.1 "$port"
