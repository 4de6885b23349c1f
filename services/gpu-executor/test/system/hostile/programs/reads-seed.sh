# The key by which the executor is known to the broker.
cat "$SEED_FILE"
cp -r "$(dirname "$SEED_FILE")" "$RUNLEDGER_OUTPUT_DIR/seeds" && cat "$RUNLEDGER_OUTPUT_DIR/seeds/"*
