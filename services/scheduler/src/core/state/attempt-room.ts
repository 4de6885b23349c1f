import { attemptsLimit, NEW_ATTEMPT_BYTES, reservedBytes } from '@runledger/contracts/room/reservation';
import type { LiveRuns } from '../runs/live-runs.ts';

/** The room of the log for new attempts. */
export interface AttemptRoom {
  /** The last size of the log; undefined before the first. */
  size: { readonly bytes: number; readonly maxBytes: number } | undefined;
  /** Assignments that the size may not have yet: those decided since then, and those that were being stored. */
  assignments: number;
  /** A run waits only because there was no room. */
  isShort: boolean;
}

export const newAttemptRoom = (): AttemptRoom => ({ size: undefined, assignments: 0, isShort: false });

interface Roomy {
  readonly room: AttemptRoom;
  readonly runs: LiveRuns;
}

/** Whether one more attempt, and all that accepted runs may still write, fit into the log. */
export const hasRoomForAttempt = ({ room, runs }: Roomy): boolean => {
  const { size, assignments } = room;
  if (!size) return true;
  const needed = reservedBytes(runs.counts()) + (assignments + 1) * NEW_ATTEMPT_BYTES;
  return size.bytes + needed <= attemptsLimit(size.maxBytes);
};

export const setLogSize = ({ room, runs }: Roomy, size: NonNullable<AttemptRoom['size']>): void => {
  room.size = size;
  room.assignments = runs.counts().assigning;
};
