import { roundRobin } from '../core/receivers/round-robin.ts';
import type { Receiver } from '../core/receivers/receiver.ts';
import { hasWaiting, STANDINGS, type Lane } from '../core/receivers/receiver-queues.ts';

/** Asks for what stands in the log, for a few lanes at a time, however many have something there. */
export interface Parked {
  /** The lane has room, and nothing waits for it: it is asked for in its turn. */
  offer(lane: Lane): void;
  /** The lane is to be offered at the next look: nothing else is about to do it. */
  lookAgain(lane: Lane): void;
  /** Once a second: those to be offered again. */
  takeLookedFor(): readonly Lane[];
  /** A try of the lane has begun, or nothing waits for it any more. */
  moved(lane: Lane): void;
  pump(): void;
}

interface ParkedOptions {
  /** Never rejects. Whether any is left. */
  readonly refill: (receiver: Receiver, most: number) => Promise<boolean>;
  readonly roomOf: (lane: Lane) => number;
  /** The lane is to be offered, or let go. */
  readonly onRefilled: (lane: Lane) => void;
}

/** Lanes of one standing that are asked for, or were and wait for a place. The proven need not wait for the others. */
const MOST_ASKED_FOR = 64;
/**
 * Lanes that have not proven to answer, asked for between two looks: tens of thousands of dead receivers may come due together
 * after a takeover, and their probes are not to keep the broker busy.
 */
const MOST_PROBED = 50;

export const openParked = ({ refill, roomOf, onRefilled }: ParkedOptions): Parked => {
  const turns = STANDINGS.map((standing) => ({
    standing,
    ring: roundRobin<Lane>(),
    askedFor: new Set<Lane>(),
  }));
  const again = new Set<Lane>();
  let probed = 0;
  const mayAsk = (lane: Lane): boolean =>
    lane.parked && lane.refilled === undefined && !hasWaiting(lane) && roomOf(lane) > 0;
  const moved = (lane: Lane): void => {
    for (const { askedFor } of turns) askedFor.delete(lane);
  };

  const ask = async (lane: Lane, asked: Set<Lane>): Promise<void> => {
    asked.add(lane);
    lane.refilled = 0;
    // What is set aside from now on is not in the answer.
    lane.parked = false;
    const room = roomOf(lane);
    // One alone is mostly a probe: a second that is fetched with it would only be put back.
    const isLeft = await refill(lane.receiver, room === 1 ? 1 : room * 2);
    const { refilled } = lane;
    lane.refilled = undefined;
    if (isLeft) lane.parked = true;
    if (!hasWaiting(lane)) moved(lane);
    // All was in hand, or put off at once: to ask again now would get the same answer.
    if (lane.parked && refilled === 0) again.add(lane);
    onRefilled(lane);
  };

  return {
    offer: (lane) => {
      if (!mayAsk(lane) || again.has(lane)) return;
      turns.find(({ standing }) => standing === lane.standing)?.ring.add(lane.receiver.org_id, lane);
    },
    lookAgain: (lane) => void again.add(lane),
    takeLookedFor: () => {
      const lanes = [...again];
      again.clear();
      probed = 0;
      return lanes;
    },
    moved,
    pump: () => {
      for (const { standing, ring, askedFor } of turns) {
        for (;;) {
          if (askedFor.size >= MOST_ASKED_FOR) break;
          if (standing !== 'proven' && probed >= MOST_PROBED) break;
          const lane = ring.next(() => true);
          if (!lane) break;
          if (!mayAsk(lane)) continue;
          if (standing !== 'proven') probed += 1;
          void ask(lane, askedFor);
        }
      }
    },
  };
};
