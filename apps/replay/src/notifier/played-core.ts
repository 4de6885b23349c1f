import { PARTITIONS } from '@runledger/contracts/deliveries/timers';
import { breakerSettings } from '@runledger/notifier/core/breaker';
import { isBlocked } from '@runledger/notifier/core/queueing';
import { take as takeInput } from '@runledger/notifier/core/take';
import { breakerKey, type Receiver } from '@runledger/notifier/core/receiver';
import type { Effect, NotifierInput } from '@runledger/notifier/core/inputs-and-effects';
import {
  createNotifierState,
  hasFinal,
  nextTick,
  type CoreSettings,
  type NotifierState,
} from '@runledger/notifier/core/state';
import type { RunId } from '@runledger/contracts/ids';
import type { AttemptReport } from '@runledger/notifier/core/delivery';
import { conclusionOf, type Retry } from '@runledger/notifier/core/conclusion';
import type { NotifierSettings } from './notifier-settings.ts';
import type { RetryTime } from './played-timers.ts';

/** By what chance retries are decided: in the middle of what the schedule allows. */
const CHANCE = 0.5;

/** The core of one notifier that holds every partition, on the clock of the slice. Times are in milliseconds since 1970. */
export class PlayedCore {
  readonly settings: CoreSettings;
  readonly #created: string;
  readonly #perform: (effect: Effect) => void;
  readonly #inputs: NotifierInput[] = [];
  /** When breakers opened, by their keys. */
  readonly #opened = new Map<string, number>();
  #state: NotifierState | undefined;
  #isTaking = false;
  #nowMs = 0;
  /** The clock of breakers and limits may be a moment ahead. */
  #atMs = 0;

  constructor(settings: NotifierSettings, created: string, perform: (effect: Effect) => void) {
    const giveUpAfterMs = settings.RUNLEDGER_WEBHOOK_GIVE_UP_S * 1_000;
    this.settings = {
      giveUpAfterMs,
      maxInFlight: settings.RUNLEDGER_WEBHOOK_IN_FLIGHT,
      breaker: breakerSettings(giveUpAfterMs),
      instantOf: Date.parse,
    };
    this.#created = created;
    this.#perform = perform;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** When the core wants to be told that time has passed. */
  get nextMs(): number {
    return this.#state ? nextTick(this.#state) : Infinity;
  }

  setTime(ms: number): void {
    this.#nowMs = Math.max(this.#nowMs, ms);
    this.#atMs = Math.max(this.#atMs, ms);
    if (!this.#state) this.#begin();
  }

  tick(aheadMs = 0): void {
    this.#atMs = Math.max(this.#atMs, this.#nowMs + aheadMs);
    this.take({ type: 'tick' });
  }

  /** What comes up meanwhile waits for its turn. */
  take(input: NotifierInput): void {
    this.#inputs.push(input);
    if (this.#isTaking || !this.#state) return;
    this.#isTaking = true;
    for (let next = this.#inputs.shift(); next; next = this.#inputs.shift()) {
      const moment = { at: this.#atMs, now: this.#nowMs, chance: CHANCE };
      for (const effect of takeInput(this.#state, next, moment)) {
        if (effect.type === 'store_opening') this.#opened.set(breakerKey(effect.opening), this.#nowMs);
        this.#perform(effect);
      }
    }
    this.#isTaking = false;
  }

  /** Whether a final delivery of the run waits here or is being sent. */
  hasFinal(run: RunId): boolean {
    return this.#state !== undefined && hasFinal(this.#state, run);
  }

  isBlocked(receiver: Receiver): boolean {
    return this.#state !== undefined && isBlocked(this.#state, receiver);
  }

  /** When a breaker opened last that the receiver is behind. */
  openedMs({ org_id, origin }: Receiver): number {
    const keys = [breakerKey({ org_id, origin }), breakerKey({ org_id: null, origin })];
    return Math.max(...keys.map((key) => this.#opened.get(key) ?? -Infinity));
  }

  /** How long the log keeps a fact is not in the slice, so the core believes: for ever. */
  #begin(): void {
    this.#state = createNotifierState(this.settings, this.#atMs);
    for (let number = 0; number < PARTITIONS; number += 1) {
      const log = { created: this.#created, lastSequence: 0, lastReport: 0, position: undefined };
      this.take({ type: 'partition_gained', start: { number, ...log } });
    }
  }
}

/** What the schedule allows after an attempt that ended so: it leaves a part of the delay to chance. */
export const retryTimeOf = (
  { at }: Retry,
  sent: Extract<AttemptReport, { readonly kind: 'sent' }> | undefined,
  { nowMs: now, settings }: Pick<PlayedCore, 'nowMs' | 'settings'>,
): RetryTime => {
  const atChance = (chance: number): number => {
    const conclusion = sent && conclusionOf(sent, { now, chance }, settings);
    return conclusion?.kind === 'retry' ? conclusion.at : at;
  };
  // Only a response can ask for more time.
  const mayBeLater = typeof sent?.result.status === 'number';
  return { earliestMs: atChance(0), latestMs: atChance(1), mayBeLater };
};
