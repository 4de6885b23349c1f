/** Lanes in turn: each organisation one after the other, and each lane of it one after the other. */
export interface FairRing<Lane> {
  add(org: string, lane: Lane): void;
  /** Takes out the next lane of the next organisation that may. */
  next(may: (org: string) => boolean): Lane | undefined;
}

export const fairRing = <Lane>(): FairRing<Lane> => {
  const byOrg = new Map<string, Set<Lane>>();
  return {
    add: (org, lane) => {
      const lanes = byOrg.get(org);
      if (lanes) lanes.add(lane);
      else byOrg.set(org, new Set([lane]));
    },
    next: (may) => {
      for (const [org, lanes] of byOrg) {
        if (!may(org)) continue;
        const [lane] = lanes;
        byOrg.delete(org);
        if (lane === undefined) continue;
        lanes.delete(lane);
        // To the end: the others come first.
        if (lanes.size > 0) byOrg.set(org, lanes);
        return lane;
      }
      return undefined;
    },
  };
};
