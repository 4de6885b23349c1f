import type { EventLog } from '@runledger/event-log/event-log';
import { runsIdentity } from '@runledger/event-log/read-run';

export interface LogRoom {
  /** False when the rest is kept for the facts of runs that were accepted. @throws {LogUnavailable} */
  hasRoom(): Promise<boolean>;
}

const FULL_AT = 0.8;
const LOOK_EVERY_MS = 1_000;

/** `clock` is monotonic, in milliseconds. Asks the broker at most once a second, whatever the load. */
export const logRoom = (log: EventLog, clock: () => number): LogRoom => {
  let looked: { readonly at: number; readonly room: Promise<boolean> } | undefined;
  const look = async (): Promise<boolean> => {
    const { bytes, maxBytes } = await runsIdentity(log);
    return maxBytes <= 0 || bytes < maxBytes * FULL_AT;
  };
  return {
    hasRoom: () => {
      if (!looked || clock() - looked.at >= LOOK_EVERY_MS) {
        const room = look();
        const mine = { at: clock(), room };
        looked = mine;
        room.catch(() => {
          if (looked === mine) looked = undefined;
        });
      }
      return looked.room;
    },
  };
};
