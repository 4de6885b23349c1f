import { partitionOf } from '@runledger/contracts/deliveries/timers';
import {
  compareReceivers,
  type HeldUpBy,
  type ReceiversRequest,
} from '@runledger/contracts/deliveries/receivers';
import { isInTimers } from './delivery.ts';
import { FIRST_LIMIT, hasWaiting, type ReceiverQueue } from './receiver-queues.ts';
import { NO_RECORD, type ReceiverRecord, type Receiver, receiverKey } from './receiver.ts';
import type { NotifierState } from './state.ts';
import { isBlocked, freePermitsOf } from './queueing.ts';
import { CLOSED, type Breaker } from './breaker.ts';
import { instantOf } from './outboxes.ts';

/** All that a notifier has in memory of one receiver. */
export interface KnownReceiver extends Receiver {
  readonly breaker: ReportedBreaker;
  readonly record: ReceiverRecord;
  /** Final notifications that only the memory has: TIMERS does not hold them. */
  readonly unstored: number;
  readonly inFlight: number;
  readonly maxInFlight: number;
  readonly heldUpBy: HeldUpBy | undefined;
}

export interface KnownReceivers {
  /** That are held. */
  readonly partitions: readonly number[];
  /** In the order of `compareReceivers`. */
  readonly receivers: readonly KnownReceiver[];
  /** Whether there are more. */
  readonly more: boolean;
}

/** The receivers of one organisation in the partitions that are held: those in memory, and those of the origins that the request names. */
export const knownReceivers = (
  state: NotifierState,
  { org_id, host, origins }: ReceiversRequest,
  most: number,
): KnownReceivers => {
  const partitions = [...state.partitions.values()].filter(({ closing }) => !closing);
  const held = new Set(partitions.map(({ number }) => number));
  const remembered = [...state.queues.all()].flatMap(({ receiver }) =>
    receiver.org_id === org_id ? [receiver.origin] : [],
  );
  const unstored = countUnstored(state, org_id);
  const known = [...new Set([...remembered, ...origins])]
    .filter((origin) => held.has(partitionOf(origin)) && isWanted(origin, host))
    .map((origin) => knownReceiver(state, { org_id, origin }, unstored.get(origin) ?? 0))
    .toSorted((one, other) => compareReceivers(rankedOf(one), rankedOf(other)));
  return { partitions: [...held], receivers: known.slice(0, most), more: known.length > most };
};

/** Callback URLs that are invalid have an origin too, which is no URL. */
const isWanted = (origin: string, host: string | null): boolean => {
  const url = URL.parse(origin);
  return url !== null && (host === null || url.host === host);
};

const countUnstored = ({ outboxes }: NotifierState, org_id: string): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const { receiver, finals } of outboxes.values()) {
    if (receiver.org_id !== org_id) continue;
    const unstored = finals.filter((delivery) => !isInTimers(delivery)).length;
    counts.set(receiver.origin, (counts.get(receiver.origin) ?? 0) + unstored);
  }
  return counts;
};

const knownReceiver = (state: NotifierState, receiver: Receiver, unstored: number): KnownReceiver => {
  const breaker = shownBreaker(state, receiver);
  const queue = state.queues.find(receiver);
  return {
    ...receiver,
    breaker,
    record: queue?.record ?? NO_RECORD,
    unstored,
    inFlight: queue?.inFlight ?? 0,
    maxInFlight: maxInFlight(state, receiver, queue?.limit ?? FIRST_LIMIT),
    heldUpBy: queue ? heldUpBy(state, queue) : undefined,
  };
};

const rankedOf = ({ origin, breaker, record }: KnownReceiver) => ({
  origin,
  state: breaker.state,
  failures_in_a_row: record.failuresInARow,
});

/** What keeps notifications of the receiver from being sent now; undefined when nothing in memory does. */
const heldUpBy = (state: NotifierState, queue: ReceiverQueue): HeldUpBy | undefined => {
  const { limits, breakers } = state;
  const { receiver, health, deferred } = queue;
  if (isBlocked(state, receiver)) return 'breaker';
  if (!hasWaiting(queue) && !deferred.expected) return undefined;
  if (freePermitsOf(state, queue) <= 0) {
    const isProbing = [queue.key, receiver.origin].some((key) => breakers.state(key).kind === 'probing');
    return isProbing ? 'probe' : 'receiver_limit';
  }
  if (!limits.hasFree) return 'notifier_limit';
  if (!limits.hasFreeOf(receiver.org_id, health)) return 'organisation_limit';
  return limits.hasFreeFor(health) ? undefined : 'notifier_limit';
};

/** How many attempts of the receiver may be in flight now, whatever those of others are. */
const maxInFlight = ({ breakers }: NotifierState, receiver: Receiver, limit: number): number =>
  [breakers.state(receiverKey(receiver)), breakers.state(receiver.origin)].reduce((most, breaker) => {
    if (breaker.kind === 'open') return 0;
    return breaker.kind === 'probing' ? Math.min(most, breaker.limit) : most;
  }, limit);

/** The breaker that decides whether a receiver gets attempts. Times in milliseconds since 1970. */
interface ReportedBreaker {
  readonly state: 'closed' | 'open' | 'probing';
  /** It is that of the origin, which all organisations share. */
  readonly shared: boolean;
  /** When the state was entered. Undefined for one that never opened, and for one that is shared. */
  readonly since: number | undefined;
  /** Of an open one. */
  readonly until: number | undefined;
}

/** Of the receiver's own breaker and that of its origin the one that lets less through, or for longer. */
const shownBreaker = (notifier: NotifierState, receiver: Receiver): ReportedBreaker => {
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
