import type { Logger } from '@runledger/event-log/connect/observability';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { eventIdOf, type StoredMessage } from '@runledger/contracts/fold/chain';
import { attemptSubjects } from '@runledger/contracts/events/subjects';
import { sleep, untilAborted } from '@runledger/resilience/abort';
import type { AttemptUnderWay } from '@runledger/contracts/fold/evolve-attempt';
import type { Assignment } from './assignment.decide.ts';
import {
  eventOf,
  type EventDraft,
  skipTo,
  applyMessage,
  applyOwn,
  underWay,
  type AttemptFacts,
} from './attempt-facts.decide.ts';

/** One attempt in the log: received facts, stored facts, and whether the attempt may continue. */
export interface AttemptLedger {
  readonly assignment: Assignment;
  /** Takes a message addressed to this executor. Returns why it is not a fact of the attempt, else null. */
  receive(message: StoredMessage): string | null;
  /** Aborted when the workflow must stop: the run is cancelled or requeued, or the executor stops. */
  readonly stop: AbortSignal;
  /**
   * Stores the event that `decide` returns, and decides again when another fact came first. Waits while the broker is
   * unavailable. False when `decide` returns null, or the attempt is over.
   */
  append(decide: Decide): Promise<boolean>;
}

type Decide = (attempt: AttemptUnderWay) => EventDraft | null;

/** How long to wait for the fact of a conflict before a look-up. A fact that is not addressed to this executor never arrives. */
const LOOK_UP_AFTER_MS = 2_000;
const RETRY_AFTER_MS = 500;
/** A consumer may be ahead of the log's leader for a moment, and a former leader responds for some ten seconds. */
const FORMER_LEADER_MS = 15_000;
/** A stored fact is refused only when another one arrived late. */
const MAX_REFUSED = 8;

/** Made once: an abort without a reason makes an error with its stack each time, and every attempt ends with one. */
const STOPPED = new Error('the attempt is over, or its workflow has to stop');

interface OpenLedger {
  readonly settings: LedgerSettings;
  readonly assignment: Assignment;
  readonly stopping: AbortController;
  /** By event id: why the event is not a fact of the attempt, else null. */
  readonly received: Map<string, string | null>;
  facts: AttemptFacts;
  /** Resolves with the next change of the facts. */
  changed: PromiseWithResolvers<void>;
}

export const openLedger = (facts: AttemptFacts, settings: LedgerSettings): AttemptLedger => {
  const { assignment } = facts;
  const stopping = new AbortController();
  const ledger: OpenLedger = {
    settings,
    assignment,
    stopping,
    received: new Map(),
    facts,
    changed: Promise.withResolvers(),
  };
  return {
    assignment,
    stop: AbortSignal.any([stopping.signal, settings.closing]),
    receive: (message) => receive(ledger, message),
    append: (decide) => append(ledger, decide),
  };
};

const setFacts = (ledger: OpenLedger, next: AttemptFacts): void => {
  ledger.facts = next;
  const attempt = underWay(next);
  if (attempt === null || attempt.cancel !== null) ledger.stopping.abort(STOPPED);
  ledger.changed.resolve();
  ledger.changed = Promise.withResolvers();
};

const receive = (ledger: OpenLedger, message: StoredMessage): string | null => {
  const { facts, refused } = applyMessage(ledger.facts, message);
  const id = eventIdOf(message);
  // A fact that was looked up is delivered again.
  if (id !== null && !ledger.received.has(id)) ledger.received.set(id, refused);
  setFacts(ledger, facts);
  return refused;
};

interface Attempted {
  readonly event: RunEvent;
  readonly expected: number;
  /** When the log first answered that it does not hold `expected`, in milliseconds since 1970. */
  behindSince?: number;
}

const append = async (ledger: OpenLedger, decide: Decide): Promise<boolean> => {
  const { settings, received } = ledger;
  let last: Attempted | null = null;
  for (let refused = 0; !settings.closing.aborted && refused < MAX_REFUSED;) {
    // The acknowledgement was lost, but the fact was delivered.
    if (last !== null && received.get(last.event.event_id) === null) return true;
    last = nextEvent(ledger, decide, last);
    if (last === null) return false;
    const appended = await settings.append(last.event, last.expected);
    if (appended.kind === 'appended') {
      const counted = await isCounted(ledger, last.event, appended.sequence);
      if (counted !== false) return counted ?? false;
      refused += 1;
    } else await afterFailedAppend(ledger, appended, last);
  }
  return false;
};

/** Without another fact the same event is appended again, so that the broker can recognise it. */
const nextEvent = (
  { settings, facts, assignment }: OpenLedger,
  decide: Decide,
  last: Attempted | null,
): Attempted | null => {
  const attempt = underWay(facts);
  const draft = attempt === null ? null : decide(attempt);
  if (draft === null) return null;
  const expected = facts.history.head;
  if (last?.expected === expected) return last;
  const stamp = { event_id: settings.newId(), time: settings.now().toISOString() };
  return { event: eventOf(assignment, draft, stamp), expected };
};

const afterFailedAppend = async (
  ledger: OpenLedger,
  appended: Exclude<Appended, { readonly kind: 'appended' }>,
  attempted: Attempted,
): Promise<void> => {
  const { event, expected } = attempted;
  const { closing, log } = ledger.settings;
  if (appended.kind === 'conflict') {
    const { head = expected } = appended;
    if (head > expected) await readUpTo(ledger, head);
    else if (head < expected && isBehindForLong(ledger, attempted)) expire(ledger, head);
    else await sleep(RETRY_AFTER_MS, closing);
    return;
  }
  const { run_id, attempt } = ledger.assignment;
  log.warn(
    { run_id, attempt, type: event.type, why: appended.why },
    'the log is unavailable; the append is tried again',
  );
  await sleep(RETRY_AFTER_MS, closing);
};

const isBehindForLong = ({ settings }: OpenLedger, attempted: Attempted): boolean => {
  const now = settings.now().getTime();
  attempted.behindSince ??= now;
  return now - attempted.behindSince >= FORMER_LEADER_MS;
};

/** What the attempt rests on has left the log, so nothing can follow it. The gateway ends the run. */
const expire = (ledger: OpenLedger, head: number): void => {
  const { settings, facts, assignment } = ledger;
  const { run_id, attempt } = assignment;
  settings.log.error(
    { run_id, attempt, known: facts.history.head, head },
    'the log no longer holds the events of this run, so nothing can be stored about it: the attempt is stopped. ' +
      'The runsMaxAgeMs of the log is shorter than the run took, or the log was restored from a copy',
  );
  settings.onExpired();
  setFacts(ledger, { ...facts, history: { ...facts.history, state: { status: 'over' } } });
};

/**
 * Waits for the facts up to `head`, and looks them up when they are late. Continues without a fact that is not addressed
 * to this executor, or that the broker cannot deliver yet.
 */
const readUpTo = async (ledger: OpenLedger, head: number): Promise<void> => {
  const { settings, assignment } = ledger;
  const isBehind = (): boolean => ledger.facts.history.head < head;
  await waitForChanges(ledger, isBehind);
  if (!isBehind()) return;
  // It may be a cancel request that is still in the queue of the consumer; an end stored after it would be refused.
  const found = await settings.look(attemptSubjects(assignment));
  if (found === undefined) return;
  for (const late of found.toSorted((a, b) => a.sequence - b.sequence)) {
    if (late.sequence > ledger.facts.history.head) receive(ledger, late);
  }
  const { run_id, attempt } = assignment;
  if (ledger.facts.unreadable) {
    settings.log.warn(
      { run_id, attempt, head },
      'only a later release can read a fact of this run: the scheduler has to end or requeue it',
    );
  } else if (isBehind()) {
    settings.log.warn({ run_id, attempt, head }, 'a message of this run is not visible to this executor');
    setFacts(ledger, skipTo(ledger.facts, head));
  }
};

const waitForChanges = async (ledger: OpenLedger, isBehind: () => boolean): Promise<void> => {
  const late = AbortSignal.timeout(LOOK_UP_AFTER_MS);
  const caughtUp = async (): Promise<void> => {
    while (isBehind() && !late.aborted) await ledger.changed.promise;
  };
  await untilAborted(caughtUp(), late);
};

/**
 * Whether a stored fact counts. After a skipped message, only its delivery shows that: by then every earlier message has
 * arrived, also a cancel request that makes the fact invalid. Undefined when it cannot be delivered any longer.
 */
const isCounted = async (
  ledger: OpenLedger,
  event: RunEvent,
  sequence: number,
): Promise<boolean | undefined> => {
  const { received } = ledger;
  const { now, closing, disconnected } = ledger.settings;
  if (ledger.facts.skipped.length === 0) {
    setFacts(ledger, applyOwn(ledger.facts, { event, sequence, time: now().toISOString() }));
    return true;
  }
  const over = AbortSignal.any([closing, disconnected]);
  const delivered = async (): Promise<void> => {
    while (!received.has(event.event_id) && !over.aborted) await ledger.changed.promise;
  };
  await untilAborted(delivered(), over);
  const refused = received.get(event.event_id);
  return refused === undefined ? undefined : refused === null;
};

/** The result of an append. With `unavailable` the event may be stored or not. */
export type Appended =
  | { readonly kind: 'appended'; readonly sequence: number }
  /** `head`: the last message of the run; undefined when the log did not report it. */
  | { readonly kind: 'conflict'; readonly head: number | undefined }
  | { readonly kind: 'unavailable'; readonly why: string };

export interface LedgerSettings {
  readonly append: (event: RunEvent, expected: number) => Promise<Appended>;
  /** The last stored message on each of these subjects; undefined while the log is unavailable. */
  readonly look: (subjects: readonly string[]) => Promise<readonly StoredMessage[] | undefined>;
  readonly newId: () => string;
  readonly now: () => Date;
  /** The executor stops: nothing more is stored. */
  readonly closing: AbortSignal;
  /** The consumer has ended: nothing more is delivered. */
  readonly disconnected: AbortSignal;
  /** The log no longer holds the facts that the attempt rests on. */
  readonly onExpired: () => void;
  readonly log: Logger;
}
