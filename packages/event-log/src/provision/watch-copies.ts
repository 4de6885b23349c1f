import { sleep, untilAborted } from '@runledger/resilience/abort';
import type { EventLog } from '../connect/event-log.ts';
import { replicasOf, type Replicas } from './replicas.ts';
import { stateOf } from './stream-fill.ts';

export interface CopiesObserver {
  /** The copies of a stream at present; undefined: its leader does not respond. Must not throw. */
  copies(stream: string, now: Replicas | undefined): void;
}

export interface CopiesWatch extends AsyncDisposable {
  /** As they were last seen, by stream. */
  readonly latest: ReadonlyMap<string, Replicas | undefined>;
}

/** One small request for each stream. Alerts wait for minutes. */
const LOOK_EVERY_MS = 10_000;

/** Looks at the copies of these streams from time to time, and tells the observer. */
export const watchCopies = (
  log: EventLog,
  streams: readonly string[],
  observer?: CopiesObserver,
): CopiesWatch => {
  const latest = new Map<string, Replicas | undefined>();
  const stopping = new AbortController();
  const look = async (stream: string): Promise<void> => {
    const info = await stateOf(log, stream);
    if (stopping.signal.aborted) return;
    const now = info && replicasOf(info, log.nc.info?.server_name);
    latest.set(stream, now);
    observer?.copies(stream, now);
  };
  const watch = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await untilAborted(Promise.all(streams.map(look)), stopping.signal);
      await sleep(LOOK_EVERY_MS, stopping.signal);
    }
  };
  const watching = watch();
  return {
    latest,
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await watching;
    },
  };
};
