import { CLOSED, type Breaker } from '../breakers/breaker.ts';
import { instantOf } from '../decide/deferral.ts';
import { receiverKey, type Receiver } from '../receivers/receiver.ts';
import type { NotifierState } from '../state/state.ts';

/** The breaker that decides whether a receiver gets attempts. Times in milliseconds since 1970. */
export interface ShownBreaker {
  readonly state: 'closed' | 'open' | 'probing';
  /** It is that of the origin, which all organisations share. */
  readonly shared: boolean;
  /** When the state was entered. Undefined for one that never opened, and for one that is shared. */
  readonly since: number | undefined;
  /** Of an open one. */
  readonly until: number | undefined;
}

/** Of the receiver's own breaker and that of its origin the one that lets less through, or for longer. */
export const shownBreaker = (notifier: NotifierState, receiver: Receiver): ShownBreaker => {
  const { breakers } = notifier;
  const own = breakers.find(receiverKey(receiver));
  const shared = breakers.find(receiver.origin);
  const isShared = strictness(shared) > strictness(own) || opensLater(shared, own);
  const { state } = (isShared ? shared : own) ?? { state: CLOSED };
  return {
    state: state.kind,
    shared: isShared,
    since: isShared || !own || own.enteredAt === -Infinity ? undefined : instantOf(notifier, own.enteredAt),
    until: state.kind === 'open' ? instantOf(notifier, state.until) : undefined,
  };
};

const STRICTNESS = { closed: 0, probing: 1, open: 2 } as const;

const strictness = (breaker: Breaker | undefined): number => STRICTNESS[breaker?.state.kind ?? 'closed'];

const opensLater = (one: Breaker | undefined, other: Breaker | undefined): boolean =>
  one?.state.kind === 'open' && other?.state.kind === 'open' && one.state.until > other.state.until;
