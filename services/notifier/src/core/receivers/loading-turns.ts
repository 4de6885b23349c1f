import { HEALTHS, type Health, type ReceiverQueue } from './receiver-queues.ts';
import { roundRobin } from './round-robin.ts';

/** Decides whose deferred deliveries are loaded next: for a few receivers at a time, however many have some. */
export interface LoadingTurns {
  add(queue: ReceiverQueue): void;
  /** The next receiver, of those that may. From then on it counts as one that is loaded for. */
  next(may: (queue: ReceiverQueue) => boolean): ReceiverQueue | undefined;
  /** An attempt of the receiver has begun, or nothing waits for it any more. */
  moved(queue: ReceiverQueue): void;
  /** Skips the receiver until the next `tick`: loading at once would find the same again. */
  later(queue: ReceiverQueue): void;
  isLater(queue: ReceiverQueue): boolean;
  /** Once a second. Returns those that were skipped. */
  tick(): readonly ReceiverQueue[];
}

/** Receivers of one health that are loaded for, or were and wait for a permit. The healthy need not wait for the others. */
const MAX_LOADED_FOR = 64;
/**
 * Receivers that have not proven to answer, loaded for between two ticks: tens of thousands of dead ones may come due together
 * after a takeover, and their probes must not keep the broker busy.
 */
const MAX_PROBED = 50;

export const loadingTurns = (): LoadingTurns => {
  const turns = HEALTHS.map((health) => ({
    health,
    ring: roundRobin<ReceiverQueue>(),
    loadedFor: new Set<ReceiverQueue>(),
  }));
  const skipped = new Set<ReceiverQueue>();
  let probed = 0;

  const nextOf = (
    { health, ring, loadedFor }: (typeof turns)[number],
    may: (queue: ReceiverQueue) => boolean,
  ): ReceiverQueue | undefined => {
    const mayGoOn = (): boolean =>
      loadedFor.size < MAX_LOADED_FOR && (health === 'healthy' || probed < MAX_PROBED);
    while (mayGoOn()) {
      const queue = ring.next(() => true);
      if (!queue) return undefined;
      if (!may(queue)) continue;
      if (health !== 'healthy') probed += 1;
      loadedFor.add(queue);
      return queue;
    }
    return undefined;
  };
  const ringOf = (wanted: Health) => turns.find(({ health }) => health === wanted)?.ring;

  return {
    add: (queue) => ringOf(queue.health)?.add(queue.receiver.org_id, queue),
    next: (may) => {
      for (const turn of turns) {
        const queue = nextOf(turn, may);
        if (queue) return queue;
      }
      return undefined;
    },
    moved: (queue) => {
      for (const { loadedFor } of turns) loadedFor.delete(queue);
    },
    later: (queue) => void skipped.add(queue),
    isLater: (queue) => skipped.has(queue),
    tick: () => {
      const queues = [...skipped];
      skipped.clear();
      probed = 0;
      return queues;
    },
  };
};
