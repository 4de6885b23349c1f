import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readStored, runsIdentity, type RunsIdentity } from '@runledger/event-log/messages/stream-identity';
import { projectionStart, type ProjectionPosition, type ProjectionStart } from './core/projection-start.ts';

/** Where to begin, by the log as it is now. @throws {LogUnavailable} */
export const readStart = async (
  log: EventLog,
  position: ProjectionPosition | undefined,
  known: ProjectionPosition | undefined,
): Promise<{ readonly identity: RunsIdentity; readonly start: ProjectionStart }> => {
  const identity = await runsIdentity(log, position?.sequence);
  const isInLog =
    position !== undefined && position.sequence > 0 && position.sequence <= identity.lastSequence;
  const last = isInLog ? await readStored(log, position.sequence) : undefined;
  return { identity, start: projectionStart({ position, known, last }, identity) };
};
