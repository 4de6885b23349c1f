import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { NO_OBSERVER } from '../connect/log-observer.ts';
import { silentLogger } from '../connect/logger.ts';
import { EventTooLarge, type Publication, type Published } from '../messages/publish.ts';
import type { RunLog, RunMessages } from '../messages/run-messages.ts';
import { parseJson } from '../messages/stored-message.ts';
import { matchesFilter } from './matches-filter.ts';

export interface MemoryLogOptions {
  /** The clock of this log's time stamps. */
  readonly now?: () => Date;
}

export type MemoryLog = RunLog & {
  readonly messages: RunMessages;
  /** Stores a message as any client with write access could: with a fence of its own choice, or none. */
  forge(subject: string, body: unknown, fence?: Publication['fence']): number;
};

const MOST_BYTES = 1024 * 1024;

/** A log of runs in this process, for tests of one service: it loses everything with the process, and is never away. */
export const memoryLog = ({ now = () => new Date() }: MemoryLogOptions = {}): MemoryLog => {
  const stored: (StoredMessage & { readonly id: string | undefined })[] = [];
  const under = (filter: string) => stored.filter(({ subject }) => matchesFilter(filter, subject));
  const lastSequence = (filter: string): number => under(filter).at(-1)?.sequence ?? 0;
  const store = (message: Omit<StoredMessage, 'sequence' | 'time'>, id?: string): number => {
    const sequence = stored.length + 1;
    stored.push({ ...message, sequence, time: now().toISOString(), id });
    return sequence;
  };

  const publish = ({ subject, data, id, fence, traceparent }: Publication): Published => {
    if (data.byteLength > MOST_BYTES) {
      throw new EventTooLarge(`A message for ${subject} has ${data.byteLength} bytes; ${MOST_BYTES} fit.`);
    }
    const own = stored.find((message) => message.id === id);
    if (own) return { kind: 'stored', sequence: own.sequence };
    const head = fence ? lastSequence(fence.filter) : 0;
    if (fence && head !== fence.sequence) return { kind: 'conflict', head };
    const sequence = store(
      {
        subject,
        fence: fence?.filter ?? null,
        expectedSequence: fence?.sequence ?? null,
        body: parseJson(data),
        ...(traceparent === undefined ? {} : { traceparent }),
      },
      id,
    );
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
      lastSequence: async (filter) => lastSequence(filter),
      next: async (filter, from) => under(filter).find(({ sequence }) => sequence >= from),
    },
    forge: (subject, body, fence) =>
      store({ subject, body, fence: fence?.filter ?? null, expectedSequence: fence?.sequence ?? null }),
  };
};
