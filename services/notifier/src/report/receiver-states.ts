import type { HeldUpBy, ReceiversResponse, ReceiverState } from '@runledger/contracts/requests/receivers';
import type { KnownReceiver, KnownReceivers } from '../core/report/known-receivers.ts';
import type { RecordedFailure } from '../core/receivers/receiver-record.ts';
import type { Receiver } from '../core/receivers/receiver.ts';

/** At the same time. */
const COUNTED_TOGETHER = 32;

export interface Counting {
  /** How many deliveries TIMERS holds for a receiver. Undefined when the broker does not say it in time. */
  readonly count: (receiver: Receiver) => Promise<number | undefined>;
  /** Whether time is left for more. */
  readonly isInTime: () => boolean;
}

/** What is known of the receivers, together with what TIMERS holds for them. What cannot be counted in time is null. */
export const receiverStates = async (
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
