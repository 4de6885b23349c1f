import { roundRobin } from './round-robin.ts';
import { STANDINGS, type Lane, type Standing } from './receiver-queues.ts';
import type { Places } from './concurrency-limits.ts';

/**
 * Lanes with something to send. Those of each standing take turns, so that who answers does not keep out who never had the
 * chance, nor who fails the others.
 */
export interface Turns {
  add(lane: Lane): void;
  /** One that may take a place. Its situation may have changed since it was added. */
  next(): Lane | undefined;
}

export const openTurns = (places: Places): Turns => {
  const rings = { proven: roundRobin<Lane>(), new: roundRobin<Lane>(), suspect: roundRobin<Lane>() };
  let first = 0;

  const add = (lane: Lane): void => rings[lane.standing].add(lane.receiver.org_id, lane);

  const nextOf = (standing: Standing): Lane | undefined => {
    while (places.hasFreeFor(standing)) {
      const lane = rings[standing].next((org) => places.hasFreeOf(org, standing));
      if (!lane || lane.standing === standing) return lane;
      add(lane);
    }
    return undefined;
  };

  return {
    add,
    next: () => {
      first += 1;
      for (let turn = 0; turn < STANDINGS.length; turn += 1) {
        const standing = STANDINGS[(first + turn) % STANDINGS.length];
        const lane = standing && nextOf(standing);
        if (lane) return lane;
      }
      return undefined;
    },
  };
};
