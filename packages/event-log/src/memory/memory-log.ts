import { EventEmitter } from 'node:events';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { NO_OBSERVER } from '../connect/log-observer.ts';
import { silentLogger } from '../connect/logger.ts';
import type { Publication, Published } from '../messages/publish.ts';
import { EventTooLarge } from '../messages/refusals.ts';
import type { HeldMessages, RunLog } from '../messages/run-messages.ts';
import { parseJson } from '../messages/stored-message.ts';
import { followMemory } from './follow-memory.ts';
import { matchesFilter } from '@runledger/contracts/subjects/matches-filter';

export type MemoryLog = RunLog & {
  readonly messages: HeldMessages;
  /** Stores a message as any client with write access could: with any fence, or without one. */
  forge(subject: string, body: unknown, fence?: Publication['fence']): number;
};

const MAX_BYTES = 1024 * 1024;

/** A log of runs in this process, for tests of one use case: it is lost with the process, and never unavailable. */
export const memoryLog = (): MemoryLog => {
  const stored: StoredMessage[] = [];
  const ids = new Map<string, number>();
  const changes = new EventEmitter();
  const under = (filter: string) => stored.filter(({ subject }) => matchesFilter(filter, subject));
  const last = (filter: string): StoredMessage | undefined => under(filter).at(-1);
  const store = (message: Omit<StoredMessage, 'sequence' | 'time'>): number => {
    const sequence = stored.length + 1;
    stored.push({ ...message, sequence, time: new Date().toISOString() });
    changes.emit('stored');
    return sequence;
  };

  const publish = ({ subject, data, id, fence, traceparent }: Publication): Published => {
    if (data.byteLength > MAX_BYTES) {
      throw new EventTooLarge(`A message for ${subject} has ${data.byteLength} bytes; ${MAX_BYTES} fit.`);
    }
    const own = ids.get(id);
    if (own !== undefined) return { kind: 'stored', sequence: own };
    const head = fence ? (last(fence.filter)?.sequence ?? 0) : 0;
    if (fence && head !== fence.sequence) return { kind: 'conflict', head };
    const sequence = store({
      subject,
      fence: fence?.filter ?? null,
      expectedSequence: fence?.sequence ?? null,
      body: parseJson(data),
      data,
      ...(traceparent === undefined ? {} : { traceparent }),
    });
    ids.set(id, sequence);
    return { kind: 'stored', sequence };
  };

  return {
    logger: silentLogger,
    observer: NO_OBSERVER,
    messages: {
      publish: async (message) => publish(message),
      lastOfEachSubject: async (filter) => [
        ...new Map(under(filter).map((message) => [message.subject, message])).values(),
      ],
      last: async (filter) => last(filter),
      next: async (filter, from) =>
        stored.slice(Math.max(from - 1, 0)).find(({ subject }) => matchesFilter(filter, subject)),
      at: async (sequence) => stored[sequence - 1],
      follow: (options) => followMemory(stored, changes, options),
    },
    forge: (subject, body, fence) =>
      store({ subject, body, fence: fence?.filter ?? null, expectedSequence: fence?.sequence ?? null }),
  };
};
