import {
  acceptMessage,
  EMPTY_HISTORY,
  type Chain,
  type FactOf,
  type Gap,
  type History,
  type NewerEvent,
  type Refusal,
  type StoredMessage,
} from './chain.ts';

export interface RefusedMessage {
  readonly message: StoredMessage;
  readonly refusal: Refusal;
  readonly why: string;
}

/** A chain without a gap. */
export interface WholeChain<Event, State> {
  readonly kind: 'whole';
  readonly history: History<State>;
  readonly facts: readonly FactOf<Event>[];
  readonly refused: readonly RefusedMessage[];
}

export type ReadChain<Event, State> = WholeChain<Event, State> | Gap | NewerEvent;

/** For a reader that has every message of the chain, so a gap before one of them would be a loss. */
const NOTHING_SKIPPED = (): boolean => false;

/**
 * Folds the stored messages of one chain, in the order of their sequences. When what precedes a fact that needs nothing has
 * expired in part, the history begins with that fact. `isStray`: whether a message can be no fact of a run that is known, whatever
 * was stored before it. A reader that left out such messages has a gap before some that it did not leave out.
 */
export const readChain = <Type extends string, Event, State>(
  chain: Chain<Type, Event, State>,
  messages: readonly StoredMessage[],
  isStray: (message: StoredMessage) => boolean = NOTHING_SKIPPED,
): ReadChain<Event, State> => {
  const ordered = messages.toSorted((a, b) => a.sequence - b.sequence);
  const read = readFrom(chain, ordered, isStray);
  if (read.kind !== 'gap') return read;
  const beginning = ordered.findIndex((message) => beginsHistory(chain, message));
  return beginning > 0 ? readFrom(chain, ordered.slice(beginning), isStray) : read;
};

const beginsHistory = <Type extends string, Event, State>(
  chain: Chain<Type, Event, State>,
  message: StoredMessage,
): boolean => {
  const first = acceptMessage(chain, EMPTY_HISTORY, message);
  return first.kind === 'accepted' && chain.needs(first.fact.event) === 'nothing';
};

const STRAY = 'no attempt was assigned to its writer';

const readFrom = <Type extends string, Event, State>(
  chain: Chain<Type, Event, State>,
  messages: readonly StoredMessage[],
  isStray: (message: StoredMessage) => boolean,
): ReadChain<Event, State> => {
  let history: History<State> = EMPTY_HISTORY;
  const facts: FactOf<Event>[] = [];
  const refused: RefusedMessage[] = [];
  for (const message of messages) {
    const next = acceptMessage(chain, history, message);
    switch (next.kind) {
      case 'accepted':
        facts.push(next.fact);
        break;
      case 'refused':
        refused.push({ message, refusal: next.refusal, why: next.why });
        break;
      case 'known':
        continue;
      case 'gap':
        if (history.state === undefined || !isStray(message)) return next;
        refused.push({ message, refusal: 'impossible', why: STRAY });
        history = { ...history, head: message.sequence };
        continue;
      case 'newer_version':
        return next;
    }
    history = next.history;
  }
  return { kind: 'whole', history, facts, refused };
};

/** A stored message of a chain, as somebody sees it who wants to know what happened. */
export type ChainStep<Event, State> =
  | {
      readonly kind: 'fact';
      readonly fact: FactOf<Event>;
      /** What it changed; undefined where facts before it are missing. */
      readonly states: { readonly before: State | undefined; readonly after: State } | undefined;
    }
  /** Facts are missing before this message: it follows `expected`, and `after` was read last; 0 for none. */
  | {
      readonly kind: 'gap';
      readonly after: number;
      readonly expected: number;
      readonly message: StoredMessage;
    }
  /** It is in the log, and part of no history. */
  | {
      readonly kind: 'refused';
      readonly message: StoredMessage;
      readonly refusal: Refusal;
      readonly why: string;
    }
  /** A later release wrote it: what it changed is not known. */
  | { readonly kind: 'newer'; readonly message: StoredMessage; readonly type: string };

/**
 * Every message of a chain, in its order. Readers stop at a gap, since they would derive a wrong state; this shows it, and goes on:
 * what follows is shown without what it changed, until a fact says everything.
 */
export const walkChain = <Type extends string, Event, State>(
  chain: Chain<Type, Event, State>,
  messages: readonly StoredMessage[],
): ChainStep<Event, State>[] => {
  const steps: ChainStep<Event, State>[] = [];
  let history: History<State> = EMPTY_HISTORY;
  let isLost = false;
  for (const message of messages.toSorted((a, b) => a.sequence - b.sequence)) {
    let next = acceptMessage(chain, history, message);
    if (next.kind === 'gap') {
      steps.push({ kind: 'gap', after: next.after, expected: next.expected, message });
      isLost = true;
      history = { head: next.expected, state: undefined };
      next = acceptMessage(chain, history, message);
    }
    switch (next.kind) {
      case 'known':
        continue;
      case 'gap': {
        // It changes a run that nobody knows.
        const fact = factOf(chain, message);
        if (fact) steps.push({ kind: 'fact', fact, states: undefined });
        history = { head: message.sequence, state: undefined };
        continue;
      }
      case 'accepted': {
        isLost &&= chain.needs(next.fact.event) !== 'nothing';
        const states = isLost ? undefined : { before: history.state, after: next.state };
        steps.push({ kind: 'fact', fact: next.fact, states });
        break;
      }
      case 'refused': {
        const fact = isLost && next.refusal === 'impossible' ? factOf(chain, message) : undefined;
        // Whether its executor may have written it, an assignment says that is not known.
        const newer = isLost && next.refusal === 'invalid' ? chain.newerVersionOf(message.body) : undefined;
        if (fact) steps.push({ kind: 'fact', fact, states: undefined });
        else if (newer) steps.push(newerStep(message, newer));
        else steps.push({ kind: 'refused', message, refusal: next.refusal, why: next.why });
        break;
      }
      case 'newer_version':
        steps.push(newerStep(message, next));
        isLost = true;
        history = { head: next.sequence, state: undefined };
        continue;
    }
    history = isLost ? { ...next.history, state: undefined } : next.history;
  }
  return steps;
};

const newerStep = (
  message: StoredMessage,
  { type, version }: { readonly type: string; readonly version: number },
): ChainStep<never, never> => ({
  kind: 'newer',
  message,
  type: `${type} in version ${version}`,
});

/** Of a message that is a fact, and follows nothing that is known. */
const factOf = <Type extends string, Event, State>(
  chain: Chain<Type, Event, State>,
  { body, sequence, time }: StoredMessage,
): FactOf<Event> | undefined => {
  const parsed = chain.parse(body);
  return parsed.kind === 'event' ? { event: parsed.event, sequence, time } : undefined;
};

/** The state after a step; undefined where it is not known. */
export const stateAfter = <Event, State>(
  step: ChainStep<Event, State>,
  before: State | undefined,
): State | undefined => {
  switch (step.kind) {
    case 'fact':
      return step.states?.after;
    case 'gap':
    case 'newer':
      return undefined;
    case 'refused':
      return before;
  }
};
