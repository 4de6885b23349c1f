import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { isEnded } from '@runledger/contracts/fold/run';
import {
  ALL_LIFECYCLES,
  ALL_REDELIVERY_REQUESTS,
  type RunKey,
} from '@runledger/contracts/subjects/run-subjects';
import { partitionOf } from '@runledger/contracts/deliveries/partition';
import { isSettled, roundOf } from '@runledger/contracts/fold/webhook';
import type { RunId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { follow } from '@runledger/event-log/follow/follow';
import { readRun } from '@runledger/event-log/read/read-run';
import { untilAborted } from '@runledger/resilience/abort';
import type { Found, NotifierInput } from '../core/state/input.ts';
import type { Partition } from '../core/state/partition.ts';
import { findPending } from '../timers/read-timers.ts';
import { runNotice } from './run-notice.ts';
import { webhookTargetOf } from './webhook-targets.ts';

export interface ReconciliationOptions {
  readonly log: EventLog;
  readonly partitions: () => Iterable<Partition>;
  readonly hasFinal: (run: RunId) => boolean;
  readonly take: (input: NotifierInput) => void;
  /** A notification was found that nothing accounts for: a bug, or a log that lost its end. */
  readonly onForgotten: (run: RunId) => void;
  readonly signal: AbortSignal;
}

/**
 * Checks that nothing was forgotten, without trusting the core: the notification of every run that ended before the
 * low watermark must be settled, in TIMERS, or in memory. Those in TIMERS are checked again.
 */
export const reconcile = async (options: ReconciliationOptions): Promise<void> => {
  const { partitions, signal } = options;
  for (const partition of partitions()) {
    // A copy: the map changes meanwhile.
    for (const { key, sequence } of partition.pendingChecks.values().toArray()) {
      if (signal.aborted) return;
      await check(options, [partition], key, sequence);
    }
  }
  const behind = [...partitions()].filter(({ sweptUpTo, runs }) => sweptUpTo < runs.low());
  const from = Math.min(...behind.map(({ sweptUpTo }) => sweptUpTo));
  const to = Math.min(...behind.map(({ runs }) => runs.low()));
  if (Number.isFinite(from) && from < to) await checkBetween(options, behind, from, to);
};

const checkBetween = async (
  options: ReconciliationOptions,
  behind: readonly Partition[],
  from: number,
  to: number,
): Promise<void> => {
  const { log, take, signal } = options;
  const done = Promise.withResolvers<void>();
  const onBatch = async (messages: readonly StoredMessage[]): Promise<void> => {
    for (const message of messages) {
      const { sequence } = message;
      if (sequence > to || signal.aborted) return done.resolve();
      const notice = runNotice(message);
      if (!notice || notice.type === 'run_changed') continue;
      const unchecked = behind.filter(({ sweptUpTo }) => sequence > sweptUpTo);
      await check(options, unchecked, notice.key, sequence);
    }
  };
  await using following = await follow(log, {
    stream: 'RUNS',
    subjects: [ALL_LIFECYCLES, ALL_REDELIVERY_REQUESTS],
    after: from,
    onBatch,
    onCaughtUp: () => done.resolve(),
  });
  const failure = await untilAborted(Promise.race([done.promise, following.failed]), signal);
  if (failure) throw failure;
  if (signal.aborted) return;
  take({ type: 'checked_up_to', partitions: behind.map(({ number }) => number), sequence: to });
};

interface Unsettled {
  readonly origin: string;
  readonly round: number;
}

const check = async (
  options: ReconciliationOptions,
  partitions: readonly Partition[],
  key: RunKey,
  sequence: number,
): Promise<void> => {
  const unsettled = await findUnsettled(options, key, sequence);
  const partition = unsettled
    ? partitions.find(({ number }) => number === partitionOf(unsettled.origin))
    : partitions.find(({ pendingChecks }) => pendingChecks.has(key.run_id));
  if (!partition) return;
  const found = unsettled ? await whatStandsFor(options, key, sequence, unsettled) : SETTLED;
  options.take({ type: 'run_checked', partition: partition.number, key, sequence, found });
};

const SETTLED: Found = { kind: 'settled' };

/** Undefined for a run whose notification is settled, or that wants none. */
const findUnsettled = async (
  { log }: ReconciliationOptions,
  key: RunKey,
  sequence: number,
): Promise<Unsettled | undefined> => {
  const read = await readRun(log, key, { atLeast: sequence });
  if (read.kind !== 'found' || !read.webhook || !isEnded(read.run)) return undefined;
  const target = webhookTargetOf(read.run.request);
  const { state: webhook } = read.webhook;
  return target && !isSettled(webhook) ? { origin: target.origin, round: roundOf(webhook) } : undefined;
};

const whatStandsFor = async (
  options: ReconciliationOptions,
  key: RunKey,
  sequence: number,
  { origin }: Unsettled,
): Promise<Found> => {
  const { log, hasFinal, onForgotten } = options;
  if (hasFinal(key.run_id)) return { kind: 'in_memory' };
  const pending = await findPending(log, { origin, ...key });
  if (pending) return { kind: 'timer', origin, isDeferred: pending.isDeferred };
  // It may have been settled, or taken from TIMERS into memory, between the two reads.
  const still = await findUnsettled(options, key, sequence);
  if (!still) return SETTLED;
  if (hasFinal(key.run_id)) return { kind: 'in_memory' };
  onForgotten(key.run_id);
  return { kind: 'forgotten', ...still };
};
