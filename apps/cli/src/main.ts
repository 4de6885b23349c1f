import { EXIT } from './command/command-error.ts';
import { screenOf } from './command/screen.ts';
import { runProgram } from './program.ts';

// The reader of a pipe may close it early, as in `runledger history RUN | head -1`. That is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? EXIT.done : EXIT.notDone),
);
let interruption: AbortController | undefined;
process.once('SIGINT', () => {
  if (interruption) return interruption.abort();
  process.stderr.write('\nStopped. A queued run continues; runledger cancel ends it.\n');
  process.exit(EXIT.cancelled);
});

process.exitCode = await runProgram(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  screen: screenOf({ out: process.stdout, err: process.stderr, in: process.stdin, env: process.env }),
  untilInterrupted: () => (interruption ??= new AbortController()).signal,
});
// A connection that is still open, such as to a broker that did not answer, holds no result; nor does an input that nobody reads any more.
if (process.exitCode === EXIT.notDone || process.exitCode === EXIT.cancelled) process.exit();
