import { parentPort, workerData } from 'node:worker_threads';
import { performance } from 'node:perf_hooks';
import { brokerSettings } from '@runledger/event-log/connect/broker-config';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { withFreshReads } from '@runledger/event-log/read/fresh-reads';
import { createLogger, standardOutput } from '@runledger/service-kit/logger';
import { openNextSet } from '../open-view-store.ts';
import { buildViews } from './build-views.ts';
import { proveViews, type Proved } from './prove-views.ts';
import { askingParent, type BuildOrder, type FromBuilder } from './build-thread.ts';

// The thread in which a gateway builds the next set of views: folding takes a processor, and requests should not wait for it.

if (!parentPort) throw new Error('This program is a thread of a gateway: see build-thread.ts.');
const parent = parentPort;
const clock = (): number => performance.now();
const tell = (message: FromBuilder): void => parent.postMessage(message);

const build = async ({
  config,
  instance,
  level,
  version,
  derivation,
  isCompared,
}: BuildOrder): Promise<Proved> => {
  const logger = createLogger({ service: 'gateway', level, instance, destination: standardOutput() });
  const { signal } = new AbortController();
  await using open = new AsyncDisposableStack();
  const connected = await openEventLog(brokerSettings(config, `${instance}-builder`), logger, signal);
  const log = withFreshReads(open.use(connected), clock);
  const next = open.use(await open.use(await openNextSet(config, { version, clock })).open());
  const options = {
    log,
    logger,
    ...askingParent(parent),
    next,
    derivation,
    signal,
    onProgress: (progress) => tell({ kind: 'progress', progress }),
  } as const satisfies Parameters<typeof buildViews>[0];
  const at = await buildViews(options);
  if (isCompared) return await proveViews(options, at);
  return { at, digests: undefined, moved: new Map(), differences: new Map() };
};

const built = await build(workerData as BuildOrder);
// Everything is closed: who receives it may open the next set.
tell({ kind: 'built', built });
parent.close();
