import { setTimeout as pause } from 'node:timers/promises';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Store } from './limit-changes.ts';

type Streams = EventLog['jsm']['streams'];
export type StreamState = Pick<Awaited<ReturnType<Streams['info']>>, 'config' | 'state'>;
export type StreamLimits = Parameters<Streams['update']>[1];

/** A store as its operator sees it. Both requests are repeated until a broker answers. */
export interface LimitedStream {
  readonly read: () => Promise<StreamState>;
  /** Resolves with what the store holds at that moment. */
  readonly update: (limits: StreamLimits) => Promise<StreamState>;
}

export const limitedStream = ({ jsm }: EventLog, store: Store): LimitedStream => ({
  read: () => untilDone(() => jsm.streams.info(store)),
  update: (limits) => untilDone(() => jsm.streams.update(store, limits)),
});

const RETRY_AFTER_MS = 500;

/** Faults hit the broker meanwhile. */
export const untilDone = async <Result>(request: () => Promise<Result>): Promise<Result> => {
  for (;;) {
    try {
      return await request();
    } catch {
      await pause(RETRY_AFTER_MS);
    }
  }
};
