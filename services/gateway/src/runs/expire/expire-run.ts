import {
  isDeleted,
  isEnded,
  type ExecutingRun,
  type QueuedRun,
  type RunState,
} from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { readLogAge } from '@runledger/event-log/messages/log-age';
import { appendExpiry, type ExpiryOptions } from './append-expiry.ts';
import { isExpiring, runExpired } from './core/expiring.ts';
import { readOrLost, type ReadOrLost } from './read-lost.ts';

export interface ExpireRunOptions extends ExpiryOptions {
  readonly onExpired: () => void;
}

/** Ends the run if its log has expired, or is about to. @throws {LogUnavailable} @throws {ViewsUnavailable} */
export type ExpireRun = (key: RunKey) => Promise<void>;

export const expireRun =
  ({ onExpired, ...options }: ExpireRunOptions): ExpireRun =>
  async (key) => {
    const { log } = options;
    const isAppended = await appendExpiry(options, key, {
      read: async (atLeast) => {
        const read = await readOrLost(options, key, atLeast);
        return read && { ...knownOf(read), age: await readLogAge(log) };
      },
      decide: ({ run, head, held, age }, envelope) =>
        isOpen(run) && (held === 'nothing' || isExpiring(run, age, held === 'everything'))
          ? { event: runExpired(run, age, envelope), expected: head }
          : undefined,
      message:
        'the log no longer holds the beginning of a run that has not ended, or is about to lose it: the run is ended',
    });
    if (isAppended) onExpired();
  };

const isOpen = (run: RunState): run is QueuedRun | ExecutingRun => !isEnded(run) && !isDeleted(run);

const knownOf = (read: NonNullable<ReadOrLost>) =>
  read.kind === 'found'
    ? ({ run: read.run, head: read.history.head, held: 'everything' } as const)
    : { run: read.view.run, head: read.head, held: read.held };
