import type { OutputLists } from '@runledger/blob-store/output-lists';
import { isEnded, isExecuting, type RunFact } from '@runledger/contracts/fold/run';
import type { OutputUrl } from '@runledger/contracts/run-view/shown-outputs';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { head as headOf, readRun } from '@runledger/event-log/read/read-run';
import { lastProgress, subscribeToProgress } from '@runledger/event-log/streams/activity';
import type { LimitFunction } from 'p-limit';
import type { ReadCurrentRun } from '../current/current-run.ts';
import { startCatchUp } from './catch-up.ts';
import { progressEvents, type ProgressEvents } from './progress-events.ts';
import { runEvents, type RunEvents } from './run-events.ts';
import type { RunStreamTail } from './run-stream-tail.ts';
import type { RunSubscription, SubscriptionListener } from './run-subscription.ts';

/** One run, read once for all its subscribers. */
export interface LiveRun extends Pick<RunSubscription, 'facts' | 'progress'> {
  close(): void;
}

/** What all live runs of a gateway share. */
export interface LiveRunParts {
  readonly log: EventLog;
  readonly tail: RunStreamTail;
  readonly current: ReadCurrentRun;
  readonly lists: OutputLists;
  /** Limits how many runs are read at once. */
  readonly limit: LimitFunction;
  readonly outputUrl: OutputUrl;
  readonly logger: Logger;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** Begins at once, with the run's first fact. */
export const openLiveRun = (parts: LiveRunParts, key: RunKey, listener: SubscriptionListener): LiveRun => {
  const { log, tail, limit, outputUrl, logger, clock } = parts;
  const events = runEvents(outputUrl);
  const progress = progressEvents({ run: () => events.run(), onProgress: listener.onProgress, clock });
  const readFacts = factReader(parts, key, events);
  let head = 0;

  const read = async (announced: number | undefined): Promise<number> => {
    const known = events.facts.length;
    const upTo = announced ?? (await headOf(log, key));
    const next = upTo === head && upTo > 0 ? { head, continues: true } : await readFacts(upTo);
    ({ head } = next);
    if (next.continues && announced === undefined) await readProgress(log, key, events, progress);
    if (catchUp.isClosed()) return head;
    if (events.facts.length > known) {
      listener.onFacts();
      progress.emitLater();
    }
    if (!next.continues || events.facts.at(-1)?.finished === true) close();
    if (!next.continues) listener.onOver('the log does not continue the events that were sent');
    return head;
  };
  const close = (): void => {
    catchUp.close();
    progress.close();
    unlisten();
    unsubscribe();
  };

  const catchUp = startCatchUp({
    read,
    limit: (work) => limit(work),
    onError: (error) =>
      logger.warn({ err: error, run_id: key.run_id }, 'a live run could not be read; trying again'),
  });
  const unlisten = tail.listen(key, catchUp);
  const unsubscribe = subscribeToProgress(log, key, (attempt, executor, report) =>
    progress.take({ attempt, executor, report }),
  );
  return { facts: events.facts, progress: () => progress.latest(), close };
};

/** The head that was read, and whether the facts continue the events that were emitted. */
type ReadFacts = (upTo: number) => Promise<{ readonly head: number; readonly continues: boolean }>;

const factReader =
  ({ log, current, lists }: LiveRunParts, key: RunKey, events: RunEvents): ReadFacts =>
  async (upTo) => {
    /** The log begins with an expiry, of a run that had ended. */
    const hasEndedBefore = async ({ facts: [first] }: { facts: readonly RunFact[] }): Promise<boolean> => {
      if (first?.event.type !== 'RunExpired' || events.facts.length > 0) return false;
      const now = await current(key);
      return now.kind === 'found' && isEnded(now.run) && now.run.end_reason !== 'log_expired';
    };
    const read = await readRun(log, key, { atLeast: upTo });
    if (read.kind === 'found' && !(await hasEndedBefore(read))) {
      const loaded = await Promise.all(read.facts.map((fact) => lists.ofFact(fact)));
      const facts = loaded.map(({ fact }) => fact);
      const lost = loaded.flatMap(({ missing }) => missing);
      return { head: read.history.head, continues: events.take(facts, lost) };
    }
    // Its events have expired, and only the views or the archive know it.
    const viewed = await current(key);
    if (viewed.kind !== 'found') return { head: upTo, continues: false };
    const { run, missing } = await lists.ofRun(viewed.run);
    return { head: upTo, continues: events.takeView({ ...viewed, run }, missing) };
  };

const readProgress = async (
  log: EventLog,
  key: RunKey,
  events: RunEvents,
  progress: ProgressEvents,
): Promise<void> => {
  const run = events.run();
  if (!run || !isExecuting(run)) return;
  const { number: attempt, executor_id: executor } = run.attempt;
  const report = await lastProgress(log, key, attempt, executor);
  if (report) progress.take({ attempt, executor, report });
  progress.emitNow();
};
