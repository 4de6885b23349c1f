# Copies its input files. What it does besides depends on its inputs.
work=$(cat)
echo '{"progress": 0.5, "live_status": "drawing"}'
echo 'a line of the log' >&2
case "$work" in
  *'"fails":true'*) echo 'no memory' >&2; exit 3 ;;
  *'"waits":true'*) exec sleep 600 ;;
esac
for file in "$RUNLEDGER_INPUT_DIR"/*; do
  if [ -f "$file" ]; then cp "$file" "$RUNLEDGER_OUTPUT_DIR"; fi
done
echo '{"output": {"text": ["done"]}}'
