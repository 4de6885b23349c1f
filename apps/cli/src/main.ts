import { EXIT } from './output/command-error.ts';
import { runProgram } from './program.ts';
import { screen } from './output/screen.ts';

// What the reader of a pipe did not want is no mishap: `runledger history … | head -1`.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? EXIT.done : EXIT.notDone),
);
let orderly: AbortController | undefined;
process.once('SIGINT', () => {
  if (orderly) return orderly.abort();
  process.stderr.write('\nStopped. A run that was queued goes on; runledger cancel ends it.\n');
  process.exit(EXIT.cancelled);
});

process.exitCode = await runProgram(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  screen: screen(process.stdout, process.stderr, process.stdin),
  untilInterrupted: () => (orderly ??= new AbortController()).signal,
}).catch((error: unknown) => {
  const why = error instanceof Error ? error.message : String(error);
  process.stderr.write(`The command could not be done: ${why}\n`);
  return EXIT.notDone;
});
// Whatever is still open (a broker that did not answer) holds no result.
if (process.exitCode === EXIT.notDone) process.exit();
