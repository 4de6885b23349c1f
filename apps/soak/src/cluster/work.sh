# A run of the soak. It reads one line of JSON from standard input; the inputs in it decide what to do.
# A plain shell script, because a busy machine starts thousands of them.
read -r work
field() {
  case $work in
    *"\"$1\":\""*) rest=${work#*"\"$1\":\""}; printf '%s' "${rest%%\"*}" ;;
  esac
}
echo "$RUNLEDGER_RUN_ID $RUNLEDGER_ATTEMPT" >> "$SOAK_PROGRAM_STARTS"
echo '{"progress": 0.1, "live_status": "working"}'
lines=$(field lines)
written=0
write_lines() { while [ "$written" -lt "$1" ]; do written=$((written + 1)); echo "$RUNLEDGER_RUN_ID.$RUNLEDGER_ATTEMPT line $written"; done; }
write_lines $((${lines:-0} / 2))
for file in "$RUNLEDGER_INPUT_DIR"/*; do
  [ -f "$file" ] && echo "{\"output\": {\"text\": [\"input $(sha256sum < "$file" | cut -c 1-64)\"]}}"
done
sleep "$(field seconds)"
write_lines "${lines:-0}"
case $(field what) in
  failure) echo 'the inputs of this run request a failure' >&2; exit 3 ;;
  file) echo "$RUNLEDGER_RUN_ID" > "$RUNLEDGER_OUTPUT_DIR/result.txt" ;;
  bulk) head -c 900000 /dev/zero > "$RUNLEDGER_OUTPUT_DIR/bulk.bin" ;;
  # One after the other, so that several runs upload at the same time for a while.
  uploads) file=1; while [ $file -le 60 ]; do echo $file > "$RUNLEDGER_OUTPUT_DIR/$file.txt"; file=$((file + 1)); done ;;
  # More outputs than an event may hold. The soak knows their texts.
  list) line=1; while [ $line -le 60 ]; do echo "{\"output\": {\"text\": [\"$RUNLEDGER_RUN_ID line $line\"]}}"; line=$((line + 1)); done ;;
  # Longer than an event may hold.
  text) printf '{"output": {"text": ["%05000d"]}}\n' 0 ;;
esac
echo "{\"output\": {\"text\": [\"$RUNLEDGER_RUN_ID.$RUNLEDGER_ATTEMPT\"]}}"
