import type { RunEvent } from '@runledger/contracts/events/run-event';
import { appendOwn, LogFull } from '@runledger/event-log/append/append';
import { lastOfSubjects } from '@runledger/event-log/messages/direct-read';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import type { Appended, LedgerSettings } from '../attempt/ledger-settings.ts';

/** Reads the last messages on subjects of this executor; undefined while the log is unavailable. */
export const readSubjects =
  (log: EventLog): LedgerSettings['look'] =>
  async (subjects) => {
    try {
      return await lastOfSubjects(log, subjects);
    } catch (error) {
      if (error instanceof LogUnavailable) return undefined;
      throw error;
    }
  };

/** An attempt waits while the log is unavailable or full. Every other error is a bug. */
export const appendTo =
  (log: EventLog) =>
  async (event: RunEvent, expected: number): Promise<Appended> => {
    try {
      return await appendOwn(log, event, expected);
    } catch (error) {
      if (error instanceof LogUnavailable || error instanceof LogFull) {
        return { kind: 'unavailable', why: error.message };
      }
      throw error;
    }
  };
