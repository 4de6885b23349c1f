import {
  acceptMessage,
  isImpossible,
  type FactOf,
  type History,
  type StoredMessage,
  type Chain,
} from '@runledger/contracts/fold/chain';
import {
  type AttemptState,
  type AttemptUnderWay,
  evolveAttempt,
} from '@runledger/contracts/fold/evolve-attempt';
import {
  type RunEvent,
  type RunEventType,
  currentVersion,
  parseRunEvent,
  type RunEventOf,
} from '@runledger/contracts/events/run-event';
import { latestVersionUnder, RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import type { Assignment } from './assignment.decide.ts';

/** What an executor has read of its attempt. */
export interface AttemptFacts {
  readonly assignment: Assignment;
  readonly history: History<AttemptState>;
  /** Skipped sequences (after, to]: a fact of them that arrives later still counts. */
  readonly skipped: readonly { readonly after: number; readonly to: number }[];
  /** A fact of the run has a version of a later release: this release cannot decide after it. */
  readonly unreadable: boolean;
}

export interface AppliedMessage {
  readonly facts: AttemptFacts;
  /** Why the message is not a fact of this attempt; null when it is. */
  readonly refused: string | null;
}

/** Only forged messages are skipped. */
const MAX_SKIPPED_RANGES = 16;

/** `head` is the sequence of the assignment. */
export const beginFacts = (assignment: Assignment, head: number): AttemptFacts => ({
  assignment,
  history: { head, state: ASSIGNED },
  skipped: [],
  unreadable: false,
});

/** Applies the next message that is addressed to this executor. They come in the order of the log. */
export const applyMessage = (facts: AttemptFacts, message: StoredMessage): AppliedMessage => {
  const { history, assignment } = facts;
  const late = facts.skipped.some(({ after, to }) => after < message.sequence && message.sequence <= to);
  // A late cancel request must not be lost because a fact was stored meanwhile.
  const from = late ? { ...history, head: message.expectedSequence ?? 0 } : history;
  const accepted = acceptMessage(attemptChain(assignment), from, message);
  switch (accepted.kind) {
    case 'accepted':
      return { facts: moveTo(facts, accepted.history), refused: null };
    case 'refused':
      return { facts: moveTo(facts, accepted.history), refused: accepted.why };
    case 'gap':
      // Every fact of the attempt is addressed to this executor, so the previous message was forged.
      if (accepted.expected > history.head) return applyMessage(skipTo(facts, accepted.expected), message);
      return { facts, refused: `it was appended after ${accepted.expected}, which is not the last fact` };
    case 'known':
      return { facts, refused: null };
    // The consumer stops before one of a service, so that was looked up.
    case 'newer_version':
      return { facts: { ...facts, unreadable: true }, refused: null };
  }
};

const moveTo = (facts: AttemptFacts, { head, state }: History<AttemptState>): AttemptFacts => ({
  ...facts,
  history: { head: Math.max(facts.history.head, head), state },
});

/** Applies a fact that this executor has just stored, before the broker delivers it. */
export const applyOwn = (facts: AttemptFacts, fact: FactOf<RunEvent>): AttemptFacts => {
  const { head, state } = facts.history;
  if (fact.sequence <= head) return facts;
  const next = attemptChain(facts.assignment).evolve(state, fact);
  return { ...facts, history: { head: fact.sequence, state: isImpossible(next) ? state : next } };
};

/** Continues from `head` although earlier messages were not read: they are late, or not addressed to this executor. */
export const skipTo = (facts: AttemptFacts, head: number): AttemptFacts => {
  const after = facts.history.head;
  if (head <= after) return facts;
  const skipped = [...facts.skipped, { after, to: head }].slice(-MAX_SKIPPED_RANGES);
  return { ...facts, history: { ...facts.history, head }, skipped };
};

/** Null when the attempt is over or cannot be read. */
export const underWay = ({ history: { state }, unreadable }: AttemptFacts): AttemptUnderWay | null =>
  state !== undefined && !unreadable && state.status !== 'over' ? state : null;

/** The state of an attempt after its RunAssigned. */
const ASSIGNED: AttemptState = { status: 'started', cancel: null };

/**
 * The lifecycle of a run as one attempt sees it. It accepts the same facts as the fold of the whole run, but
 * does not know the request and earlier attempts.
 */
const attemptChain = ({
  attempt,
  executor_id,
  event: { data },
}: Assignment): Chain<RunEventType, RunEvent, AttemptState> => ({
  ...RUN_CHAIN,
  latestVersion: (_state, subject, type) => latestVersionUnder(subject, type, data.fact_versions),
  evolve: (state, fact) => {
    const { event } = fact;
    if (event.attempt === attempt && event.executor_id === executor_id) return evolveAttempt(state, fact);
    return {
      impossible: `${event.type} is about attempt ${event.attempt} of ${event.executor_id ?? 'no executor'}, and this is attempt ${attempt} of ${executor_id}`,
    };
  },
});

type AttemptEventType =
  | 'RunStarted'
  | 'RunUploading'
  | 'RunAttemptFailed'
  | 'RunSucceeded'
  | 'RunFailed'
  | 'RunCancelled';
/** An event that an executor wants to store, without what follows from the assignment. */
export type EventDraft = {
  [T in AttemptEventType]: { type: T; data: RunEventOf<T>['data'] };
}[AttemptEventType];

export interface Stamp {
  readonly event_id: string;
  readonly time: string;
}

/** The event of a draft, caused by the assignment. @throws when a reader could not parse it, which is a bug */
export const eventOf = (assignment: Assignment, { type, data }: EventDraft, stamp: Stamp): RunEvent => {
  const { org_id, run_id, attempt, executor_id, event } = assignment;
  const parsed = parseRunEvent({
    type,
    version: currentVersion(type),
    ...stamp,
    run_id,
    org_id,
    writer: { service: 'gpu-executor', instance: executor_id },
    attempt,
    executor_id,
    correlation_id: event.correlation_id,
    causation_id: event.event_id,
    traceparent: event.traceparent,
    data,
  });
  if (parsed.kind !== 'event')
    throw new Error(`the executor made a ${type} that no reader can parse: ${JSON.stringify(parsed)}`);
  return parsed.event;
};
