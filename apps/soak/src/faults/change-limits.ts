import { setTimeout as pause } from 'node:timers/promises';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import {
  NEW_RUN_BYTES,
  newRunsLimit,
  reservedBytes,
  countRuns,
  NO_RUNS,
} from '@runledger/contracts/fold/log-capacity';
import { retry } from '@runledger/resilience/retry';
import { now } from '../cluster/clock.ts';
import type { LimitChange, PlannedChange, Store } from './limit-changes.ts';

interface ChangeLimitsOptions extends Pick<KeepFullOptions, 'readRuns'> {
  /** An operator's connection. */
  readonly log: EventLog;
  /** How long a log that forgets keeps its messages. */
  readonly shortLogAgeMs: number;
  /** Gets each change when it begins, and again when it is undone. */
  readonly made: LimitChange[];
}

/** Makes each change at its time, starting now, and undoes it. Resolves when all limits are as before. */
export const changeLimits = async (
  planned: readonly PlannedChange[],
  options: ChangeLimitsOptions,
): Promise<void> => {
  const begunAt = performance.now();
  for (const change of planned) {
    await pause(Math.max(0, begunAt + change.at - performance.now()));
    await changeForAWhile(change, options);
  }
};

const changeForAWhile = async (
  { store, kind, forMs }: PlannedChange,
  { log, readRuns, shortLogAgeMs, made }: ChangeLimitsOptions,
): Promise<void> => {
  const stream = limitedStream(log, store);
  const before = await stream.read();
  const change: LimitChange = { store, kind, from: now(), to: undefined, lost: 0, hadEffect: false };
  const index = made.push(change) - 1;
  const wasFull = kind !== 'forgetful' && (await keepFull(stream, { kind, forMs, readRuns }));
  if (kind === 'forgetful') await forget(stream, before, shortLogAgeMs);
  const { max_bytes, max_age, duplicate_window } = before.config;
  await stream.update({ max_bytes, max_age, duplicate_window });
  const after = await stream.read();
  const lost = kind === 'forgetful' ? after.state.first_seq - before.state.first_seq : 0;
  made[index] = { ...change, to: now(), lost, hadEffect: wasFull || lost > 0 };
};

const LOOK_EVERY_MS = 500;

/** After a change of the age, the broker looks for old messages when that time has passed, or at a restart. */
const forget = async (
  { read, update }: LimitedStream,
  before: StreamState,
  shortLogAgeMs: number,
): Promise<void> => {
  await update(shortAge(shortLogAgeMs));
  const deadline = performance.now() + shortLogAgeMs * 1.5;
  while ((await read()).state.first_seq === before.state.first_seq && performance.now() < deadline)
    await pause(LOOK_EVERY_MS);
};

/** The broker does not allow to recognise a repeated message for longer than it is kept. */
const shortAge = (ms: number): StreamLimits => ({
  max_age: ms * NANOS_PER_MS,
  duplicate_window: ms * NANOS_PER_MS,
});

const NANOS_PER_MS = 1_000_000;

interface KeepFullOptions {
  readonly kind: 'full' | 'nearly_full';
  readonly forMs: number;
  /** Reads every message that RUNS holds. */
  readonly readRuns: () => Promise<readonly StoredMessage[]>;
}

/** Faults keep the brokers from an answer, and what a store holds changes meanwhile. */
const PATIENCE_MS = 30_000;

/**
 * Leaves a store no room. Deliveries settle, files are deleted and runs end in the meantime, so the limit follows what the store
 * holds. Resolves when the time is over and it was full once, or with false when it did not become so for long.
 */
const keepFull = async (
  stream: LimitedStream,
  { kind, forMs, readRuns }: KeepFullOptions,
): Promise<boolean> => {
  const reserved = async (): Promise<number> =>
    kind === 'full' ? 0 : reservedBytes((await untilDone(readRuns)).reduce(countRuns, NO_RUNS));
  const isOver = (since: number): boolean => performance.now() >= since + forMs + (wasFull ? 0 : PATIENCE_MS);
  let wasFull = false;
  // The time begins when a broker answers.
  for (let since: number | undefined; since === undefined || !isOver(since);) {
    const [state, reservedNow] = [await stream.read(), await reserved()];
    since ??= performance.now();
    const limited = isFull(kind, state, reservedNow)
      ? state
      : await stream.update({ max_bytes: limitFor(kind, state, reservedNow) });
    wasFull ||= isFull(kind, limited, reservedNow);
    await pause(LOOK_EVERY_MS);
  }
  return wasFull;
};

/** Less than any message needs. */
const NO_ROOM_BYTES = 64;

/** A log that is nearly full has no room for a new run. */
const isFull = (kind: KeepFullOptions['kind'], { config, state }: StreamState, reserved: number): boolean => {
  if (config.max_bytes <= 0) return false;
  if (kind === 'full') return state.bytes > config.max_bytes - NO_ROOM_BYTES;
  return state.bytes + reserved + NEW_RUN_BYTES > newRunsLimit(config.max_bytes);
};

/** Between the parts of the log that new runs (3/4) and attempts (7/8) may use. */
const NEARLY_FULL_PART = 0.8;

/** What the store holds. For a log that is nearly full: so much that accepted runs fit, and a new one does not. */
const limitFor = (kind: KeepFullOptions['kind'], { state }: StreamState, reserved: number): number =>
  kind === 'full' ? Math.max(state.bytes, 1) : Math.ceil((state.bytes + reserved) / NEARLY_FULL_PART);

type Streams = EventLog['jsm']['streams'];
type StreamState = Pick<Awaited<ReturnType<Streams['info']>>, 'config' | 'state'>;
type StreamLimits = Parameters<Streams['update']>[1];

/** A store as its operator sees it. Both requests are repeated until a broker answers. */
interface LimitedStream {
  readonly read: () => Promise<StreamState>;
  /** Resolves with what the store holds at that moment. */
  readonly update: (limits: StreamLimits) => Promise<StreamState>;
}

const limitedStream = ({ jsm }: EventLog, store: Store): LimitedStream => ({
  read: () => untilDone(() => jsm.streams.info(store)),
  update: (limits) => untilDone(() => jsm.streams.update(store, limits)),
});

const RETRY_AFTER_MS = 500;

/** Faults hit the broker meanwhile. */
const untilDone = <Result>(request: () => Promise<Result>): Promise<Result> =>
  retry({ isUnavailable: () => true, firstMs: RETRY_AFTER_MS, longestMs: RETRY_AFTER_MS }, request);
