import { HEALTHS, type Health, type ReceiverQueue, SOON_MS } from './receiver-queues.ts';

/**
 * Receivers with something to send. Those of each health take turns, so that receivers that answer do not keep out those that never
 * had the chance, nor failing ones the others.
 */
export class AttemptTurns {
  readonly #limits: ConcurrencyLimits;
  readonly #rings: Readonly<Record<Health, RoundRobin<ReceiverQueue>>> = {
    healthy: new RoundRobin(),
    unknown: new RoundRobin(),
    failing: new RoundRobin(),
  };
  #first = 0;

  constructor(limits: ConcurrencyLimits) {
    this.#limits = limits;
  }

  add(queue: ReceiverQueue): void {
    this.#rings[queue.health].add(queue.receiver.org_id, queue);
  }

  /** One that may get a permit. Its situation may have changed since it was added. */
  next(): ReceiverQueue | undefined {
    this.#first = (this.#first + 1) % HEALTHS.length;
    for (const health of [...HEALTHS.slice(this.#first), ...HEALTHS.slice(0, this.#first)]) {
      const queue = this.#nextOf(health);
      if (queue) return queue;
    }
    return undefined;
  }

  #nextOf(health: Health): ReceiverQueue | undefined {
    while (this.#limits.hasFreeFor(health)) {
      const queue = this.#rings[health].next((org) => this.#limits.hasFreeOf(org, health));
      if (!queue || queue.health === health) return queue;
      this.add(queue);
    }
    return undefined;
  }
}

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

/** Receivers of one health that are loaded for, or were and wait for a permit. The healthy need not wait for the others. */
const MAX_LOADED_FOR = 64;
/**
 * Receivers that have not proven to answer, loaded for between two ticks: tens of thousands of dead ones may come due together
 * after a takeover, and their probes must not keep the broker busy.
 */
const MAX_PROBED = 50;

/** Decides whose deferred deliveries are loaded next: for a few receivers at a time, however many have some. */
export class LoadingTurns {
  readonly #turns = HEALTHS.map((health) => ({
    health,
    ring: new RoundRobin<ReceiverQueue>(),
    loadedFor: new Set<ReceiverQueue>(),
  }));
  #skipped = new Set<ReceiverQueue>();
  #probed = 0;

  add(queue: ReceiverQueue): void {
    this.#turns.find(({ health }) => health === queue.health)?.ring.add(queue.receiver.org_id, queue);
  }

  /** The next receiver, of those that may. From then on it counts as one that is loaded for. */
  next(may: (queue: ReceiverQueue) => boolean): ReceiverQueue | undefined {
    for (const { health, ring, loadedFor } of this.#turns) {
      while (loadedFor.size < MAX_LOADED_FOR && this.#mayProbe(health)) {
        const queue = ring.next();
        if (!queue) break;
        if (!may(queue)) continue;
        if (health !== 'healthy') this.#probed += 1;
        loadedFor.add(queue);
        return queue;
      }
    }
    return undefined;
  }

  /** An attempt of the receiver has begun, or nothing waits for it any more. */
  moved(queue: ReceiverQueue): void {
    for (const { loadedFor } of this.#turns) loadedFor.delete(queue);
  }

  /** Skips the receiver until the next `tick`: loading at once would find the same again. */
  later(queue: ReceiverQueue): void {
    this.#skipped.add(queue);
  }

  isLater(queue: ReceiverQueue): boolean {
    return this.#skipped.has(queue);
  }

  /** Once a second. Returns those that were skipped. */
  tick(): Iterable<ReceiverQueue> {
    const skipped = this.#skipped;
    this.#skipped = new Set();
    this.#probed = 0;
    return skipped;
  }

  #mayProbe(health: Health): boolean {
    return health === 'healthy' || this.#probed < MAX_PROBED;
  }
}

/** Queues take turns: each organisation after the other, and within it each queue after the other. */
export class RoundRobin<Queue> {
  readonly #orgs = new Rounds<string>();
  readonly #queuesOf = new Map<string, Rounds<Queue>>();

  /** A queue that waits already keeps its turn. */
  add(org: string, queue: Queue): void {
    const queues = this.#queuesOf.get(org) ?? new Rounds<Queue>();
    queues.members.add(queue);
    this.#queuesOf.set(org, queues);
    this.#orgs.members.add(org);
  }

  /** Takes out the next queue of the next organisation that may. */
  next(may: (org: string) => boolean = () => true): Queue | undefined {
    for (let left = this.#orgs.members.size; left > 0; left -= 1) {
      const org = this.#orgs.next() ?? '';
      const queues = this.#queuesOf.get(org);
      if (!queues || !may(org)) continue;
      const queue = queues.next();
      if (queue !== undefined) queues.members.delete(queue);
      if (queues.members.size === 0) {
        this.#orgs.members.delete(org);
        this.#queuesOf.delete(org);
      }
      return queue;
    }
    return undefined;
  }
}

/** The first member of a set costs a step for each member removed before it, so one iterator is used to the end. */
class Rounds<Member> {
  readonly members = new Set<Member>();
  #round = this.members.values();

  /** The one whose turn was longest ago; it is the last from then on. Undefined when there is none. */
  next(): Member | undefined {
    let next = this.#round.next();
    if (next.done) {
      this.#round = this.members.values();
      next = this.#round.next();
    }
    if (next.done) return undefined;
    this.members.delete(next.value);
    this.members.add(next.value);
    return next.value;
  }
}
