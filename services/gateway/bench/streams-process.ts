import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { aGateway } from '../test/fixtures/gateway/a-gateway.ts';

/** What a process uses: bytes, and milliseconds of processor time since it began. */
export interface Usage {
  readonly heap: number;
  readonly rss: number;
  readonly cpuMs: number;
}

/** A gateway in a process of its own, as a client of its streams sees it. */
export interface StreamsProcess extends AsyncDisposable {
  eventsOf(run: { readonly run_id: string }): string;
  /** After a garbage collection. */
  usage(): Promise<Usage>;
}

export const startStreams = async (natsUrl: string): Promise<StreamsProcess> => {
  const child = fork(fileURLToPath(import.meta.url), [natsUrl], { execArgv: ['--expose-gc'] });
  const exited = once(child, 'exit');
  const [pattern]: [string] = await once(child, 'message').then(([said]) => [String(said)]);
  return {
    eventsOf: ({ run_id }) => pattern.replace('RUN', run_id),
    usage: async () => {
      child.send('usage');
      const [usage] = await once(child, 'message');
      // What `serve` below answers.
      return usage as Usage;
    },
    [Symbol.asyncDispose]: async () => {
      child.disconnect();
      await exited;
    },
  };
};

const serve = async (natsUrl: string): Promise<void> => {
  const environment = { RUNLEDGER_STREAMS_MAX: '100000', RUNLEDGER_KEY_STREAMS_MAX: '100000' };
  await using gateway = await aGateway({ url: natsUrl }, { environment });
  process.on('message', () => {
    globalThis.gc?.();
    const { heapUsed: heap, rss } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    process.send?.({ heap, rss, cpuMs: (user + system) / 1_000 } satisfies Usage);
  });
  process.send?.(gateway.eventsOf({ run_id: 'RUN' }));
  await once(process, 'disconnect');
};

if (process.argv[1] === fileURLToPath(import.meta.url)) await serve(process.argv[2] ?? '');
