import { setTimeout as pause } from 'node:timers/promises';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { READ_MARKER } from '@runledger/contracts/subjects/run-subjects';
import { CALL_WITHIN_MS, isTransient } from '../connect/broker-call.ts';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { readDirect, type DirectRead } from './direct-read.ts';
import { lastMessage, nextMessage } from './leader-read.ts';
import { noteSettled, settled } from './leader-state.ts';
import { publish } from './publish.ts';
import type { RunMessages } from './run-messages.ts';
import { fromStored } from './stored-message.ts';
import { readStored } from './stream-identity.ts';

export const jetStreamMessages = (log: EventLog): RunMessages => ({
  publish: (message) => publish(log, message),
  lastOfEachSubject: async (filter) => {
    // Too many for one response: the caller reads them from the leader one by one.
    const found = storedIn(await readLast(log, [filter])) ?? [];
    await settled(log, lastIn(found)?.sequence ?? 0);
    return found;
  },
  last: async (filter) => {
    const fresh = await log.freshSequence?.();
    if (fresh !== undefined) noteSettled(log, fresh);
    const proven = fresh === undefined ? undefined : storedIn(await readUpTo(log, filter, fresh));
    if (proven) {
      const last = lastIn(proven);
      await settled(log, last?.sequence ?? 0);
      return last;
    }
    const message = await lastMessage(log, 'RUNS', filter);
    return message === null ? undefined : fromStored(message);
  },
  next: async (filter, from) => {
    const message = await nextMessage(log, 'RUNS', from, filter);
    return message === null ? undefined : fromStored(message);
  },
  at: (sequence) => readStored(log, sequence),
});

const lastIn = (messages: readonly StoredMessage[]): StoredMessage | undefined =>
  messages.toSorted((a, b) => a.sequence - b.sequence).at(-1);

const BEHIND_PAUSE_MS = 1;

/** The last message of each subject, from a replica that has everything up to a sequence. */
const readUpTo = async (log: EventLog, filter: string, upTo: number): Promise<DirectRead | undefined> => {
  const deadline = performance.now() + CALL_WITHIN_MS;
  for (;;) {
    // With a message that there always is, the response is never empty: an empty one does not say how far the replica is.
    const read = await readLast(log, [filter, READ_MARKER]);
    if (!read || read.upTo >= upTo) return read;
    if (performance.now() > deadline) {
      throw new LogUnavailable(
        `reading ${filter}: for ${CALL_WITHIN_MS} ms no replica had message ${upTo}. ` +
          'Check that all brokers of the cluster run and reach each other.',
      );
    }
    await pause(BEHIND_PAUSE_MS);
  }
};

/** More than the largest facts of a run with 100 attempts. Only who forges messages fills more, and nobody should wait for those. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;

/** Undefined for more subjects than one response holds (1,024), or more bytes. */
const readLast = async (log: EventLog, filters: string[]): Promise<DirectRead | undefined> => {
  try {
    const query = { multi_last: filters, max_bytes: MAX_RESPONSE_BYTES };
    const read = await readDirect(log, 'RUNS', query, `reading ${filters[0]}`);
    return read.left > 0 ? undefined : read;
  } catch (error) {
    if (isTooMany(error)) return undefined;
    throw error;
  }
};

const storedIn = (read: DirectRead | undefined): readonly StoredMessage[] | undefined =>
  read?.messages.filter(({ subject }) => subject !== READ_MARKER).map(fromStored);

const isTooMany = (error: unknown): boolean =>
  !isTransient(error) && error instanceof Error && 'code' in error && error.code === 413;
