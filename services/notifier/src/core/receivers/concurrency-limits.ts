import { SOON_MS, type Health, type ReceiverQueue } from './receiver-queues.ts';

/** The permit of one attempt that is being made. */
export interface Permit {
  readonly queue: ReceiverQueue;
  /** Monotonic, in milliseconds. */
  readonly since: number;
  /** That of the receiver when the attempt began; `failing` once it is slow. */
  health: Health;
}

/**
 * The permits of all receivers together. Receivers that have not proven to answer soon may take up half of them, and those of one
 * organisation half of that. Of either, failing ones get three quarters, so that new receivers need not wait for time-outs.
 */
export class ConcurrencyLimits {
  readonly #max: number;
  readonly #atOrigin = new Map<string, number>();
  readonly #all: UnprovenLimit;
  readonly #ofOrg = new Map<string, UnprovenLimit>();
  /** Those that are not failing, the oldest first. */
  readonly #trusted = new Set<Permit>();
  #inFlight = 0;

  constructor(max: number) {
    this.#max = max;
    this.#all = new UnprovenLimit(max / 2);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get hasFree(): boolean {
    return this.#inFlight < this.#max;
  }

  hasFreeFor(health: Health): boolean {
    return this.#all.hasFreeFor(health);
  }

  hasFreeOf(org: string, health: Health): boolean {
    return this.#ofOrg.get(org)?.hasFreeFor(health) ?? true;
  }

  atOrigin(origin: string): number {
    return this.#atOrigin.get(origin) ?? 0;
  }

  acquire(queue: ReceiverQueue, since: number): Permit {
    const permit: Permit = { queue, since, health: queue.health };
    this.#inFlight += 1;
    queue.inFlight += 1;
    this.#countAtOrigin(queue, 1);
    this.#count(permit, 1);
    if (permit.health !== 'failing') this.#trusted.add(permit);
    return permit;
  }

  release(permit: Permit): void {
    this.#inFlight -= 1;
    permit.queue.inFlight -= 1;
    this.#countAtOrigin(permit.queue, -1);
    this.#count(permit, -1);
    this.#trusted.delete(permit);
  }

  /** A receiver that does not answer soon is failing from then on, or those that stop answering together would take every permit. */
  findSlow(at: number): void {
    for (const permit of this.#trusted) {
      if (at - permit.since <= SOON_MS) return;
      this.#trusted.delete(permit);
      this.#count(permit, -1);
      permit.health = 'failing';
      permit.queue.health = 'failing';
      this.#count(permit, 1);
    }
  }

  #countAtOrigin({ receiver: { origin } }: ReceiverQueue, by: 1 | -1): void {
    const now = this.atOrigin(origin) + by;
    if (now === 0) this.#atOrigin.delete(origin);
    else this.#atOrigin.set(origin, now);
  }

  #count({ queue, health }: Permit, by: 1 | -1): void {
    const { org_id } = queue.receiver;
    const own = this.#ofOrg.get(org_id) ?? new UnprovenLimit(this.#max / 4);
    this.#all.count(health, by);
    own.count(health, by);
    if (own.size === 0) this.#ofOrg.delete(org_id);
    else this.#ofOrg.set(org_id, own);
  }
}

/** What receivers may take together that are not proven to be healthy. */
class UnprovenLimit {
  readonly #max: number;
  readonly #maxFailing: number;
  readonly #taken = { healthy: 0, unknown: 0, failing: 0 };

  constructor(size: number) {
    this.#max = Math.max(Math.floor(size), 1);
    this.#maxFailing = Math.max(Math.floor((size * 3) / 4), 1);
  }

  /** Permits of receivers that are not proven. */
  get size(): number {
    return this.#taken.unknown + this.#taken.failing;
  }

  hasFreeFor(health: Health): boolean {
    if (health === 'healthy') return true;
    return this.size < this.#max && (health === 'unknown' || this.#taken.failing < this.#maxFailing);
  }

  count(health: Health, by: 1 | -1): void {
    this.#taken[health] += by;
  }
}
