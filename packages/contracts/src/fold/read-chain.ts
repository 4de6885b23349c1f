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
      case 'unknown_type':
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
