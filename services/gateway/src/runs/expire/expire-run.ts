import { isDeleted, isEnded, type RunState } from '@runledger/contracts/fold/run';
import { newUuid } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { decideAndAppend } from '@runledger/event-log/append/decide-and-append';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readLogAge, type LogAge } from '@runledger/event-log/messages/log-age';
import { head as headOf, readRun } from '@runledger/event-log/read/read-run';
import type { RunViews } from '../../projection/run-views.ts';
import type { Envelope } from '../current/core/envelope.ts';
import { isExpiring, runExpired } from './core/expiring.ts';

export interface ExpireRunOptions {
  readonly log: EventLog;
  readonly views: Pick<RunViews, 'find'>;
  readonly writer: Envelope['writer'];
  readonly now: () => Date;
  readonly onExpired: () => void;
  readonly onConflict: () => void;
}

/** Ends the run if its log has expired, or is about to. @throws {LogUnavailable} @throws {ViewsUnavailable} */
export type ExpireRun = (key: RunKey) => Promise<void>;

/**
 * Decides on the run as the log's leader has it. Of a run whose beginning is gone only the view is left: it decides when it has
 * every message that the log still holds, and waits otherwise, since one of them may be its end. They expire soon as well.
 */
export const expireRun =
  ({ log, views, writer, now, onExpired, onConflict }: ExpireRunOptions): ExpireRun =>
  async (key) => {
    const decided = await decideAndAppend<(Known & { readonly age: LogAge }) | undefined, undefined>(log, {
      read: async (atLeast) => {
        const known = await readKnown({ log, views }, key, atLeast);
        return known && { ...known, age: await readLogAge(log) };
      },
      decide: (known) => {
        if (
          !known ||
          isEnded(known.run) ||
          isDeleted(known.run) ||
          !(known.isGone || isExpiring(known.run, known.age))
        )
          return NOTHING;
        const envelope = { event_id: newUuid(), ...key, time: now().toISOString(), writer };
        const event = runExpired(known.run, known.age, envelope);
        return { kind: 'append', event, expected: known.head, answer: undefined };
      },
      onConflict,
    });
    if (decided.kind !== 'appended') return;
    onExpired();
    log.logger.error(
      { run_id: key.run_id, sequence: decided.sequence },
      'the log no longer holds the beginning of a run that has not ended, or is about to lose it: the run is ended',
    );
  };

const NOTHING = { kind: 'answer', answer: undefined } as const;

interface Known {
  readonly run: RunState;
  readonly head: number;
  /** The log holds nothing of it. */
  readonly isGone: boolean;
}

/** Undefined when nothing can be decided on what is known now. */
const readKnown = async (
  { log, views }: Pick<ExpireRunOptions, 'log' | 'views'>,
  key: RunKey,
  atLeast: number | undefined,
): Promise<Known | undefined> => {
  const head = atLeast ?? (await headOf(log, key));
  const read = await readRun(log, key, { atLeast: head });
  switch (read.kind) {
    case 'found':
      return { run: read.run, head: read.history.head, isGone: false };
    case 'none': {
      const view = await views.find(key);
      return view && { run: view.run, head: read.head, isGone: true };
    }
    case 'damaged': {
      const view = await views.find(key);
      return view?.head === head ? { run: view.run, head, isGone: false } : undefined;
    }
    case 'deleted':
    case 'newer_version':
      return undefined;
  }
};
