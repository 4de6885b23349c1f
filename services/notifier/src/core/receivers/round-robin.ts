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
