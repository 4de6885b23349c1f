import type { EventLog } from '@runledger/event-log/connect/event-log';
import { runsIdentity, type RunsIdentity } from '@runledger/event-log/read/read-run';

export interface LogCapacity {
  /** False when the rest is kept for the facts of runs that were accepted. @throws {LogUnavailable} */
  hasRoom(): Promise<boolean>;
  /** Whether every run that was ever accepted still stands in the log. @throws {LogUnavailable} */
  forgotNothing(): Promise<boolean>;
}

const FULL_AT = 0.8;
const LOOK_EVERY_MS = 1_000;

/** `clock` is monotonic, in milliseconds. Asks the broker at most once a second, whatever the load. */
export const logCapacity = (log: EventLog, clock: () => number): LogCapacity => {
  let looked: { readonly at: number; readonly identity: Promise<RunsIdentity> } | undefined;
  const look = (): Promise<RunsIdentity> => {
    if (!looked || clock() - looked.at >= LOOK_EVERY_MS) {
      const mine = { at: clock(), identity: runsIdentity(log) };
      looked = mine;
      mine.identity.catch(() => {
        if (looked === mine) looked = undefined;
      });
    }
    return looked.identity;
  };
  return {
    hasRoom: async () => {
      const { bytes, maxBytes } = await look();
      return maxBytes <= 0 || bytes < maxBytes * FULL_AT;
    },
    forgotNothing: async () => (await look()).firstSequence <= 1,
  };
};
