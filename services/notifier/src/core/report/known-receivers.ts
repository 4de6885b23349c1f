import { partitionOf } from '@runledger/contracts/deliveries/partition';
import {
  compareReceivers,
  type HeldUpBy,
  type ReceiversRequest,
} from '@runledger/contracts/requests/receivers';
import { isInTimers } from '../delivery/final-delivery.ts';
import { FIRST_LIMIT } from '../receivers/receiver-queues.ts';
import { NO_RECORD, type ReceiverRecord } from '../receivers/receiver-record.ts';
import type { Receiver } from '../receivers/receiver.ts';
import type { NotifierState } from '../state/state.ts';
import { heldUpBy, maxInFlight } from './held-up.ts';
import { shownBreaker, type ShownBreaker } from './shown-breaker.ts';

/** All that a notifier has in memory of one receiver. */
export interface KnownReceiver extends Receiver {
  readonly breaker: ShownBreaker;
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
