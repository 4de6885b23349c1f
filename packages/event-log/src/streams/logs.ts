import {
  ALL_LOGS,
  LogChunk,
  logFilter,
  logSubject,
  orgLogsFilter,
  parseLogSubject,
  runLogsFilter,
  type LoggedAttempt,
} from '@runledger/contracts/run-logs';
import { isOrgId, type OrgId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { headers, type PublishOptions } from '@nats-io/transport-node';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { streamState } from '../read/leader-read.ts';
import { readDirect } from '../read/direct-read.ts';
import { eraseSubjects } from './erase-messages.ts';
import { parseJson } from '../read/stored-message.ts';

const STREAM = 'LOGS';
const Chunk = compiledSchema(LogChunk);
const utf8 = new TextEncoder();

/**
 * Stores a part of an attempt's log in place of what is in this slot. Not acknowledged: false while disconnected, and what was sent
 * shortly before a disconnect may be lost.
 */
export const publishLogChunk = (log: EventLog, of: LoggedAttempt, slot: number, chunk: LogChunk): boolean =>
  publishToSlot(log, of, slot, utf8.encode(JSON.stringify(chunk)));

/** Empties a slot, when the log of the attempt is kept elsewhere. For a minute readers see that. */
export const clearLogSlot = (log: EventLog, of: LoggedAttempt, slot: number): boolean => {
  const expires = headers();
  expires.set('Nats-TTL', '1m');
  return publishToSlot(log, of, slot, new Uint8Array(), { headers: expires });
};

/** A disconnected client would buffer messages in memory, without a limit. */
const publishToSlot = (
  log: EventLog,
  of: LoggedAttempt,
  slot: number,
  data: Uint8Array,
  options: PublishOptions = {},
): boolean => {
  if (!log.connected()) return false;
  log.nc.publish(logSubject(of, slot), data, options);
  return true;
};

interface StoredLog {
  /** In the order of their lines. */
  readonly chunks: readonly LogChunk[];
  /** Whether the attempt's executor has emptied it: the log is kept elsewhere. */
  readonly isCleared: boolean;
}

/** What is stored of an attempt's log, from any replica, which may not have the newest yet. @throws {LogUnavailable} */
export const readLog = async (log: EventLog, of: LoggedAttempt): Promise<StoredLog> => {
  const query = { multi_last: [logFilter(of)] };
  const { messages } = await readDirect(log, STREAM, query, 'reading the log of an attempt');
  const chunks = messages.flatMap(({ data }) => parseChunk(data) ?? []);
  return {
    chunks: chunks.toSorted((a, b) => a.first - b.first),
    isCleared: messages.some(({ data }) => data.byteLength === 0),
  };
};

const parseChunk = (data: Uint8Array): LogChunk | undefined => {
  const chunk = parseJson(data);
  return Chunk.Check(chunk) ? chunk : undefined;
};

/**
 * Calls `onChunk` for each part of the logs of a run that is stored from now on. Returns a function that ends the subscription.
 * Parts that are stored while disconnected do not arrive: read the log after a reconnect.
 */
export const subscribeToLogs = (
  log: EventLog,
  key: RunKey,
  onChunk: (of: LoggedAttempt, chunk: LogChunk) => void,
): (() => void) => {
  const subscription = log.nc.subscribe(runLogsFilter(key), {
    callback: (error, message) => {
      if (error) {
        log.logger.warn({ err: error, run_id: key.run_id }, 'the log of a run can no longer be received');
        return;
      }
      const of = parseLogSubject(message.subject);
      const chunk = parseChunk(message.data);
      if (of && chunk) onChunk(of, chunk);
    },
  });
  // A closed connection has no subscriptions.
  return () => {
    if (!log.nc.isClosed()) subscription.unsubscribe();
  };
};

/** Erases the logs of all attempts of a run. @throws {LogUnavailable} */
export const eraseLogs = async (log: EventLog, key: RunKey): Promise<void> => {
  await eraseSubjects(log, STREAM, runLogsFilter(key));
};

/** How full the stream is, from 0 to 1. @throws {LogUnavailable} */
export const logsFill = async (log: EventLog): Promise<number> => {
  const { state, config } = await streamState(log, STREAM);
  return config.max_bytes > 0 ? state.bytes / config.max_bytes : 0;
};

/** How many slots of attempts each organisation uses. @throws {LogUnavailable} */
export const countLogSlots = async (log: EventLog): Promise<ReadonlyMap<OrgId, number>> => {
  const { state } = await callBroker('counting the logs of organisations', () =>
    log.jsm.streams.info(STREAM, { subjects_filter: ALL_LOGS }),
  );
  const slots = new Map<OrgId, number>();
  for (const subject of Object.keys(state.subjects ?? {})) {
    const [, org_id = ''] = subject.split('.');
    if (isOrgId(org_id)) slots.set(org_id, (slots.get(org_id) ?? 0) + 1);
  }
  return slots;
};

/** Keeps this number of an organisation's slots, those that were written last. @throws {LogUnavailable} */
export const dropOldLogs = async (log: EventLog, org_id: OrgId, keep: number): Promise<void> => {
  await callBroker('dropping old logs of an organisation', () =>
    log.jsm.streams.purge(STREAM, { filter: orgLogsFilter(org_id), keep }),
  );
};
