import { isEnded } from '@runledger/contracts/fold/run';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { partitionOf } from '@runledger/contracts/deliveries/partition';
import type { RunId } from '@runledger/contracts/ids';
import { ALL_LIFECYCLES, ALL_WEBHOOKS } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { follow } from '@runledger/event-log/follow/follow';
import { readRun } from '@runledger/event-log/read/read-run';
import { readWebhookEnd } from '@runledger/event-log/read/read-webhook-end';
import { sleep, untilAborted } from '@runledger/resilience/abort';
import type { Receiver } from '../core/receivers/receiver.ts';
import type { Found, NotifierInput } from '../core/state/input.ts';
import type { Partition } from '../core/state/partition.ts';
import { findPending } from '../timers/read-timers.ts';
import { unsettledIn, type Ended } from './unsettled-runs.ts';
import type { WebhookTarget, WebhookTargets } from './webhook-targets.ts';

export interface ReconciliationOptions {
  readonly log: EventLog;
  readonly targets: WebhookTargets;
  readonly partitions: () => Iterable<Partition>;
  readonly hasFinal: (run: RunId) => boolean;
  /** Whether the core would send a delivery of this receiver from the log now. */
  readonly takesFromLog: (receiver: Receiver) => boolean;
  /** How many deliveries are being given up right now. */
  readonly countExpiring: () => number;
  readonly take: (input: NotifierInput) => void;
  /** A notification was found that nothing accounts for: a bug, or a TIMERS or a log that lost messages. */
  readonly onForgotten: (run: RunId) => void;
  readonly signal: AbortSignal;
}

/** Messages that are checked together. */
const WINDOW = 2_000;
const MAX_AT_ONCE = 32;
const CHECK_AGAIN_MS = 20;

/**
 * One round of the reconciliation. It trusts nothing that the core remembers: from the first run on that was not settled, it checks that
 * the final notification of every run that ended is settled, in memory or in TIMERS. The others are sent from the log.
 */
export const reconcile = async (options: ReconciliationOptions): Promise<void> => {
  const { partitions, take, signal } = options;
  const behind = [...partitions()].filter(
    ({ closing, sweptUpTo, runs }) => !closing && sweptUpTo < runs.low(),
  );
  if (behind.length === 0) return;
  const numbers = behind.map(({ number }) => number);
  const from = Math.min(...behind.map(({ sweptUpTo }) => sweptUpTo));
  const to = Math.max(...behind.map(({ runs }) => runs.low()));
  take({ type: 'round_begun', partitions: numbers });
  await readWindows(options, from, to, (messages) => checkWindow(options, numbers, messages));
  if (!signal.aborted) take({ type: 'round_ended', partitions: numbers });
};

/** @throws what ends the reading */
const readWindows = async (
  { log, signal }: ReconciliationOptions,
  from: number,
  to: number,
  check: (messages: readonly StoredMessage[]) => Promise<void>,
): Promise<void> => {
  const done = Promise.withResolvers<undefined>();
  let window: StoredMessage[] = [];
  let isOver = false;
  await using following = await follow(log, {
    stream: 'RUNS',
    subjects: [ALL_LIFECYCLES, ALL_WEBHOOKS],
    after: from,
    onBatch: async (messages) => {
      if (isOver || signal.aborted) return;
      window.push(...messages.filter(({ sequence }) => sequence <= to));
      isOver = (messages.at(-1)?.sequence ?? 0) >= to;
      if (isOver) return done.resolve(undefined);
      if (window.length < WINDOW) return;
      await check(window);
      window = [];
    },
    onCaughtUp: () => done.resolve(undefined),
  });
  const failure = await untilAborted(Promise.race([done.promise, following.failed]), signal);
  if (failure) throw failure;
  isOver = true;
  if (!signal.aborted) await check(window);
};

/** Takes half of the time: deliveries go first. */
const checkWindow = async (
  options: ReconciliationOptions,
  numbers: readonly number[],
  messages: readonly StoredMessage[],
): Promise<void> => {
  const { targets, take, countExpiring, signal } = options;
  const began = performance.now();
  const ended = unsettledIn(messages, targets);
  for (let at = 0; at < ended.length && !signal.aborted; at += MAX_AT_ONCE) {
    while (countExpiring() >= MAX_AT_ONCE && !signal.aborted) await sleep(CHECK_AGAIN_MS, signal);
    await Promise.all(ended.slice(at, at + MAX_AT_ONCE).map((one) => check(options, numbers, one)));
  }
  const sequence = messages.at(-1)?.sequence;
  if (sequence !== undefined && !signal.aborted)
    take({ type: 'checked_up_to', partitions: numbers, sequence });
  await sleep(performance.now() - began, signal);
};

const check = async (
  options: ReconciliationOptions,
  numbers: readonly number[],
  { key, sequence, time }: Ended,
): Promise<void> => {
  const { log, targets, partitions, take } = options;
  const target = await targets.find(key);
  const number = target ? partitionOf(target.origin) : undefined;
  const partition = [...partitions()].find((one) => one.number === number && numbers.includes(one.number));
  if (!target || !partition?.round || sequence <= partition.sweptUpTo || sequence > partition.round.upTo)
    return;
  const end = await readWebhookEnd(log, key);
  if (end.status === 'settled') return;
  const found = await whereIs(options, partition, { key, sequence, target, round: end.round });
  const { origin, queuedAt } = target;
  if (found)
    take({
      type: 'unsettled_found',
      partition: partition.number,
      key,
      sequence,
      time,
      origin,
      queuedAt,
      found,
    });
};

interface Unsettled {
  readonly key: Ended['key'];
  readonly sequence: number;
  readonly target: WebhookTarget;
  readonly round: number;
}

/** Undefined when there is nothing to send after all. */
const whereIs = async (
  { log, hasFinal, takesFromLog, onForgotten }: ReconciliationOptions,
  { left }: Partition,
  { key, sequence, target: { origin }, round }: Unsettled,
): Promise<Found | undefined> => {
  if (hasFinal(key.run_id)) return { kind: 'in_memory' };
  const pending = await findPending(log, { origin, ...key });
  if (pending) return { kind: 'timer', isDeferred: pending.isDeferred };
  const isKnown = sequence >= left.from;
  if (isKnown && !takesFromLog({ org_id: key.org_id, origin })) return { kind: 'outside', round };
  // It may have been settled, or taken from TIMERS into memory, between the reads. A forged fact ends no run.
  const read = await readRun(log, key, { atLeast: sequence });
  const isForged = read.kind === 'none' || (read.kind === 'found' && !isEnded(read.run));
  if (isForged || (await readWebhookEnd(log, key)).status === 'settled') return undefined;
  if (hasFinal(key.run_id)) return { kind: 'in_memory' };
  if (!isKnown) onForgotten(key.run_id);
  return { kind: 'outside', round };
};
