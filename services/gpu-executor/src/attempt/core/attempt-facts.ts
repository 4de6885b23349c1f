import { acceptMessage, isImpossible, type StoredMessage } from '@runledger/contracts/fold/chain';
import { evolveRun } from '@runledger/contracts/fold/evolve-run';
import { RUN_CHAIN, type RunHistory } from '@runledger/contracts/fold/run-chain';
import { isExecuting, type ExecutingRun, type RunFact } from '@runledger/contracts/fold/run';
import type { Assignment } from './assignment.ts';

/** What an executor knows of a run that was assigned to it. */
export interface AttemptFacts {
  readonly history: RunHistory;
  /** Sequences (after, to] that were skipped: what comes from there after all still counts. */
  readonly skipped: readonly { after: number; to: number }[];
  /** A fact of the run has a version of a later release: what may be told past it, this release cannot know. */
  readonly unreadable: boolean;
}

export interface Taken {
  readonly facts: AttemptFacts;
  /** Why the message is no fact of this run. */
  readonly refused: string | null;
}

/** Only forged messages make an executor skip. */
const MAX_SKIPPED_RANGES = 16;

export const beginFacts = (history: RunHistory): AttemptFacts => ({
  history,
  skipped: [],
  unreadable: false,
});

/** Takes the next message that is addressed to this executor. They come in the order of the log. */
export const take = (facts: AttemptFacts, message: StoredMessage): Taken => {
  const { history } = facts;
  const late = facts.skipped.some(({ after, to }) => after < message.sequence && message.sequence <= to);
  // A cancel request that was slow to come must not be lost because something was told meanwhile.
  const from = late ? { ...history, head: message.expectedSequence ?? 0 } : history;
  const accepted = acceptMessage(RUN_CHAIN, from, message);
  switch (accepted.kind) {
    case 'accepted':
    case 'unknown_type':
      return { facts: moveTo(facts, accepted.history), refused: null };
    case 'refused':
      return { facts: moveTo(facts, accepted.history), refused: accepted.why };
    case 'gap':
      // What it rests on was not addressed to this executor, as every fact of its attempt is: somebody forged it.
      if (accepted.expected > history.head) return take(skipTo(facts, accepted.expected), message);
      return { facts, refused: `it rests on ${accepted.expected}, which is not the last fact` };
    case 'known':
      return { facts, refused: null };
    // The consumption stops before it, so it was looked up.
    case 'newer_version':
      return { facts: { ...facts, unreadable: true }, refused: null };
  }
};

const moveTo = (facts: AttemptFacts, { head, state: run }: RunHistory): AttemptFacts => ({
  ...facts,
  history: { head: Math.max(facts.history.head, head), state: run },
});

/** Takes a fact that this executor has just told, before it comes back from the broker. */
export const takeOwn = (facts: AttemptFacts, fact: RunFact): AttemptFacts => {
  if (fact.sequence <= facts.history.head) return facts;
  const run = evolveRun(facts.history.state, fact);
  return {
    ...facts,
    history: { head: fact.sequence, state: isImpossible(run) ? facts.history.state : run },
  };
};

/** Goes on from `head` although what is stored there was never seen: late, or not meant for this executor. */
export const skipTo = (facts: AttemptFacts, head: number): AttemptFacts => {
  const after = facts.history.head;
  if (head <= after) return facts;
  const skipped = [...facts.skipped, { after, to: head }].slice(-MAX_SKIPPED_RANGES);
  return { ...facts, history: { ...facts.history, head }, skipped };
};

/** The run while this attempt is the one under way, else null: it was requeued, given to another, has ended, or cannot be read. */
export const underWay = (
  { history: { state: run }, unreadable }: AttemptFacts,
  assignment: Assignment,
): ExecutingRun | null =>
  run !== undefined &&
  !unreadable &&
  isExecuting(run) &&
  run.attempt.number === assignment.attempt &&
  run.attempt.executor_id === assignment.executor_id
    ? run
    : null;
