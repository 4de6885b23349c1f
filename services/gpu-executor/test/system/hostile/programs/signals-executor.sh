# Each of these would end or stop the runs of all.
for pid in "$EXECUTOR_PID" "$VICTIM_PID"; do
  for signal in 0 CONT USR1; do kill -s "$signal" "$pid" && echo "breached: signalled $pid"; done
done
