# Memory, descriptors and the file system of the executor, and of the supervisor that started this program. To trace a process takes the same right: PTRACE_SEIZE does not stop it.
for pid in "$EXECUTOR_PID" "$PPID" 1; do
  dd if="/proc/$pid/mem" bs=1 count=0 && echo "breached: opened the memory of $pid"
  perl -e 'exit(syscall(0+shift, 0x4206, 0+shift, 0, 0) != 0)' "$PTRACE" "$pid" && echo "breached: traced $pid"
  readlink "/proc/$pid/fd/"* && echo "breached: read the descriptors of $pid"
  ls "/proc/$pid/root/" && [ "$pid" != 1 ] && echo "breached: listed the root of $pid"
  readlink "/proc/$pid/cwd" && echo "breached: read the folder of $pid"
done
