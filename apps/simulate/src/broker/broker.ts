import type { RandomSource } from '@runledger/testing/random-source';
import type { Process, Timeline } from '../virtual-time.ts';

/** When the simulations begin by the broker's clock: 2026-01-01. */
const EPOCH_MS = 1_767_225_600_000;

/** A virtual time as clocks that are right show it. */
export const timeAt = (ms: number): string => new Date(EPOCH_MS + Math.round(ms)).toISOString();

/** Of a consumer that is behind. */
const MOST_LAG_MS = 4_000;

/**
 * The connection between processes and the leading broker. A request may be lost before it arrives, arrive late, or do its work without
 * that its answer arrives: then nobody knows the outcome.
 */
export class Broker {
  readonly #timeline: Timeline;
  readonly #delayMs: number;
  #downUntil = 0;
  /** How often another broker began to lead, or this one started again. */
  #changes = 0;
  #clockStepMs = 0;
  /** What a clock shows does not change often, and is asked for with every message. */
  #shown = { clock: -1, time: '' };
  /** Appends are refused: its disk is full. */
  isFull = false;
  /** The stream is so full that no new run and no new attempt fits, only what is reserved. */
  hasCapacity = true;

  constructor(timeline: Timeline, delayMs: number) {
    this.#timeline = timeline;
    this.#delayMs = delayMs;
  }

  /** Its clock, in milliseconds since 1970. */
  get clock(): number {
    return EPOCH_MS + Math.floor(this.#timeline.now + this.#clockStepMs);
  }

  get time(): string {
    const { clock } = this;
    if (this.#shown.clock !== clock) this.#shown = { clock, time: new Date(clock).toISOString() };
    return this.#shown.time;
  }

  /** Nothing is answered or delivered for a while, and what was under way may have been stored or not. */
  change(forMs: number, clockStepMs = 0): void {
    this.#changes += 1;
    this.#downUntil = Math.max(this.#downUntil, this.#timeline.now + forMs);
    this.#clockStepMs += clockStepMs;
  }

  /** Since when it answers, or until when it does not. */
  get upSince(): number {
    return this.#downUntil;
  }

  /** How long nothing can be delivered to the process. */
  awayMs(process: Process): number {
    return Math.max(process.until('cut'), this.#downUntil) - this.#timeline.now;
  }

  /** How long a message is under way, most of the time a short one. */
  delayMs(random: RandomSource): number {
    const kind = random.fraction();
    const most = kind < 0.9 ? 1 : kind < 0.99 ? 20 : 150;
    return random.fraction() * most * this.#delayMs;
  }

  /** How long a message to a consumer is under way. */
  deliveryMs(process: Process): number {
    const lagMs = process.until('lag') > this.#timeline.now ? process.random.fraction() * MOST_LAG_MS : 0;
    return lagMs + this.delayMs(process.random);
  }

  /** Does the work at the broker, and answers what it returned; undefined when no answer came within the time. */
  ask<Answer>(
    process: Process,
    withinMs: number,
    work: () => Answer,
    answer: (answer: Answer | undefined) => void,
  ): void {
    const { random, life } = process;
    const sentAt = this.#timeline.now;
    let isOver = false;
    const lose = (): void => {
      const leftMs = sentAt + withinMs - this.#timeline.now;
      this.#timeline.after(leftMs, () => process.receive(life, () => finish(undefined)));
    };
    const finish = (result: Answer | undefined): void => {
      if (!isOver) answer(result);
      isOver = true;
    };
    const arrive = (): void => {
      if (this.#downUntil > this.#timeline.now) return lose();
      const result = work();
      const changes = this.#changes;
      this.#timeline.after(this.delayMs(random), () => {
        const isLost = process.until('cut') > this.#timeline.now || this.#changes !== changes;
        if (isLost) lose();
        else process.receive(life, () => finish(result));
      });
    };
    const cutMs = process.until('cut') - sentAt;
    const heldMs = process.until('hold') - sentAt;
    if (cutMs <= 0 && heldMs <= 0) return this.#timeline.after(this.delayMs(random), arrive);
    lose();
    if (cutMs <= 0) return this.#timeline.after(heldMs + this.delayMs(random), arrive);
    // It may wait in a buffer of the network.
    if (random.chance(50)) this.#timeline.after(cutMs + this.delayMs(random), arrive);
  }
}
