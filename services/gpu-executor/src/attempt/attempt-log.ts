import {
  LOG_HEAD_CHUNKS,
  LOG_TAIL_CHUNKS,
  logSlot,
  type LogChunk,
  type AttemptLog as StoredLog,
} from '@runledger/contracts/run-logs';
import type { MaskText } from '@runledger/contracts/log-masks';
import { sleep } from '@runledger/resilience/abort';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { BlobRef } from '@runledger/contracts/blobs';
import type { LogLine } from '../runners/runner.ts';
import { logBuffer, type LogBuffer } from './log-buffer.decide.ts';
import type { Assignment } from './assignment.decide.ts';
import { storeDocument, type GatewaySettings } from '../transfer/attempt-gateway.ts';

/** The log of one attempt. Lines that were written are stored at the brokers within a moment. */
export interface AttemptLog extends Disposable {
  write(line: LogLine): void;
  /** Stores what is not stored yet. No line is written afterwards. The result is all that is stored of the log. */
  end(): Promise<StoredLog>;
  /** Removes it from the brokers: it is stored with the run. */
  clear(): void;
}

export interface AttemptLogSettings {
  readonly mask: MaskText;
  /** False when nothing can be sent now. */
  readonly publish: (slot: number, chunk: LogChunk) => boolean;
  readonly clear: (slot: number) => void;
  /** What was sent lately may be lost. Returns a function that removes the listener. */
  readonly onReconnect: (listener: () => void) => () => void;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

const PUBLISH_EVERY_MS = 200;
/** With the interval: 320 KiB a second. What a program writes faster is skipped, and its end comes with the end of the log. */
const MAX_CHUNKS_AT_ONCE = 8;
/** Masks may take long. The executor has other runs, and heartbeats. */
const MAX_BUSY_MS = 25;
const REST_FACTOR = 4;
const NO_TIME_MS = 2;
/** The end of a run waits no longer for its log. */
const END_WITHIN_MS = 10_000;

export const openAttemptLog = (settings: AttemptLogSettings): AttemptLog => {
  const { now, clock } = settings;
  const buffer = logBuffer(settings.mask);
  const sender = logSender(buffer, settings);
  let timer: NodeJS.Timeout | undefined;

  const sendLater = (afterMs: number): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      const began = clock();
      sender.sendSome();
      if (sender.hasMore()) sendLater(Math.max(PUBLISH_EVERY_MS, restAfter(clock() - began)));
    }, afterMs);
  };
  const removeListener = settings.onReconnect(() => {
    sender.sendAllAgain();
    if (sender.hasMore()) sendLater(0);
  });
  const close = (): void => {
    clearTimeout(timer);
    removeListener();
  };
  const readAll = async (deadline: number): Promise<LogChunk[]> => {
    const chunks: LogChunk[] = [];
    let number = 0;
    await inSteps(clock, deadline, () => {
      const chunk = buffer.chunk(number);
      if (chunk) chunks.push(chunk);
      number = buffer.nextHeld(number + 1);
      return number < buffer.chunks();
    });
    return chunks;
  };

  return {
    write: (line) => {
      buffer.write(line, now());
      sendLater(PUBLISH_EVERY_MS);
    },
    end: async () => {
      close();
      const deadline = clock() + END_WITHIN_MS;
      await inSteps(clock, deadline, () => sender.sendSome() && sender.hasMore());
      return { chunks: await readAll(deadline), lines: buffer.lines(), bytes: buffer.bytes() };
    },
    clear: () => {
      const slots = Math.min(buffer.chunks(), LOG_HEAD_CHUNKS + LOG_TAIL_CHUNKS);
      for (let slot = 0; slot < slots; slot += 1) settings.clear(slot);
    },
    [Symbol.dispose]: close,
  };
};

interface LogSender {
  readonly hasMore: () => boolean;
  /** False when nothing can be sent now. */
  readonly sendSome: () => boolean;
  readonly sendAllAgain: () => void;
}

const logSender = (buffer: LogBuffer, { publish, clock }: AttemptLogSettings): LogSender => {
  /** The chunk that is sent next. The last one is sent again when it has grown. */
  let next = 0;
  let sentLines = 0;
  const hasMore = (): boolean => sentLines < buffer.lines();
  const sendOne = (): boolean => {
    next = buffer.nextHeld(next);
    const chunk = buffer.chunk(next);
    if (!chunk || !publish(logSlot(next), chunk)) return false;
    sentLines = chunk.first + chunk.lines.length;
    if (next < buffer.chunks() - 1) next += 1;
    return true;
  };
  const sendAllAgain = (): void => {
    next = 0;
    sentLines = 0;
  };
  return {
    hasMore,
    sendAllAgain,
    sendSome: () => {
      const until = clock() + MAX_BUSY_MS;
      for (let sent = 0; sent < MAX_CHUNKS_AT_ONCE && hasMore() && clock() < until; sent += 1) {
        if (sendOne()) continue;
        sendAllAgain();
        return false;
      }
      return true;
    },
  };
};

/** Until a step returns false, with rests after the long ones. */
const inSteps = async (clock: () => number, deadline: number, step: () => boolean): Promise<void> => {
  for (let goesOn = true; goesOn && clock() < deadline;) {
    const began = clock();
    goesOn = step();
    const rest = restAfter(clock() - began);
    if (rest > 0) await sleep(rest);
  }
};

const restAfter = (busyMs: number): number => (busyMs < NO_TIME_MS ? 0 : busyMs * REST_FACTOR);

/** The end of an attempt waits no longer: its log stays at the brokers for some time. */
const STORE_WITHIN_MS = 3_000;

const compress = promisify(gzip);

/** Stores the log of an attempt with its run, at the gateway. Undefined when it cannot be stored. */
export const storeLog = async (
  settings: GatewaySettings,
  assignment: Assignment,
  log: StoredLog,
): Promise<BlobRef | undefined> => {
  if (log.chunks.length === 0) return undefined;
  const { run_id, attempt } = assignment;
  const document = {
    name: 'log',
    type: 'application/gzip',
    content: await compress(JSON.stringify(log)),
  } as const;
  const until = { stop: AbortSignal.timeout(STORE_WITHIN_MS), onRetry: () => undefined };
  const answer = await storeDocument(settings, assignment, document, until);
  if (answer.kind === 'stored') return answer.blob;
  const why = 'why' in answer ? answer.why : 'the gateway did not respond in time';
  settings.log.warn({ run_id, attempt, why }, 'the log of an attempt could not be kept with the run');
  return undefined;
};
