import {
  DeliveryAttempt,
  DeliveryState,
  runOfDeliverySubject,
} from '@runledger/contracts/deliveries/delivery-attempts';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import type { RunId } from '@runledger/contracts/ids';
import type { SliceFact } from '@runledger/contracts/slices/slice';
import type { RunKey } from '@runledger/contracts/events/subjects';

const attemptValidator = compiledSchema(DeliveryAttempt);
const stateValidator = compiledSchema(DeliveryState);

/** An attempt to send a final notification, as the slice has it. */
export interface RecordedAttempt {
  readonly key: RunKey;
  readonly fact: SliceFact;
  readonly made: DeliveryAttempt;
  /** Milliseconds since 1970. */
  readonly startedMs: number;
}

/** What a message of DELIVERY_ATTEMPTS says of a final notification; undefined for any other message. */
export const recordedDelivery = (
  fact: SliceFact,
): RecordedAttempt | { readonly key: RunKey; readonly state: DeliveryState } | undefined => {
  const key = fact.stream === 'DELIVERY_ATTEMPTS' ? runOfDeliverySubject(fact.subject) : undefined;
  if (!key) return undefined;
  const { event } = fact;
  if (stateValidator.Check(event)) return { key, state: event };
  // One that was interrupted is made again under the same number.
  if (!attemptValidator.Check(event) || event.notification !== 'final' || event.reason === 'interrupted')
    return undefined;
  return { key, fact, made: event, startedMs: Date.parse(event.started_at) };
};

/** The attempts that the slice holds a little further on: their order shows what their notifier knew. */
export class ForeseenAttempts {
  readonly #ahead = new Map<RunId, RecordedAttempt[]>();

  foresee(fact: SliceFact): void {
    const recorded = recordedDelivery(fact);
    if (!recorded || !('made' in recorded)) return;
    const { run_id } = recorded.key;
    this.#ahead.set(run_id, [...(this.#ahead.get(run_id) ?? []), recorded]);
  }

  next(run: RunId): RecordedAttempt | undefined {
    return this.#ahead.get(run)?.[0];
  }

  /** The attempt is taken; false when it was taken before its turn. */
  take({ key, fact }: Pick<RecordedAttempt, 'key' | 'fact'>): boolean {
    const ahead = this.#ahead.get(key.run_id) ?? [];
    const others = ahead.filter((one) => one.fact.sequence !== fact.sequence);
    if (others.length === 0) this.#ahead.delete(key.run_id);
    else this.#ahead.set(key.run_id, others);
    return others.length < ahead.length;
  }
}
