import type { RunId } from '@runledger/contracts/ids';
import {
  planAttempt,
  type AttemptPlan,
  type AttemptReport,
  isInTimers,
  type FinalDelivery,
} from '@runledger/notifier/core/delivery';
import type { Receiver } from '@runledger/notifier/core/receiver';
import type { Effect } from '@runledger/notifier/core/inputs-and-effects';
import { decidedAttempt, decidedByConclusion, decidedStart } from './decided.ts';
import type { NotifierDecisions } from './notifier-decisions.ts';
import type { NotifiedRuns } from './notified-runs.ts';
import type { NotifierSettings } from './notifier-settings.ts';
import { PlayedCore, retryTimeOf } from './played-core.ts';
import { PlayedTimers } from './played-timers.ts';
import type { ForeseenAttempts, RecordedAttempt } from './recorded-attempts.ts';

type EffectOf<Type> = Extract<Effect, { readonly type: Type }>;
type Sent = Extract<AttemptReport, { readonly kind: 'sent' }>;

/** An attempt that the core has begun, and whose outcome the slice may hold further on. */
export interface AttemptInFlight {
  readonly attempt: number;
  readonly delivery: FinalDelivery;
  readonly plan: Extract<AttemptPlan, { readonly kind: 'send' | 'expired' | 'log_expired' }>;
}

export interface PlayedDeliveriesOptions {
  readonly settings: NotifierSettings;
  /** Of RUNS: the broker's time of its creation. */
  readonly created: string;
  readonly runs: NotifiedRuns;
  readonly foreseen: ForeseenAttempts;
  readonly decisions: NotifierDecisions;
}

/** Does what the core decides as services/notifier/src/effects does, with TIMERS played, and with receivers that answer as recorded. */
export class PlayedDeliveries {
  readonly core: PlayedCore;
  readonly timers = new PlayedTimers();
  readonly inFlight = new Map<RunId, AttemptInFlight>();
  /** Outcomes of attempts that the core has not begun yet. */
  readonly setAside = new Map<RunId, RecordedAttempt>();
  /** The deferred delivery that is loaded first. */
  preferred: RunId | undefined;
  readonly #runs: NotifiedRuns;
  readonly #foreseen: ForeseenAttempts;
  readonly #decisions: NotifierDecisions;
  /** What an attempt that is being concluded ended with. */
  #sent: Sent | undefined;

  constructor({ settings, created, runs, foreseen, decisions }: PlayedDeliveriesOptions) {
    this.#runs = runs;
    this.#foreseen = foreseen;
    this.#decisions = decisions;
    this.core = new PlayedCore(settings, created, (effect) => this.#perform(effect));
  }

  /** The attempt ended as recorded. Its number is the recorded one, whatever the core believed. */
  finish({ attempt, delivery, plan }: AttemptInFlight, { made }: RecordedAttempt): void {
    this.inFlight.delete(delivery.key.run_id);
    const { reason, status } = made;
    const { endedAt, expiresAt } = plan;
    const progress = { round: made.round, attempts: made.try - 1, expiresAt, endedAt };
    const report: Sent = {
      kind: 'sent',
      result: { reason, status, message: '', retry_after: null },
      ...progress,
    };
    this.#sent = report;
    this.core.take({ type: 'attempt_finished', attempt, report });
    this.#sent = undefined;
  }

  #perform(effect: Effect): void {
    switch (effect.type) {
      case 'attempt_final':
        return this.#attempt(effect);
      case 'conclude_attempt':
        return this.#conclude(effect);
      case 'defer_delivery':
        return this.#defer(effect);
      case 'load_deferred':
        return this.#load(effect);
      case 'remove_timer':
        return this.timers.removeMessage(effect.sequence);
      case 'store_position': {
        const { partition, position } = effect;
        return this.core.take({ type: 'position_stored', partition, position });
      }
      // Intermediate notifications are not played, the core itself remembers breakers, and no partition is handed over.
      case 'attempt_intermediate':
      case 'store_opening':
      case 'remove_opening':
      case 'partition_idle':
        return undefined;
    }
  }

  #attempt({ attempt, delivery, isOver }: EffectOf<'attempt_final'>): void {
    const { run_id: run } = delivery.key;
    const finish = (report: AttemptReport): void =>
      this.core.take({ type: 'attempt_finished', attempt, report });
    const recorded = this.setAside.get(run);
    this.setAside.delete(run);
    if (!recorded && this.#isSuperseded(delivery)) return finish({ kind: 'superseded' });
    const plan = this.#planOf(delivery, isOver);
    if (!plan || plan.kind === 'nothing' || plan.kind === 'unreadable' || plan.kind === 'gone')
      return finish({ kind: 'nothing' });
    const { round, attempts, expiresAt } = plan;
    if (plan.kind !== 'send') return finish({ kind: plan.kind, round, attempts, expiresAt });
    const begun = { attempt, delivery, plan };
    if (recorded) return this.finish(begun, recorded);
    this.inFlight.set(run, begun);
    this.#decisions.add('attempt', run, decidedAttempt({ round, try: attempts + 1 }, true), this.core.nowMs);
  }

  #planOf(delivery: FinalDelivery, isOver: boolean): AttemptPlan | undefined {
    const { run_id: run } = delivery.key;
    const { giveUpAfterMs, instantOf } = this.core.settings;
    const known = this.#runs.get(run);
    return (
      known &&
      planAttempt(delivery, { read: this.#runs.read(run), end: known.end }, this.core.nowMs, {
        isOver,
        giveUpAfterMs,
        instantOf,
        logAgeMs: Infinity,
        firstSequence: 0,
      })
    );
  }

  #isSuperseded(delivery: FinalDelivery): boolean {
    const { key, round, source, mayBeSuperseded } = delivery;
    const pending = mayBeSuperseded ? this.timers.get(key.run_id) : undefined;
    if (!pending) return false;
    if (isInTimers(delivery)) return pending.sequence > source.sequence;
    if (pending.delivery.round >= round) return source.kind === 'fact';
    this.timers.remove(key.run_id);
    return false;
  }

  #conclude({ attempt, delivery, conclusion }: EffectOf<'conclude_attempt'>): void {
    const { run_id: run } = delivery.key;
    const end = this.#runs.get(run)?.end;
    const isOver = end?.status === 'settled';
    if (conclusion.kind === 'retry') {
      const { round } = { ...delivery, ...conclusion.progress };
      if (conclusion.started && end?.status === 'none')
        this.#decisions.add('start', run, decidedStart(round), this.core.nowMs);
      if (!isOver)
        this.timers.store(
          { ...delivery, ...conclusion.progress },
          'wait',
          retryTimeOf(conclusion, this.#sent, this.core),
        );
    } else if (!isOver)
      this.#decisions.add(
        'conclusion',
        run,
        decidedByConclusion(end?.round ?? delivery.round, conclusion),
        this.core.nowMs,
      );
    this.core.take({ type: 'attempt_concluded', attempt, outcome: { kind: 'stored' } });
  }

  #defer({ delivery }: EffectOf<'defer_delivery'>): void {
    if (delivery.source.kind !== 'deferred' && !(delivery.mayBeSuperseded && this.#isSuperseded(delivery)))
      this.timers.store(delivery, 'deferred');
    const { run_id: run } = delivery.key;
    this.core.take({ type: 'deferral_finished', run, outcome: { kind: 'stored' } });
  }

  /** Those that were attempted first in the slice come first: in which order TIMERS had them is not known. */
  #load({ receiver, after, max }: EffectOf<'load_deferred'>): void {
    const there = this.#storedAt(receiver).filter(({ key }) => !this.core.hasFinal(key.run_id));
    const found = there.slice(0, max);
    for (const delivery of found) this.core.take({ type: 'deferred_found', delivery });
    const lastSequence = found.at(-1)?.source.sequence ?? after;
    const end = there.length > max ? 'more' : found.length > 0 ? 'end' : 'nothing_found';
    this.core.take({ type: 'deferred_loaded', receiver, lastSequence, end });
  }

  #storedAt(receiver: Receiver): FinalDelivery[] {
    const startOf = ({ key }: FinalDelivery): number =>
      key.run_id === this.preferred
        ? -Infinity
        : (this.#foreseen.next(key.run_id)?.startedMs ?? Number.MAX_VALUE);
    return this.timers
      .storedAt(receiver)
      .map(({ delivery, state }) =>
        state === 'deferred' ? delivery : ({ ...delivery, mayBeSuperseded: true } as const),
      )
      .toSorted((one, other) => startOf(one) - startOf(other));
  }
}
