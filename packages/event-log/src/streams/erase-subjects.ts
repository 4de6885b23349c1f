import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';

/** Erases all messages of a stream whose subjects match. Resolves with how many there were. @throws {LogUnavailable} */
export const eraseSubjects = async (log: EventLog, stream: string, filter: string): Promise<number> => {
  const { purged } = await callBroker(`erasing ${filter} of ${stream}`, () =>
    log.jsm.streams.purge(stream, { filter }),
  );
  return purged;
};
