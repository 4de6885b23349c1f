import { isDeleted } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { ReadRunMessages } from '../../archive/reading/run-messages.ts';
import type { CurrentRun, ReadCurrentRun } from '../current/current-run.ts';
import type { RunView } from '../../projection/core/run-view.ts';
import { isUpTo, runSteps, type Moment } from './core/run-steps.ts';
import { withoutDeleted } from './core/shown-content.ts';

type PastRun =
  | CurrentRun
  /** It was queued later. */
  | { readonly kind: 'not_yet' }
  /** Neither the log nor the archive has the facts any more, or ever had them. */
  | { readonly kind: 'forgotten' };

/** The run as it was, by the fold that serves it now. @throws {LogUnavailable} @throws {ArchiveUnavailable} */
export type ReadPastRun = (key: RunKey, moment: Moment) => Promise<PastRun>;

export interface PastRunOptions {
  readonly read: ReadRunMessages;
  readonly current: ReadCurrentRun;
}

export const pastRun =
  ({ read, current }: PastRunOptions): ReadPastRun =>
  async (key, moment) => {
    const now = await current(key);
    if (now.kind !== 'found' || saysAll(now, moment)) return now;
    const messages = await read(key);
    if (!messages || (messages.isOfOtherLog && 'sequence' in moment)) return { kind: 'forgotten' };
    const steps = runSteps(messages);
    const last = steps.findLast((step) => isUpTo(moment, step));
    const beganWith = steps[0]?.step;
    if (!last) return { kind: beganWith?.kind === 'fact' && beganWith.states ? 'not_yet' : 'forgotten' };
    const { run, webhook } = last.after;
    if (!run || isDeleted(run)) return { kind: 'forgotten' };
    const head = { head: last.sequence, state: webhook };
    return { kind: 'found', head: last.sequence, run: withoutDeleted(run, now.run), webhook: head };
  };

/** Nothing followed the moment, so that the log need not have the run any more. A run of another log has no position in this one. */
export const saysAll = ({ head, run, webhook }: RunView, moment: Moment): boolean =>
  (head > 0 || 'time' in moment) &&
  isUpTo(moment, { sequence: Math.max(head, webhook.head), time: run.updated_at }) &&
  (webhook.state === undefined || isUpTo(moment, { sequence: webhook.head, time: webhook.state.updated_at }));
