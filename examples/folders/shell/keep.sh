#!/bin/sh
# The inputs come as JSON on standard input. A file in the folder of the outputs is an output.
set -eu
cat >"$RUNLEDGER_OUTPUT_DIR/inputs.json"
