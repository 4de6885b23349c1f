/** Queues take turns: each organisation after the other, and within it each queue after the other. */
export interface RoundRobin<Queue> {
  /** A queue that waits already keeps its turn. */
  add(org: string, queue: Queue): void;
  /** Takes out the next queue of the next organisation that may. */
  next(may: (org: string) => boolean): Queue | undefined;
}

export const roundRobin = <Queue>(): RoundRobin<Queue> => {
  const orgs = rounds<string>();
  const queuesOf = new Map<string, Rounds<Queue>>();
  return {
    add: (org, queue) => {
      const queues = queuesOf.get(org) ?? rounds<Queue>();
      queues.members.add(queue);
      queuesOf.set(org, queues);
      orgs.members.add(org);
    },
    next: (may) => {
      for (let left = orgs.members.size; left > 0; left -= 1) {
        const org = orgs.next();
        const queues = org === undefined ? undefined : queuesOf.get(org);
        if (org === undefined || queues === undefined || !may(org)) continue;
        const queue = queues.next();
        if (queue !== undefined) queues.members.delete(queue);
        if (queues.members.size === 0) {
          orgs.members.delete(org);
          queuesOf.delete(org);
        }
        return queue;
      }
      return undefined;
    },
  };
};

interface Rounds<Member> {
  readonly members: Set<Member>;
  /** The one after the last; the first again after all. Undefined when there is none. */
  next(): Member | undefined;
}

/** The first member of a set costs as many steps as members were removed before it, so one iterator is used to the end. */
const rounds = <Member>(): Rounds<Member> => {
  const members = new Set<Member>();
  let round = members.values();
  return {
    members,
    next: () => {
      const next = round.next();
      if (!next.done) return next.value;
      round = members.values();
      return round.next().value;
    },
  };
};
