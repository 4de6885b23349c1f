import { once } from 'node:events';
import { ConfigError } from '@runledger/service-kit/config/config';
import { start } from './start.ts';
import { StartRefused } from './settings/start-refused.ts';

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const explain = (error: unknown): string => {
  if (error instanceof StartRefused) return error.message;
  if (error instanceof ConfigError) return `Runledger cannot start: ${error.message}`;
  return `Runledger cannot start: ${error instanceof Error ? error.message : String(error)}`;
};

/** The first signal is the wish to stop. A Ctrl-C comes twice, from the terminal and from npm; that is one wish. */
const listenForStop = (): AbortSignal => {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (!controller.signal.aborted) say('Stopping.');
      controller.abort();
    });
  }
  return controller.signal;
};

const main = async (): Promise<number> => {
  const stopping = listenForStop();
  await using open = new AsyncDisposableStack();
  try {
    await start(open, process.env, stopping, say);
  } catch (error) {
    if (stopping.aborted) return 0;
    process.stderr.write(`${explain(error)}\n`);
    return 1;
  }
  if (!stopping.aborted) await once(stopping, 'abort');
  return 0;
};

// A terminal that was closed must not end this process before its services.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
const code = await main();
if (code === 0) say('Stopped.');
process.exit(code);
