import {
  MAX_LISTED_RECEIVERS,
  type ReceiversRequest,
  type HeldUpBy,
  type ReceiversResponse,
  type ReceiverState,
} from '@runledger/contracts/deliveries/receivers';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { respondWithReceivers } from '@runledger/request-reply/receivers';
import { within } from '@runledger/resilience/within';
import { LRUCache } from 'lru-cache';
import type { KnownReceivers, KnownReceiver } from './core/known-receivers.ts';
import { countPendingAt } from './timers.ts';
import { type RecordedFailure, type Receiver, receiverKey } from './core/receiver.ts';

/** The gateway waits for a second. A slow count must not make the notifier look gone. */
const COUNTED_WITHIN_MS = 400;

/** Responds to requests for the receivers of an organisation, until it is disposed of. */
export const respondAboutReceivers = (
  log: EventLog,
  notifier: { readonly receivers: (request: ReceiversRequest, most: number) => KnownReceivers },
): Disposable => {
  const countPending = rememberMany((receiver) => countPendingAt(log, receiver));
  return respondWithReceivers(log, (request) => {
    const until = performance.now() + COUNTED_WITHIN_MS;
    return receiverStates(notifier.receivers(request, MAX_LISTED_RECEIVERS), {
      isInTime: () => performance.now() < until,
      count: (receiver) =>
        within(
          until - performance.now(),
          countPending(receiver).catch(() => undefined),
          () => undefined,
        ),
    });
  });
};

/** At the same time. */
const COUNTED_TOGETHER = 32;

interface Counting {
  /** How many deliveries TIMERS holds for a receiver. Undefined when the broker does not say it in time. */
  readonly count: (receiver: Receiver) => Promise<number | undefined>;
  /** Whether time is left for more. */
  readonly isInTime: () => boolean;
}

/** What is known of the receivers, together with what TIMERS holds for them. What cannot be counted in time is null. */
const receiverStates = async (
  { partitions, receivers, more }: KnownReceivers,
  { count, isInTime }: Counting,
): Promise<ReceiversResponse> => {
  const states: ReceiverState[] = [];
  for (let at = 0; at < receivers.length; at += COUNTED_TOGETHER) {
    const some = receivers.slice(at, at + COUNTED_TOGETHER);
    const counted = some.map(async (known) =>
      receiverState(known, isInTime() ? await count(known) : undefined),
    );
    states.push(...(await Promise.all(counted)));
  }
  return { partitions: [...partitions], receivers: states, more };
};

const receiverState = (known: KnownReceiver, stored: number | undefined): ReceiverState => {
  const { origin, breaker, record, unstored, inFlight, maxInFlight } = known;
  const waiting = stored === undefined ? null : stored + unstored;
  return {
    origin,
    state: breaker.state,
    shared: breaker.shared,
    since: isoOf(breaker.since),
    next_probe_at: isoOf(breaker.until),
    failures_in_a_row: record.failuresInARow,
    failing_since: isoOf(record.failingSince),
    waiting,
    in_flight: inFlight,
    max_in_flight: maxInFlight,
    held_up_by: heldUpBy(known, waiting),
    last_success_at: isoOf(record.lastSuccessAt),
    last_failure: record.lastFailure === undefined ? null : failureOf(record.lastFailure),
  };
};

/** What nothing in memory holds up waits for its time. */
const heldUpBy = (known: KnownReceiver, waiting: number | null): HeldUpBy | null => {
  if (waiting === 0) return null;
  return known.heldUpBy ?? ((waiting ?? 0) > known.inFlight ? 'retry_delay' : null);
};

const failureOf = ({ at, ...failure }: RecordedFailure): ReceiverState['last_failure'] => ({
  at: new Date(at).toISOString(),
  ...failure,
});

const isoOf = (at: number | undefined): string | null =>
  at === undefined ? null : new Date(at).toISOString();

/** To count a thousand takes the broker about a millisecond. */
const MANY = 1_000;
const REMEMBERED_MS = 10_000;
const MAX_REMEMBERED = 1_000;

/** Counts for each receiver; a count of many is good for ten seconds, however many look at it. `count` may reject. */
export const rememberMany = (
  count: (receiver: Receiver) => Promise<number>,
): ((receiver: Receiver) => Promise<number>) => {
  const remembered = new LRUCache<string, number>({ max: MAX_REMEMBERED, ttl: REMEMBERED_MS });
  return async (receiver) => {
    const key = receiverKey(receiver);
    const known = remembered.get(key);
    if (known !== undefined) return known;
    const counted = await count(receiver);
    if (counted >= MANY) remembered.set(key, counted);
    return counted;
  };
};
