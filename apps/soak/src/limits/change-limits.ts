import { setTimeout as pause } from 'node:timers/promises';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { NEW_RUN_BYTES, newRunsLimit, reservedBytes } from '@runledger/contracts/room/reservation';
import { countRuns, NO_RUNS } from '@runledger/contracts/room/run-counts';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Clock } from '../cluster/clock.ts';
import type { LimitChange } from './limit-changes.ts';
import type { PlannedChange } from './limit-schedule.ts';

type Streams = EventLog['jsm']['streams'];
type StreamState = Awaited<ReturnType<Streams['info']>>;
type StreamLimits = Parameters<Streams['update']>[1];

export interface ChangeLimitsOptions {
  /** An operator's connection. */
  readonly log: EventLog;
  /** Reads every message that RUNS holds. */
  readonly readRuns: () => Promise<readonly StoredMessage[]>;
  readonly now: Clock;
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
  { log, readRuns, now, shortLogAgeMs, made }: ChangeLimitsOptions,
): Promise<void> => {
  const read = () => untilDone(() => log.jsm.streams.info(store));
  const update = (limits: StreamLimits) => untilDone(() => log.jsm.streams.update(store, limits));
  const before = await read();
  const limits =
    kind === 'forgetful' ? shortAge(shortLogAgeMs) : { max_bytes: await bytesOf(readRuns, before, kind) };
  const change: LimitChange = { store, kind, from: now(), to: undefined, lost: 0, hadEffect: false };
  const index = made.push(change) - 1;
  await update(limits);
  const wasFull = kind !== 'forgetful' && (await isFull(kind, await read(), readRuns));
  await (kind === 'forgetful' ? untilForgotten(read, before, shortLogAgeMs) : pause(forMs));
  const { max_bytes, max_age, duplicate_window } = before.config;
  await update({ max_bytes, max_age, duplicate_window });
  const after = await read();
  const lost = kind === 'forgetful' ? after.state.first_seq - before.state.first_seq : 0;
  made[index] = { ...change, to: now(), lost, hadEffect: wasFull || lost > 0 };
};

/** Less than any message needs. */
const NO_ROOM_BYTES = 64;

/** A log that is nearly full has no room for a new run. */
const isFull = async (
  kind: 'full' | 'nearly_full',
  { config, state }: StreamState,
  readRuns: ChangeLimitsOptions['readRuns'],
): Promise<boolean> => {
  if (kind === 'full') return state.bytes > config.max_bytes - NO_ROOM_BYTES;
  return state.bytes + (await reservedIn(readRuns)) + NEW_RUN_BYTES > newRunsLimit(config.max_bytes);
};

const reservedIn = async (readRuns: ChangeLimitsOptions['readRuns']): Promise<number> =>
  reservedBytes((await untilDone(readRuns)).reduce(countRuns, NO_RUNS));

/** The broker does not allow to recognise a repeated message for longer than it is kept. */
const shortAge = (ms: number): StreamLimits => ({
  max_age: ms * NANOS_PER_MS,
  duplicate_window: ms * NANOS_PER_MS,
});

const NANOS_PER_MS = 1_000_000;

/** Between the parts of the log that new runs (3/4) and attempts (7/8) may use. */
const NEARLY_FULL_PART = 0.8;

/** What the store holds. For a log that is nearly full: so much that accepted runs fit, and a new one does not. */
const bytesOf = async (
  readRuns: ChangeLimitsOptions['readRuns'],
  { state }: StreamState,
  kind: 'full' | 'nearly_full',
): Promise<number> => {
  if (kind === 'full') return Math.max(state.bytes, 1);
  return Math.ceil((state.bytes + (await reservedIn(readRuns))) / NEARLY_FULL_PART);
};

/** After a change of the age, the broker looks for old messages when that time has passed, or at a restart. */
const untilForgotten = async (
  read: () => Promise<StreamState>,
  before: StreamState,
  shortLogAgeMs: number,
): Promise<void> => {
  const deadline = performance.now() + shortLogAgeMs * 1.5;
  while ((await read()).state.first_seq === before.state.first_seq && performance.now() < deadline)
    await pause(RETRY_AFTER_MS);
};

const RETRY_AFTER_MS = 500;

/** Faults hit the broker meanwhile. */
const untilDone = async <Result>(request: () => Promise<Result>): Promise<Result> => {
  for (;;) {
    try {
      return await request();
    } catch {
      await pause(RETRY_AFTER_MS);
    }
  }
};
