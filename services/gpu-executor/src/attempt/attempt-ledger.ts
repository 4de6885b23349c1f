import { setTimeout as pause } from 'node:timers/promises';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { ExecutingRun } from '@runledger/contracts/fold/run';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { attemptSubjects } from '@runledger/contracts/subjects/run-subjects';
import type { Assignment } from './core/assignment.ts';
import { skipTo, take, takeOwn, underWay, type AttemptFacts } from './core/attempt-facts.ts';
import { eventOf, type EventDraft } from './core/attempt-event.ts';

/** One attempt's view of its run: the facts that come in, those it tells, and whether it may still go on. */
export interface AttemptLedger {
  readonly assignment: Assignment;
  /** Takes a fact addressed to this executor; the answer is why it is none, else null. */
  receive(message: StoredMessage): string | null;
  /** Aborted when the workflow has to stop: cancelled, taken away, or the executor itself stops. */
  readonly stop: AbortSignal;
  /**
   * Tells what `decide` makes of the run as it is, and decides again whenever something else was told first.
   * A broker that is away is waited for. False when there was nothing to tell (any more).
   */
  tell(decide: (run: ExecutingRun) => EventDraft | null): Promise<boolean>;
}

/** An append as the log answers it; `unavailable`: it may or may not be stored. */
export type Appended =
  | { kind: 'appended'; sequence: number }
  /** `head`: the last message of the run; undefined when the log did not say. */
  | { kind: 'conflict'; head: number | undefined }
  | { kind: 'unavailable'; why: string };

export interface LedgerSettings {
  readonly append: (event: RunEvent, expected: number) => Promise<Appended>;
  /** The last message on each of these subjects, as far as the log has them at hand; undefined while it is away. */
  readonly look: (subjects: readonly string[]) => Promise<readonly StoredMessage[] | undefined>;
  readonly newId: () => string;
  readonly now: () => Date;
  /** The executor stops: nothing is told any more. */
  readonly closing: AbortSignal;
  /** Nothing is received any more, for whatever reason: what has not come back by now never will. */
  readonly deaf: AbortSignal;
  readonly log: { warn(fields: object, message: string): void };
}

/** How long the fact that a conflict speaks of may take to come before it is looked up; one that is not addressed to us never comes. */
const LOOK_UP_AFTER_MS = 2_000;
const RETRY_AFTER_MS = 500;
/** Only a fact that came late makes one of ours count for nothing. */
const MAX_REFUSED = 8;

export const openLedger = (
  assignment: Assignment,
  begun: AttemptFacts,
  { append, look, newId, now, closing, deaf, log }: LedgerSettings,
): AttemptLedger => {
  const { run_id, attempt } = assignment;
  const stopping = new AbortController();
  const stop = AbortSignal.any([stopping.signal, closing]);
  /** By event id: why it is no fact of the run, else null. */
  const received = new Map<string, string | null>();
  const rest = (): Promise<void> =>
    pause(RETRY_AFTER_MS, undefined, { signal: closing }).catch(() => undefined);
  let facts = begun;
  let moved = Promise.withResolvers<void>();

  const settle = (next: AttemptFacts): void => {
    facts = next;
    const run = underWay(facts, assignment);
    if (run === null || run.cancel !== null) stopping.abort();
    moved.resolve();
    moved = Promise.withResolvers();
  };

  const receive = (message: StoredMessage): string | null => {
    const taken = take(facts, message);
    const { body } = message;
    const id = typeof body === 'object' && body !== null && 'event_id' in body ? String(body.event_id) : null;
    // What was looked up comes again.
    if (id !== null && !received.has(id)) received.set(id, taken.refused);
    settle(taken.facts);
    return taken.refused;
  };

  /**
   * Waits for a fact up to `head`, looks where one can stand when it is late, and goes on without it: then it is none of
   * ours, stored by somebody under the name of another executor, or not yet where we may look.
   */
  const reach = async (head: number): Promise<void> => {
    const deadline = AbortSignal.timeout(LOOK_UP_AFTER_MS);
    const given = new Promise<void>((resolve) => deadline.addEventListener('abort', () => resolve()));
    while (facts.history.head < head && !deadline.aborted) await Promise.race([moved.promise, given]);
    if (facts.history.head >= head) return;
    // It may be a cancel request that waits its turn: an end told past it would count for nobody.
    const found = await look(attemptSubjects(assignment));
    if (found === undefined) return;
    for (const late of found.toSorted((a, b) => a.sequence - b.sequence))
      if (late.sequence > facts.history.head) receive(late);
    if (facts.unreadable) {
      log.warn(
        { run_id, attempt, head },
        'a fact that only a later release can read: this attempt is left to others',
      );
      return;
    }
    if (facts.history.head >= head) return;
    log.warn({ run_id, attempt, head }, 'something was stored in this run that this executor does not see');
    settle(skipTo(facts, head));
  };

  /**
   * Whether a fact that was told counts. Past something unseen that is known when it comes back: what stands before it in
   * the log has come by then, also a cancel request that makes it count for nobody. Undefined when it will not be known.
   */
  const counts = async (event: RunEvent, sequence: number): Promise<boolean | undefined> => {
    if (facts.skipped.length === 0) {
      settle(takeOwn(facts, { event, sequence, time: now().toISOString() }));
      return true;
    }
    const open = (): boolean => !received.has(event.event_id) && !closing.aborted && !deaf.aborted;
    while (open()) await Promise.race([moved.promise, rest()]);
    const refused = received.get(event.event_id);
    return refused === undefined ? undefined : refused === null;
  };

  const tell: AttemptLedger['tell'] = async (decide) => {
    let told: { event: RunEvent; expected: number } | null = null;
    for (let refused = 0; !closing.aborted && refused < MAX_REFUSED;) {
      // The acknowledgement was lost, but the fact came back.
      if (told !== null && received.get(told.event.event_id) === null) return true;
      const run = underWay(facts, assignment);
      const draft = run === null ? null : decide(run);
      if (draft === null) return false;
      const expected = facts.history.head;
      // The same event is tried again as long as nothing has changed, so that the broker can tell it from a second one.
      if (told === null || told.expected !== expected)
        told = {
          event: eventOf(assignment, draft, { event_id: newId(), time: now().toISOString() }),
          expected,
        };
      const appended = await append(told.event, expected);
      switch (appended.kind) {
        case 'appended': {
          const counted = await counts(told.event, appended.sequence);
          if (counted !== false) return counted ?? false;
          refused += 1;
          break;
        }
        case 'conflict':
          if (appended.head !== undefined && appended.head > expected) await reach(appended.head);
          else await rest();
          break;
        case 'unavailable':
          log.warn(
            { run_id, attempt, type: told.event.type, why: appended.why },
            'the log is away; trying again',
          );
          await rest();
      }
    }
    return false;
  };

  return { assignment, receive, stop, tell };
};
