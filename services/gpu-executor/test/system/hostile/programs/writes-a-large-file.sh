# More than the folders of a run may have, in one file.
head -c 134217728 /dev/zero >"$RUNLEDGER_OUTPUT_DIR/large" && echo "breached: wrote 128 MiB"
