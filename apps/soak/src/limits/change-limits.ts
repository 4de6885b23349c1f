import { setTimeout as pause } from 'node:timers/promises';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Clock } from '../cluster/clock.ts';
import { keepFull, type KeepFullOptions } from './keep-full.ts';
import type { LimitChange } from './limit-changes.ts';
import type { PlannedChange } from './limit-schedule.ts';
import { limitedStream, type LimitedStream, type StreamLimits, type StreamState } from './limited-stream.ts';

export interface ChangeLimitsOptions extends Pick<KeepFullOptions, 'readRuns'> {
  /** An operator's connection. */
  readonly log: EventLog;
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
