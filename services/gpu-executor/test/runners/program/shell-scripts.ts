import { JSON_VALUES, type Workload } from '../runner-conformance.ts';

const TOO_MUCH = `{"output": {"text": "${'x'.repeat(40_000)}"}}`;

/** The workloads of the suite, as programs. */
export const SCRIPTS: Readonly<Record<Workload, string>> = {
  'succeeds with text and a file': `echo '{"progress": 0.25, "live_status": "row 1/2"}'
    echo 'a line of its log'
    echo '{"output": {"text": ["one"], "seed": 7}}'
    echo '{"progress": 1}'
    echo '{"output": {"text": "two"}}'
    mkdir "$RUNLEDGER_OUTPUT_DIR/frames"
    printf 12345 >"$RUNLEDGER_OUTPUT_DIR/frames/1.png"`,
  fails: 'echo "size is too large" >&2; exit 3',
  'fails after a file': 'touch "$RUNLEDGER_OUTPUT_DIR/half.png"; exit 1',
  crashes: 'kill -9 $$',
  'ends when it is cancelled': `trap 'touch "$RUNLEDGER_OUTPUT_DIR/tidied"; kill $!; exit 0' TERM
    sleep 600 & echo '{"progress": 0.5}'; wait`,
  'ignores a cancel': `trap '' TERM; echo '{"progress": 0.5}'; while :; do sleep 1; done`,
  'writes its log': `echo one; echo '{"progress": 0.5}'; echo two`,
  'puts out JSON values': `echo '${JSON.stringify({ output: JSON_VALUES })}'`,
  'leaves a file': 'touch "$RUNLEDGER_OUTPUT_DIR/begun"',
  'floods its output': `head -c 3000000 /dev/zero | tr '\\0' 'x'; yes | head -c 1000000; yes error | head -c 1000000 >&2
    echo; echo '{"output": {"text": "last"}}'; exit 0`,
  'writes too much text': `for i in 1 2 3 4 5 6 7; do echo '${TOO_MUCH}'; done`,
  'copies an input file': `picture=$(sed 's/.*"picture":"\\([^"]*\\)".*/\\1/')
    cp "$RUNLEDGER_INPUT_DIR/$picture" "$RUNLEDGER_OUTPUT_DIR/copy"`,
  'ignores its input': 'exit 0',
};
