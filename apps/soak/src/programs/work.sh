# A run of the soak: one line of JSON comes in on standard input, and its inputs say what is to be done.
# The shell alone, since thousands of them are started on a machine that has better things to do.
read -r work
field() {
  case $work in
    *"\"$1\":\""*) rest=${work#*"\"$1\":\""}; printf '%s' "${rest%%\"*}" ;;
  esac
}
echo "$RUNLEDGER_RUN_ID $RUNLEDGER_ATTEMPT" >> "$SOAK_DIARY"
echo '{"progress": 0.1, "live_status": "working"}'
sleep "$(field seconds)"
case $(field what) in
  failure) echo 'this run was asked to fail' >&2; exit 3 ;;
  file) echo "$RUNLEDGER_RUN_ID" > "$RUNLEDGER_OUTPUT_DIR/result.txt" ;;
esac
echo "{\"output\": {\"text\": [\"$RUNLEDGER_RUN_ID.$RUNLEDGER_ATTEMPT\"]}}"
