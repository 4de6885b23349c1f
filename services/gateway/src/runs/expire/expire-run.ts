import {
  isDeleted,
  isEnded,
  type ExecutingRun,
  type QueuedRun,
  type RunState,
} from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { readLogAge } from '@runledger/event-log/messages/log-age';
import { head as headOf, readRun } from '@runledger/event-log/read/read-run';
import { appendExpiry, type ExpiryOptions } from './append-expiry.ts';
import { isExpiring, runExpired } from './core/expiring.ts';

export interface ExpireRunOptions extends ExpiryOptions {
  readonly onExpired: () => void;
}

/** Ends the run if its log has expired, or is about to. @throws {LogUnavailable} @throws {ViewsUnavailable} */
export type ExpireRun = (key: RunKey) => Promise<void>;

/**
 * Decides on the run as the log's leader has it. Of a run whose beginning is gone only the view is left: it decides when it has
 * every message that the log still holds, and waits otherwise, since one of them may be its end. They expire soon as well.
 */
export const expireRun =
  ({ onExpired, ...options }: ExpireRunOptions): ExpireRun =>
  async (key) => {
    const { log } = options;
    const isAppended = await appendExpiry(options, key, {
      read: async (atLeast) => {
        const known = await readKnown(options, key, atLeast);
        return known && { ...known, age: await readLogAge(log) };
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

interface Known {
  readonly run: RunState;
  readonly head: number;
  /** What the log holds of it. */
  readonly held: 'everything' | 'a part' | 'nothing';
}

/** Undefined when nothing can be decided on what is known now. */
const readKnown = async (
  { log, views }: Pick<ExpiryOptions, 'log' | 'views'>,
  key: RunKey,
  atLeast: number | undefined,
): Promise<Known | undefined> => {
  const head = atLeast ?? (await headOf(log, key));
  const read = await readRun(log, key, { atLeast: head });
  switch (read.kind) {
    case 'found':
      return { run: read.run, head: read.history.head, held: 'everything' };
    case 'none': {
      const view = await views.find(key);
      return view && { run: view.run, head: read.head, held: 'nothing' };
    }
    case 'damaged': {
      const view = await views.find(key);
      return view?.head === head ? { run: view.run, head, held: 'a part' } : undefined;
    }
    case 'deleted':
    case 'newer_version':
      return undefined;
  }
};
