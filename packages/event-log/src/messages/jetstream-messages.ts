import { callBroker, isTransient } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { readDirect } from './direct-read.ts';
import { lastMessage, nextMessage } from './leader-read.ts';
import { publish } from './publish.ts';
import type { RunMessages } from './run-messages.ts';
import { fromStored } from './stored-message.ts';

export const jetStreamMessages = (log: EventLog): RunMessages => ({
  publish: (message) => publish(log, message),
  lastOfEachSubject: async (filter) => {
    const query = { multi_last: [filter] };
    try {
      const messages = await callBroker(`reading ${filter}`, () => readDirect(log, 'RUNS', query));
      return messages.map(fromStored);
    } catch (error) {
      // More subjects than one response holds (1,024): the caller reads them from the leader one by one.
      if (isTooMany(error)) return [];
      throw error;
    }
  },
  last: async (filter) => {
    const message = await lastMessage(log, 'RUNS', filter);
    return message === null ? undefined : fromStored(message);
  },
  next: async (filter, from) => {
    const message = await nextMessage(log, 'RUNS', from, filter);
    return message === null ? undefined : fromStored(message);
  },
});

const isTooMany = (error: unknown): boolean =>
  !isTransient(error) && error instanceof Error && 'code' in error && error.code === 413;
