import type { DeliveryState } from '@runledger/contracts/deliveries/delivery-attempts';
import type { RunId } from '@runledger/contracts/ids';
import type { FinalDelivery } from '@runledger/notifier/core/delivery';
import { receiverKey, type Receiver } from '@runledger/notifier/core/receiver';
import { decidedAttempt } from './decided.ts';
import type { NotifierDecisions } from './notifier-decisions.ts';
import { PlayedDeliveries, type AttemptInFlight, type PlayedDeliveriesOptions } from './played-deliveries.ts';
import { receiverOf, type PendingDelivery } from './played-timers.ts';
import type { ForeseenAttempts, RecordedAttempt } from './recorded-attempts.ts';

/** The clock of the notifier that was recorded may have been ahead of the slice by this, since messages are stored a moment later. */
const SKEW_MS = 1_000;
/** A search finds a delivery whose time is over after this at the latest: services/notifier/src/reconcile-often.ts. */
const FIND_EXPIRED_MS = 600_000;
const FIND_EXPIRED_PART = 0.1;

/** What makes the core decide beside facts: the time, TIMERS, and what the record shows of them. Times are in milliseconds since 1970. */
export class PlayedNotifier {
  readonly deliveries: PlayedDeliveries;
  readonly #foreseen: ForeseenAttempts;
  readonly #decisions: NotifierDecisions;
  readonly #whyExcused: (run: RunId) => string | undefined;

  /** `whyExcused`: why the slice does not say enough about the attempts of the run, or undefined. */
  constructor(options: PlayedDeliveriesOptions, whyExcused: (run: RunId) => string | undefined) {
    this.deliveries = new PlayedDeliveries(options);
    this.#foreseen = options.foreseen;
    this.#decisions = options.decisions;
    this.#whyExcused = whyExcused;
  }

  get nowMs(): number {
    return this.deliveries.core.nowMs;
  }

  /** All that happens by itself until then: ticks, what becomes due in TIMERS, and decisions become overdue. */
  passTime(untilMs: number): void {
    const { core, timers } = this.deliveries;
    if (this.nowMs === 0) core.setTime(untilMs);
    const nextMs = (): number => Math.min(core.nextMs, timers.nextMs);
    for (let atMs = nextMs(); atMs <= untilMs; atMs = nextMs()) {
      core.setTime(atMs);
      if (timers.nextMs <= this.nowMs) this.#wake();
      else core.tick();
      this.#endOverdue();
    }
    core.setTime(untilMs);
  }

  /** Has the core begin the attempt, if that agrees with what it knows: false when it does not begin it. */
  begin(recorded: RecordedAttempt): boolean {
    const { run_id: run } = recorded.key;
    const { inFlight, timers, core } = this.deliveries;
    if (inFlight.has(run)) return true;
    const pending = timers.get(run);
    if (!pending || core.hasFinal(run)) return false;
    const receiver = receiverOf(pending.delivery);
    if (recorded.startedMs <= core.openedMs(receiver)) this.#force(pending.delivery);
    else if (pending.state === 'wait' && !core.isBlocked(receiver)) this.#due(pending);
    if (inFlight.has(run)) return true;
    this.#prefer(pending, receiver);
    return inFlight.has(run);
  }

  /** The attempt ended as recorded. The core makes it without a permit if it would not begin it; nothing is taken while it waits here. */
  finish(recorded: RecordedAttempt, otherwise: FinalDelivery): void {
    const { run_id: run } = recorded.key;
    const { inFlight, timers, core, setAside } = this.deliveries;
    if (!inFlight.has(run) && !core.hasFinal(run)) this.#force(timers.get(run)?.delivery ?? otherwise);
    this.#decisions.close('attempt', run);
    const begun = inFlight.get(run);
    if (begun) this.deliveries.finish(begun, recorded);
    else if (core.hasFinal(run)) setAside.set(run, recorded);
  }

  /** The state that the slice has counts: the time of the next attempt, or that the delivery is deferred. */
  follow(run: RunId, { state, next_try_at }: DeliveryState): void {
    const { timers, inFlight } = this.deliveries;
    const begun = inFlight.get(run);
    if (state === 'deferred' && begun) this.#takeOut(begun, 'deferred');
    const pending = timers.get(run);
    if (state !== 'retrying' || next_try_at === null || pending?.state !== 'wait') return;
    const atMs = Date.parse(next_try_at);
    timers.store(pending.delivery, 'wait', { earliestMs: atMs, latestMs: atMs, mayBeLater: false });
  }

  /** The delivery is due, and behind an open breaker: it is deferred. */
  deferIfBlocked(run: RunId): void {
    const { timers, core } = this.deliveries;
    const pending = timers.get(run);
    if (pending?.state === 'wait' && core.isBlocked(receiverOf(pending.delivery))) this.#due(pending);
    else if (!pending) core.tick(SKEW_MS);
  }

  /** Its time is over. */
  expire(run: RunId): void {
    const { timers, core } = this.deliveries;
    const pending = timers.get(run);
    if (
      pending &&
      pending.delivery.expiresAt <= this.nowMs + this.#decisions.toleranceMs &&
      !core.hasFinal(run)
    ) {
      core.setTime(pending.delivery.expiresAt);
      this.#force(pending.delivery);
    }
  }

  /** It is delivered or given up in the slice. */
  settled(run: RunId): void {
    const { timers, inFlight, core, setAside } = this.deliveries;
    timers.remove(run);
    this.#decisions.close('attempt', run);
    const begun = inFlight.get(run);
    inFlight.delete(run);
    if (begun) core.take({ type: 'attempt_finished', attempt: begun.attempt, report: { kind: 'nothing' } });
    if (!core.hasFinal(run)) setAside.delete(run);
  }

  #due({ delivery }: PendingDelivery): void {
    const { timers, core } = this.deliveries;
    core.take({ type: 'delivery_due', delivery: timers.store(delivery, 'due').delivery });
  }

  /** Nothing is counted for its receiver. */
  #force(delivery: FinalDelivery): void {
    this.deliveries.core.take({ type: 'expired_found', delivery });
  }

  /** The delivery is loaded before the others of its receiver, once the breaker lets it through. */
  #prefer(pending: PendingDelivery, receiver: Receiver): void {
    const { core, inFlight } = this.deliveries;
    const { run_id: run } = pending.delivery.key;
    this.deliveries.preferred = run;
    core.tick(SKEW_MS);
    if (pending.state === 'wait' && !core.isBlocked(receiver)) this.#due(pending);
    if (!inFlight.has(run) && !core.isBlocked(receiver)) {
      const instead = [...inFlight.values()].filter((begun) => this.#isInstead(begun, receiver));
      for (const begun of instead) this.#takeOut(begun, 'deferred');
      core.tick(SKEW_MS);
    }
    this.deliveries.preferred = undefined;
  }

  /** Loaded for the receiver although the slice does not hold its attempt yet. */
  #isInstead({ delivery }: AttemptInFlight, receiver: Receiver): boolean {
    const isThere = receiverKey(receiverOf(delivery)) === receiverKey(receiver);
    return isThere && delivery.source.kind === 'deferred' && !this.#foreseen.next(delivery.key.run_id);
  }

  /** The core forgets the attempt. The delivery is in TIMERS until the slice shows more. */
  #takeOut({ attempt, delivery }: AttemptInFlight, state: 'wait' | 'deferred'): void {
    const { run_id: run } = delivery.key;
    const { inFlight, timers, core } = this.deliveries;
    inFlight.delete(run);
    this.#decisions.close('attempt', run);
    timers.store(delivery, state);
    core.take({ type: 'attempt_finished', attempt, report: { kind: 'superseded' } });
  }

  /** Unless the slice shows more, a retry is due when the schedule ends. */
  #wake(): void {
    const { timers, core } = this.deliveries;
    const pending = timers.takeNext();
    if (!pending) return;
    const { delivery, state, time } = pending;
    if (delivery.expiresAt <= this.nowMs) this.#wakeExpired(pending);
    else if (state !== 'wait' || time.latestMs > this.nowMs) return;
    else if (core.isBlocked(receiverOf(delivery))) this.#due(pending);
    else if (!time.mayBeLater) {
      const next = { round: delivery.round, try: delivery.attempts + 1 };
      this.#decisions.add('attempt', delivery.key.run_id, decidedAttempt(next, true), this.nowMs);
    }
  }

  #wakeExpired(pending: PendingDelivery): void {
    const { timers, core } = this.deliveries;
    const { delivery, state } = pending;
    if (state === 'wait') return this.#due(pending);
    const searchMs = Math.min(FIND_EXPIRED_MS, core.settings.giveUpAfterMs * FIND_EXPIRED_PART);
    const foundMs = delivery.expiresAt + searchMs;
    if (foundMs <= this.nowMs) this.#force(delivery);
    else timers.wakeAgain(delivery.key.run_id, foundMs);
  }

  #endOverdue(): void {
    for (const run of this.#decisions.takeOverdue(this.nowMs, this.#whyExcused)) {
      const begun = this.deliveries.inFlight.get(run);
      if (begun) this.#takeOut(begun, 'wait');
    }
  }
}
