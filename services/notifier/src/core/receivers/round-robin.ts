/** Lanes in turn: each organisation one after the other, and each lane of it one after the other. */
export interface RoundRobin<Lane> {
  /** A lane that is in it already keeps its place. */
  add(org: string, lane: Lane): void;
  /** Takes out the next lane of the next organisation that may. */
  next(may: (org: string) => boolean): Lane | undefined;
}

export const roundRobin = <Lane>(): RoundRobin<Lane> => {
  const orgs = rounds<string>();
  const lanesOf = new Map<string, Rounds<Lane>>();
  return {
    add: (org, lane) => {
      const lanes = lanesOf.get(org) ?? rounds<Lane>();
      lanes.members.add(lane);
      lanesOf.set(org, lanes);
      orgs.members.add(org);
    },
    next: (may) => {
      for (let left = orgs.members.size; left > 0; left -= 1) {
        const org = orgs.next();
        const lanes = org === undefined ? undefined : lanesOf.get(org);
        if (org === undefined || lanes === undefined || !may(org)) continue;
        const lane = lanes.next();
        if (lane !== undefined) lanes.members.delete(lane);
        if (lanes.members.size === 0) {
          orgs.members.delete(org);
          lanesOf.delete(org);
        }
        return lane;
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

/** To ask a set for its first member costs as many steps as were removed before it, so that one iterator goes on and on. */
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
