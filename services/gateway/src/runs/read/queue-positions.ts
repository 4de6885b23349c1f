import { setTimeout as pause } from 'node:timers/promises';
import type { RunId } from '@runledger/contracts/ids';
import { MAX_REQUESTED_POSITIONS, type QueuePosition } from '@runledger/contracts/requests/queue-position';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { requestQueuePositions } from '@runledger/request-reply/queue-positions';
import { runName } from '../../projection/core/run-name.ts';
import { keepLatest } from '../../concurrency/recently-used.ts';

/** Where these queued runs wait; those whose place is not to be had in time are left out. */
export type QueuePositions = (keys: readonly RunKey[]) => Promise<ReadonlyMap<RunId, QueuePosition>>;

export interface QueuePositionsOptions {
  readonly log: EventLog;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** A place is worth having, and no reason to wait. */
const ANSWER_WITHIN_MS = 250;
const KEPT_MS = 1_000;
const MOST_KEPT = 10_000;
/** Questions that come within this time are asked together. */
const GATHER_MS = 3;
/** While nobody answers, one question in a while tries, and no other waits for it. */
const TRY_EVERY_MS = 1_000;

type Place = QueuePosition | undefined;

/** Asks the scheduler, and keeps for a second what it says. */
export const queuePositions = ({ log, clock }: QueuePositionsOptions): QueuePositions => {
  const asked = new Map<string, { readonly at: number; readonly place: Promise<Place> }>();
  let silent = false;
  let nextTry = 0;

  const gather = gatherer(async (keys) => {
    const places = await requestQueuePositions(log, keys, ANSWER_WITHIN_MS);
    silent = places === undefined;
    if (silent) nextTry = clock() + TRY_EVERY_MS;
    return places ?? [];
  });
  const placeOf = (key: RunKey): Promise<Place> | undefined => {
    const now = clock();
    const name = runName(key);
    const before = asked.get(name);
    if (before && now - before.at < KEPT_MS) return before.place;
    if (silent && now < nextTry) return undefined;
    // A try may take longer than the time between two of them.
    if (silent) nextTry = Infinity;
    const place = gather(key);
    keepLatest(asked, MOST_KEPT, name, { at: now, place });
    // A run that was just queued is known to the scheduler a moment later.
    void place.then((known) => {
      if (!known && asked.get(name)?.place === place) asked.delete(name);
    });
    return place;
  };
  return async (keys) => {
    const places = await Promise.all(keys.map(async (key) => [key.run_id, await placeOf(key)] as const));
    return new Map(places.flatMap(([run_id, place]) => (place ? [[run_id, place]] : [])));
  };
};

/** Asks about single runs by questions about many: `ask` gives a place for each key, in their order. */
const gatherer = (
  ask: (keys: readonly RunKey[]) => Promise<readonly Place[]>,
): ((key: RunKey) => Promise<Place>) => {
  let gathering: { readonly keys: RunKey[]; readonly places: Promise<readonly Place[]> } | undefined;
  return async (key) => {
    if (!gathering || gathering.keys.length >= MAX_REQUESTED_POSITIONS) {
      const keys: RunKey[] = [];
      const askAll = (): Promise<readonly Place[]> => {
        if (gathering?.keys === keys) gathering = undefined;
        return ask(keys);
      };
      gathering = { keys, places: pause(GATHER_MS).then(askAll) };
    }
    const { keys, places } = gathering;
    const index = keys.push(key) - 1;
    return (await places)[index];
  };
};
