import { once, type EventEmitter } from 'node:events';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { silentLogger } from '../connect/logger.ts';
import type { Readiness } from '../connect/readiness.ts';
import { PositionBeyondEnd } from '../follow/follow.ts';
import { batchTaker } from '../follow/take-batches.ts';
import type { FollowOptions, Following } from '../messages/following.ts';
import { matchesAny } from '@runledger/contracts/subjects/matches-filter';

const MAX_BATCH = 256;

/** Follows the messages, where the one of sequence n is at n - 1. `changes` emits `stored` for each new one. */
export const followMemory = async (
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
  const { take, state, position } = batchTaker(options, silentLogger, stop.signal);

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
