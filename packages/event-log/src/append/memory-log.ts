import { EventEmitter, once } from 'node:events';
import { matchesAny, matchesFilter } from '@runledger/contracts/events/subjects';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { NO_OBSERVER, silentLogger, type Readiness } from '../connect/observability.ts';
import { batchHandler, PositionBeyondEnd } from '../follow/follow.ts';
import type { Following, FollowOptions, InMemoryMessages, RunLog } from '../read/run-messages.ts';
import { parseJson } from '../read/stored-message.ts';
import { EventTooLarge, type Publication, type Published } from './publish.ts';

export type MemoryLog = RunLog & {
  readonly messages: InMemoryMessages;
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

const MAX_BATCH = 256;

/** Follows the messages, where the one of sequence n is at n - 1. `changes` emits `stored` for each new one. */
const followMemory = async (
  stored: readonly StoredMessage[],
  changes: EventEmitter,
  options: FollowOptions,
): Promise<Following> => {
  const { stream, subjects, after, atLeast = 0, onCaughtUp } = options;
  if (stream !== 'RUNS') throw new TypeError(`A log in memory has the stream RUNS, and not ${stream}.`);
  const known = Math.max(after, atLeast);
  if (known > stored.length) throw new PositionBeyondEnd(stream, known, stored.length);
  const stop = new AbortController();
  const failed = Promise.withResolvers<Error>();
  let ended: Readiness = { ok: true };
  const { take, state, position } = batchHandler(options, silentLogger, stop.signal);

  const run = async (): Promise<void> => {
    let caughtUp = false;
    for (let read = after; !stop.signal.aborted;) {
      const batch = stored.slice(read, read + MAX_BATCH);
      const wanted = batch.filter(({ subject }) => matchesAny(subjects, subject));
      if (wanted.length > 0) await take(wanted);
      read += batch.length;
      if (read < stored.length) continue;
      if (!caughtUp) onCaughtUp?.();
      caughtUp = true;
      await once(changes, 'stored', { signal: stop.signal });
    }
  };
  const running = run().catch((error: unknown) => {
    if (stop.signal.aborted) return;
    const reason = error instanceof Error ? error : new Error(String(error));
    ended = { ok: false, why: reason.message };
    failed.resolve(reason);
  });
  return {
    state: () => (ended.ok ? state() : ended),
    failed: failed.promise,
    position,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
};
