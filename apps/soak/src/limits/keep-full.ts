import { setTimeout as pause } from 'node:timers/promises';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { NEW_RUN_BYTES, newRunsLimit, reservedBytes } from '@runledger/contracts/room/reservation';
import { countRuns, NO_RUNS } from '@runledger/contracts/room/run-counts';
import { untilDone, type LimitedStream, type StreamState } from './limited-stream.ts';

export interface KeepFullOptions {
  readonly kind: 'full' | 'nearly_full';
  readonly forMs: number;
  /** Reads every message that RUNS holds. */
  readonly readRuns: () => Promise<readonly StoredMessage[]>;
}

const LOOK_EVERY_MS = 500;
/** Faults keep the brokers from an answer, and what a store holds changes meanwhile. */
const PATIENCE_MS = 30_000;

/**
 * Leaves a store no room. Deliveries settle, files are deleted and runs end in the meantime, so the limit follows what the store
 * holds. Resolves when the time is over and it was full once, or with false when it did not become so for long.
 */
export const keepFull = async (
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
