import type { EventLog } from '@runledger/event-log/connect/event-log';
import { runsIdentity, type RunsIdentity } from '@runledger/event-log/messages/stream-identity';

export interface LogCapacity {
  /** False when the rest of the log is reserved for the facts of accepted runs. @throws {LogUnavailable} */
  hasRoom(): Promise<boolean>;
  /** Whether the log still has every accepted run. @throws {LogUnavailable} */
  hasEverything(): Promise<boolean>;
}

const MAX_FILL = 0.8;
const CACHED_MS = 1_000;

/** Asks the broker at most once a second. `clock` is monotonic, in milliseconds. */
export const logCapacity = (log: EventLog, clock: () => number): LogCapacity => {
  let cached: { readonly at: number; readonly identity: Promise<RunsIdentity> } | undefined;
  const identity = (): Promise<RunsIdentity> => {
    if (!cached || clock() - cached.at >= CACHED_MS) {
      const read = { at: clock(), identity: runsIdentity(log) };
      cached = read;
      read.identity.catch(() => {
        if (cached === read) cached = undefined;
      });
    }
    return cached.identity;
  };
  return {
    hasRoom: async () => {
      const { bytes, maxBytes } = await identity();
      return maxBytes <= 0 || bytes < maxBytes * MAX_FILL;
    },
    hasEverything: async () => (await identity()).firstSequence <= 1,
  };
};
