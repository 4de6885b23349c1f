# Files of the system, of the executor, and in folders that everybody may write to.
for folder in $WRITABLE_FOLDERS "$DATA_FOLDER" "$(dirname "$SEED_FILE")" "$INSTALLATION"; do
  echo breached >"$folder/$BREACH"
done
echo breached >>"$SEED_FILE"
echo breached >"$VICTIM_FILE"
