# What is stored as an output may be a way to it.
ln -s "$SEED_FILE" "$RUNLEDGER_OUTPUT_DIR/link"
ln "$SEED_FILE" "$RUNLEDGER_OUTPUT_DIR/hard"
cat "$RUNLEDGER_OUTPUT_DIR/link" "$RUNLEDGER_OUTPUT_DIR/hard"
