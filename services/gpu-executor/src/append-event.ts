import type { RunEvent } from '@runledger/contracts/run-event';
import { append, LogFull } from '@runledger/event-log/append';
import { LogUnavailable, type EventLog } from '@runledger/event-log/event-log';
import type { Appended } from './attempt-ledger.ts';

/** An attempt waits for a log that is away or full; everything else that goes wrong is a bug. */
export const appendTo =
  (log: EventLog) =>
  async (event: RunEvent, expected: number): Promise<Appended> => {
    try {
      return await append(log, event, expected);
    } catch (error) {
      if (error instanceof LogUnavailable || error instanceof LogFull)
        return { kind: 'unavailable', why: error.message };
      throw error;
    }
  };
