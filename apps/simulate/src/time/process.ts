import type { RandomSource } from '@runledger/testing/random/random-source';
import type { Timeline } from './timeline.ts';

/**
 * What faults do to a process: it is killed, and what it had scheduled is gone; it is paused, and continues with its old state; it is cut off
 * from the broker.
 */
export class Process {
  readonly name: string;
  readonly random: RandomSource;
  readonly #timeline: Timeline;
  /** How fast its monotonic clock goes; 1 is right. */
  readonly clockRate: number;
  #life = 0;
  #isAlive = false;
  #pausedUntil = 0;
  #cutUntil = 0;
  #lagsUntil = 0;
  #heldUntil = 0;

  constructor(
    timeline: Timeline,
    { name, random, clockRate }: { name: string; random: RandomSource; clockRate: number },
  ) {
    this.#timeline = timeline;
    this.name = name;
    this.random = random;
    this.clockRate = clockRate;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** How often it was started. */
  get life(): number {
    return this.#life;
  }

  /** Names this life of it. */
  get instance(): string {
    return `${this.name}.${this.#life}`;
  }

  /** Until when it reaches no broker, and no broker reaches it. */
  get cutUntil(): number {
    return this.#cutUntil;
  }

  /** Its monotonic clock, in milliseconds. */
  get clock(): number {
    return this.#timeline.now * this.clockRate;
  }

  start(): void {
    this.#life += 1;
    this.#isAlive = true;
    this.#pausedUntil = 0;
  }

  kill(): void {
    this.#life += 1;
    this.#isAlive = false;
  }

  pause(forMs: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#timeline.now + forMs);
  }

  /** What is delivered to it comes late for a while. */
  lag(forMs: number): void {
    this.#lagsUntil = Math.max(this.#lagsUntil, this.#timeline.now + forMs);
  }

  get isLagging(): boolean {
    return this.#lagsUntil > this.#timeline.now;
  }

  /** What it sends is under way for as long. */
  hold(forMs: number): void {
    this.#heldUntil = Math.max(this.#heldUntil, this.#timeline.now + forMs);
  }

  get heldUntil(): number {
    return this.#heldUntil;
  }

  cut(forMs: number): void {
    this.#cutUntil = Math.max(this.#cutUntil, this.#timeline.now + forMs);
  }

  /** Does the work when its clock has gone on so far, or when a pause is over, unless it is killed before. */
  after(ms: number, work: () => void): void {
    this.#begin(ms / this.clockRate, this.#life, work);
  }

  /** What was sent to it in this life reaches it: at once, or after a pause. */
  receive(life: number, work: () => void): void {
    if (life !== this.#life) return;
    if (this.#pausedUntil > this.#timeline.now) this.#begin(0, life, work);
    else work();
  }

  #begin(ms: number, life: number, work: () => void): void {
    this.#timeline.after(ms, () => {
      if (life !== this.#life) return;
      if (this.#pausedUntil > this.#timeline.now) {
        this.#begin(this.#pausedUntil - this.#timeline.now, life, work);
      } else work();
    });
  }
}
