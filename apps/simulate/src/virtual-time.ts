import type { RandomSource } from '@runledger/testing/random-source';
import TinyQueue from 'tinyqueue';

/**
 * `pause`: it continues with its old state then. `cut`: it reaches no broker, and no broker reaches it. `lag`: what is delivered to it comes
 * late. `hold`: what it sends is under way until then.
 */
export type Disturbance = 'pause' | 'cut' | 'lag' | 'hold';

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
  readonly #until: Record<Disturbance, number> = { pause: 0, cut: 0, lag: 0, hold: 0 };

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

  /** Until when it is disturbed so. */
  until(kind: Disturbance): number {
    return this.#until[kind];
  }

  /** Its monotonic clock, in milliseconds. */
  get clock(): number {
    return this.#timeline.now * this.clockRate;
  }

  start(): void {
    this.#life += 1;
    this.#isAlive = true;
    this.#until.pause = 0;
  }

  kill(): void {
    this.#life += 1;
    this.#isAlive = false;
  }

  disturb(kind: Disturbance, forMs: number): void {
    this.#until[kind] = Math.max(this.#until[kind], this.#timeline.now + forMs);
  }

  /** Does the work when its clock has gone on so far, or when a pause is over, unless it is killed before. */
  after(ms: number, work: () => void): void {
    this.#begin(ms / this.clockRate, this.#life, work);
  }

  /** What was sent to it in this life reaches it: at once, or after a pause. */
  receive(life: number, work: () => void): void {
    if (life !== this.#life) return;
    if (this.#until.pause > this.#timeline.now) this.#begin(0, life, work);
    else work();
  }

  #begin(ms: number, life: number, work: () => void): void {
    this.#timeline.after(ms, () => {
      if (life !== this.#life) return;
      if (this.#until.pause > this.#timeline.now) {
        this.#begin(this.#until.pause - this.#timeline.now, life, work);
      } else work();
    });
  }
}

/** What executes in a process from its start until it is killed or has stopped. */
export interface Life {
  /** The connection to the broker was restored. */
  onReconnect(): void;
  /** Stops in order. `onStopped` is called when it has ended. */
  stop(onStopped: () => void): void;
}

/** A process that is started, killed and stopped, and begins another life with each start. */
export class Restartable<OfKind extends Life = Life> {
  readonly process: Process;
  readonly #begin: () => OfKind;
  #life: OfKind | undefined;

  /** `begin` is called at each start, after that of the process. */
  constructor(process: Process, begin: () => OfKind) {
    this.process = process;
    this.#begin = begin;
  }

  /** Undefined while it is down. */
  get life(): OfKind | undefined {
    return this.#life;
  }

  start(): void {
    this.process.start();
    this.#life = this.#begin();
  }

  kill(): void {
    this.process.kill();
    this.#life = undefined;
  }

  stop(): void {
    const life = this.#life;
    life?.stop(() => {
      if (this.#life === life) this.kill();
    });
  }

  onReconnect(): void {
    const life = this.#life;
    if (life) this.process.receive(this.process.life, () => life.onReconnect());
  }
}

interface Scheduled {
  readonly at: number;
  /** Of events at the same time the one that was scheduled first comes first. */
  readonly order: number;
  readonly work: () => void;
}

/** Virtual time, in milliseconds from 0. It stands still while an event does its work, and jumps to the next one. */
export class Timeline {
  #now = 0;
  #scheduled = 0;
  readonly #queue = new TinyQueue<Scheduled>([], (a, b) => a.at - b.at || a.order - b.order);

  get now(): number {
    return this.#now;
  }

  after(ms: number, work: () => void): void {
    this.#scheduled += 1;
    this.#queue.push({ at: this.#now + Math.max(ms, 0), order: this.#scheduled, work });
  }

  /** Does the work of the next event. False when there is none. */
  step(): boolean {
    const next = this.#queue.pop();
    if (!next) return false;
    this.#now = next.at;
    next.work();
    return true;
  }
}

/** Remembers at least so many entries, and forgets older ones. */
export class Recent<Key, Value> {
  readonly #least: number;
  #entries = new Map<Key, Value>();
  #before: ReadonlyMap<Key, Value> = new Map();

  constructor(least: number) {
    this.#least = least;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key) ?? this.#before.get(key);
  }

  set(key: Key, value: Value): void {
    this.#entries.set(key, value);
    if (this.#entries.size < this.#least) return;
    this.#before = this.#entries;
    this.#entries = new Map();
  }
}
