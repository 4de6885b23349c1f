import type { StoredMessage } from '@runledger/contracts/history';
import type { RunEvent } from '@runledger/contracts/run-event';
import { append, LogFull } from '@runledger/event-log/append';
import { LogUnavailable, type EventLog } from '@runledger/event-log/event-log';
import { readStored } from '@runledger/event-log/read-run';
import type { Appended } from './attempt-ledger.ts';

/** What stands at a sequence of RUNS; undefined while the log is away. */
export const readFrom =
  (log: EventLog) =>
  async (sequence: number): Promise<StoredMessage | undefined> => {
    try {
      return await readStored(log, sequence);
    } catch (error) {
      if (error instanceof LogUnavailable) return undefined;
      throw error;
    }
  };

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
