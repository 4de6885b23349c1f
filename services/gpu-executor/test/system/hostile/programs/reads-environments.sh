# The environment of the executor has passwords.
tr '\0' '\n' <"/proc/$EXECUTOR_PID/environ"
for process in /proc/[0-9]* /proc/[0-9]*/task/[0-9]*; do tr '\0' '\n' <"$process/environ" | grep PASSWORD; done
