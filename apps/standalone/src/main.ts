import { once } from 'node:events';
import { ConfigError } from '@runledger/service-kit/config';
import { messageOf } from '@runledger/resilience/errors';
import { withoutMisspelt } from './check-settings.ts';
import { start } from './start.ts';
import { StartRefused } from './settings.ts';

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const explain = (error: unknown): string => {
  if (error instanceof StartRefused) return error.message;
  if (error instanceof ConfigError) return `Runledger cannot start: ${error.message}`;
  return `Runledger cannot start: ${messageOf(error)}`;
};

/** The first signal starts the stop. Ctrl-C arrives twice, from the terminal and from npm; the second one has no effect. */
const stopOnSignal = (): AbortSignal => {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (!controller.signal.aborted) print('Stopping.');
      controller.abort();
    });
  }
  return controller.signal;
};

const main = async (): Promise<number> => {
  const stopping = stopOnSignal();
  await using open = new AsyncDisposableStack();
  try {
    await start(open, withoutMisspelt(process.env, print), stopping, print);
  } catch (error) {
    if (stopping.aborted) return 0;
    process.stderr.write(`${explain(error)}\n`);
    return 1;
  }
  if (!stopping.aborted) await once(stopping, 'abort');
  return 0;
};

// A closed terminal must not end this process before its services.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
const code = await main();
if (code === 0) print('Stopped.');
process.exit(code);
