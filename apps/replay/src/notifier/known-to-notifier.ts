import type { DeliveryState } from '@runledger/contracts/deliveries/delivery-attempts';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import { isDeleted, isEnded } from '@runledger/contracts/fold/run';
import type { RunId } from '@runledger/contracts/ids';
import { receiverKey, type Receiver } from '@runledger/notifier/core/receiver';
import type { Decided } from '../decisions/verdict.ts';
import { decidedState } from './decided.ts';
import type { NotifiedRuns } from './notified-runs.ts';
import type { PlayedNotifier } from './played-notifier.ts';
import { receiverOf } from './played-timers.ts';
import type { ForeseenAttempts, RecordedAttempt } from './recorded-attempts.ts';

const OLDER = 'the slice does not have the beginning of its run';
const INTERMEDIATE =
  'intermediate notifications count for its receiver too, and the slice does not have them';
const LIMITS = 'the slice does not say how many attempts at a time its receiver had earned before';
/** The longest delay that a receiver can ask for: services/notifier/src/core/conclusion.ts. */
const LONGEST_RETRY_AFTER_MS = 6 * 3_600_000;

export interface WhatIsKnownOptions {
  readonly runs: NotifiedRuns;
  readonly foreseen: ForeseenAttempts;
  readonly played: () => PlayedNotifier;
  readonly toleranceMs: number;
}

/** What the core knows of deliveries, and what the slice does not say of them. */
export class WhatIsKnown {
  readonly #runs: NotifiedRuns;
  readonly #foreseen: ForeseenAttempts;
  readonly #played: () => PlayedNotifier;
  readonly #toleranceMs: number;
  /** Receivers that get intermediate notifications. */
  readonly #intermediates = new Set<string>();

  constructor({ runs, foreseen, played, toleranceMs }: WhatIsKnownOptions) {
    this.#runs = runs;
    this.#foreseen = foreseen;
    this.#played = played;
    this.#toleranceMs = toleranceMs;
  }

  noteIntermediates(receiver: Receiver): void {
    this.#intermediates.add(receiverKey(receiver));
  }

  /** Why it says nothing that the slice has no attempt of the run. */
  whyExcused(run: RunId): string | undefined {
    const receiver = this.#receiverOf(run);
    return receiver && this.#intermediates.has(receiverKey(receiver)) ? INTERMEDIATE : undefined;
  }

  whyNotAttempted(recorded: RecordedAttempt): string | undefined {
    const { run_id: run } = recorded.key;
    const receiver = this.#receiverOf(run);
    if (!receiver) return OLDER;
    const isQueued = this.#played().deliveries.core.hasFinal(run);
    return this.whyExcused(run) ?? (isQueued && !this.#isOvertaken(recorded, receiver) ? LIMITS : undefined);
  }

  whyNotConcluded(run: RunId, event: WebhookEvent): string | undefined {
    if (!this.#runs.get(run)) return OLDER;
    if (event.type === 'WebhookGivenUp' && event.data.reason === 'log_expired')
      return 'the slice does not say for how long the log keeps facts';
    const { inFlight, setAside } = this.#played().deliveries;
    if (inFlight.has(run)) return 'the slice does not have the outcome of its last attempt';
    return setAside.has(run) ? 'its attempt is one that the code does not make then' : undefined;
  }

  whyNotStarted(run: RunId, event: WebhookEvent): string | undefined {
    if (event.type === 'WebhookStarted' && event.data.notification === 'intermediate')
      return 'intermediate notifications are not played';
    return this.#runs.get(run) ? undefined : OLDER;
  }

  whyNoState(run: RunId): string | undefined {
    return this.#runs.get(run) ? this.whyExcused(run) : OLDER;
  }

  /** The state that the delivery has in the core, as a decision. */
  stateOf(run: RunId, recorded: DeliveryState): Decided | undefined {
    const pending = this.#played().deliveries.timers.get(run);
    if (!pending || pending.state === 'due') return undefined;
    const state = pending.state === 'wait' ? 'retrying' : 'deferred';
    const { round, attempts: tries } = pending.delivery;
    return decidedState({ ...recorded, state, round, tries }, true);
  }

  /** Whether the next attempt is at a time that the schedule allows. */
  isAllowed(run: RunId, { next_try_at }: DeliveryState): boolean {
    const pending = this.#played().deliveries.timers.get(run);
    if (!pending || next_try_at === null) return true;
    const { earliestMs, latestMs, mayBeLater } = pending.time;
    const atMs = Date.parse(next_try_at);
    const lastMs = mayBeLater ? Math.max(latestMs, this.#played().nowMs + LONGEST_RETRY_AFTER_MS) : latestMs;
    return earliestMs - this.#toleranceMs <= atMs && atMs <= lastMs + this.#toleranceMs;
  }

  /** Whether it is not before the time that the schedule allows, if it is a retry. */
  isDue({ key, startedMs }: RecordedAttempt): boolean {
    const pending = this.#played().deliveries.timers.get(key.run_id);
    return pending?.state !== 'wait' || startedMs >= pending.time.earliestMs - this.#toleranceMs;
  }

  /** In words. */
  situationOf(run: RunId): string {
    const { inFlight, timers, core } = this.#played().deliveries;
    const pending = timers.get(run);
    if (inFlight.has(run)) return 'an attempt is being made';
    if (core.hasFinal(run)) return 'other notifications of its receiver go first';
    if (pending?.state === 'deferred') return 'the delivery is deferred: the breaker of its receiver is open';
    return pending ? 'the delivery waits for its next attempt' : 'there is nothing to send';
  }

  /** What the notifier knows of the notification of a run; undefined when it knows nothing of it. */
  viewOf(run: RunId): object | undefined {
    const known = this.#runs.get(run);
    if (!known) return undefined;
    const { end, history, target } = known;
    const { state } = history;
    const { timers } = this.#played().deliveries;
    const pending = timers.get(run);
    return {
      origin: target.origin,
      has_ended: state !== undefined && !isDeleted(state) && isEnded(state),
      round: end.round,
      status: end.status,
      situation: this.situationOf(run),
      ...(pending && { tries: pending.delivery.attempts, in_timers: pending.state }),
    };
  }

  /** Whether an attempt that the core has begun at the receiver was begun later than this one in the slice. */
  #isOvertaken({ key, startedMs }: RecordedAttempt, receiver: Receiver): boolean {
    const wanted = receiverKey(receiver);
    return [...this.#played().deliveries.inFlight.values()].some(({ delivery }) => {
      const { run_id } = delivery.key;
      if (run_id === key.run_id || receiverKey(receiverOf(delivery)) !== wanted) return false;
      return (this.#foreseen.next(run_id)?.startedMs ?? -Infinity) > startedMs;
    });
  }

  #receiverOf(run: RunId): Receiver | undefined {
    const known = this.#runs.get(run);
    return known && { org_id: known.key.org_id, origin: known.target.origin };
  }
}
