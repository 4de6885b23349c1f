import { setTimeout as pause } from 'node:timers/promises';
import type { StoredMessage } from '@runledger/contracts/history';
import type { ExecutingRun } from '@runledger/contracts/run';
import type { RunEvent } from '@runledger/contracts/run-event';
import type { Assignment } from './domain/assignment.ts';
import { skipTo, take, takeOwn, underWay, type AttemptFacts } from './domain/attempt-facts.ts';
import { eventOf, type Draft } from './domain/tell.ts';

/** One attempt's view of its run: the facts that come in, those it tells, and whether it may still go on. */
export type AttemptLedger = {
  readonly assignment: Assignment;
  /** Takes a fact addressed to this executor; the answer is why it is none, else null. */
  receive(message: StoredMessage): string | null;
  /** Aborted when the workflow has to stop: cancelled, taken away, or the executor itself stops. */
  readonly stop: AbortSignal;
  /**
   * Tells what `decide` makes of the run as it is, and decides again whenever something else was told first.
   * A broker that is away is waited for. False when there was nothing to tell (any more).
   */
  tell(decide: (run: ExecutingRun) => Draft | null): Promise<boolean>;
};

/** An append as the log answers it; `unavailable`: it may or may not be stored. */
export type Appended =
  | { kind: 'appended'; sequence: number }
  | { kind: 'conflict'; head: number }
  | { kind: 'unavailable'; why: string };

export type LedgerSettings = {
  append: (event: RunEvent, expected: number) => Promise<Appended>;
  /** The message at a sequence of the log; undefined when it is not to be had. */
  read: (sequence: number) => Promise<StoredMessage | undefined>;
  newId: () => string;
  now: () => Date;
  /** The executor stops: nothing is told any more. */
  closing: AbortSignal;
  log: { warn(fields: object, message: string): void };
};

/** How long the fact that a conflict speaks of may take to come before it is looked up; one that is not addressed to us never comes. */
const unseenAfterMs = 2_000;
const retryAfterMs = 500;

export const openLedger = (
  assignment: Assignment,
  begun: AttemptFacts,
  { append, read, newId, now, closing, log }: LedgerSettings,
): AttemptLedger => {
  const { run_id, attempt } = assignment;
  const stopping = new AbortController();
  const stop = AbortSignal.any([stopping.signal, closing]);
  const received = new Set<string>();
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
    if (typeof body === 'object' && body !== null && 'event_id' in body) received.add(String(body.event_id));
    settle(taken.facts);
    return taken.refused;
  };

  /** Waits for a fact up to `head`, looks it up when it is late, and does without it when it is none of ours. */
  const reach = async (head: number): Promise<void> => {
    const deadline = AbortSignal.timeout(unseenAfterMs);
    const given = new Promise<void>((resolve) => deadline.addEventListener('abort', () => resolve()));
    while (facts.history.head < head && !deadline.aborted) await Promise.race([moved.promise, given]);
    if (facts.history.head >= head) return;
    // It may be a cancel request that waits its turn: an end told past it would count for nobody.
    const late = await read(head);
    if (late === undefined) return;
    receive(late);
    if (facts.history.head >= head) return;
    log.warn({ run_id, attempt, head }, 'something was stored in this run that this executor does not see');
    settle(skipTo(facts, head));
  };

  const tell: AttemptLedger['tell'] = async (decide) => {
    let told: { event: RunEvent; expected: number } | null = null;
    while (!closing.aborted) {
      // The acknowledgement was lost, but the fact came back.
      if (told !== null && received.has(told.event.event_id)) return true;
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
        case 'appended':
          settle(
            takeOwn(facts, { event: told.event, sequence: appended.sequence, time: now().toISOString() }),
          );
          return true;
        case 'conflict':
          if (appended.head > expected) await reach(appended.head);
          else await pause(retryAfterMs, undefined, { signal: closing }).catch(() => undefined);
          break;
        case 'unavailable':
          log.warn(
            { run_id, attempt, type: told.event.type, why: appended.why },
            'the log is away; trying again',
          );
          await pause(retryAfterMs, undefined, { signal: closing }).catch(() => undefined);
      }
    }
    return false;
  };

  return { assignment, receive, stop, tell };
};
