import type { OpenBreaker, PartitionPosition } from '@runledger/contracts/deliveries/timers';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Following } from '@runledger/event-log/follow/follow';
import { runsIdentity, readLogAge } from '@runledger/event-log/read/stream-identity';
import { lastProgressSequence } from '@runledger/event-log/streams/activity';
import { unlessAborted, untilAborted, sleep } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import type { NotifierInput, StoredOpening } from './core/inputs-and-effects.ts';
import type { PartitionStart } from './core/partition.ts';
import { atLog } from './effects/effect-context.ts';
import { deliveryIn, readOpenings, readPosition, removeTimer, storePosition } from './timers.ts';
import { followDue, type Due } from './follow-timers.ts';
import type { Subscription } from './subscription.ts';

interface HoldingOptions {
  readonly log: EventLog;
  readonly now: () => Date;
  readonly handle: (input: NotifierInput) => void;
  readonly subscription: Subscription;
  /** Nothing more is sent or written for a partition once its signal is aborted. */
  readonly signals: Map<number, AbortSignal>;
  /** Resolves when nothing is under way any more in a partition that is closing. */
  readonly whenIdle: (partition: number) => Promise<void>;
  readonly positionOf: (partition: number) => PartitionPosition | undefined;
  /** Seconds that a timer came after its time. */
  readonly onLate: (seconds: number) => void;
  /** Work in flight may take this long when the partition is handed over. */
  readonly finishWithinMs: number;
}

/** Holds one partition until the signal is aborted, and hands it over then. @throws what the broker does, and the signal's reason */
export const holdPartition = async (
  options: HoldingOptions,
  partition: number,
  over: AbortSignal,
): Promise<void> => {
  const { log, handle, signals, subscription } = options;
  const start = await readStart(log, partition, over);
  const openings = await atLog(options, over)(() => readOpenings(log, partition));
  const sending = new AbortController();
  // Lost rather than handed over: another notifier may be sending the same by now, so this one sends nothing more.
  over.addEventListener('abort', () => void (isRequested(over) || sending.abort(over.reason)), {
    once: true,
  });
  signals.set(partition, sending.signal);
  handle({ type: 'partition_gained', start });
  let due: Following | undefined;
  try {
    for (const opening of openings) handle({ type: 'opening_found', ...openingIn(opening) });
    due = await followTimers(options, partition, over);
    subscription.add(partition);
    const failure = await untilAborted(due.failed, over);
    if (failure) throw failure;
  } finally {
    await handOver(options, partition, due, sending);
  }
};

/** The position where the last holder stopped. */
const readStart = async (log: EventLog, number: number, signal: AbortSignal): Promise<PartitionStart> => {
  const retrying = atLog({ log }, signal);
  const position = await retrying(() => readPosition(log, number));
  const { created, lastSequence } = await retrying(() => runsIdentity(log));
  const isKnown = position?.created === created;
  return {
    number,
    position,
    created,
    lastSequence,
    lastReport: isKnown ? 0 : await retrying(() => lastProgressSequence(log)),
  };
};

const followTimers = async (
  options: HoldingOptions,
  partition: number,
  signal: AbortSignal,
): Promise<Following> => {
  const { log } = options;
  let caughtUp = false;
  const opening = followDue(
    log,
    partition,
    (due) => takeDue(options, due, caughtUp),
    () => {
      caughtUp = true;
    },
  );
  try {
    return await unlessAborted(opening, signal);
  } catch (error) {
    // If it opens after all, it is closed.
    void opening.then((late) => late[Symbol.asyncDispose]()).catch(() => undefined);
    throw error;
  }
};

/** An earlier holder may have handled timers that were due before it caught up. */
const takeDue = async (
  { log, now, handle, onLate }: HoldingOptions,
  due: readonly Due[],
  caughtUp: boolean,
): Promise<void> => {
  for (const one of due) {
    switch (one.kind) {
      case 'delivery':
        onLate(Math.max(now().getTime() - Date.parse(one.delivery.due_at), 0) / 1_000);
        handle({ type: 'delivery_due', delivery: deliveryIn(one, 'due', !caughtUp) });
        break;
      case 'breaker': {
        const { breaker, sequence } = one;
        handle({ type: 'opening_due', sequence, restore: !caughtUp, ...openingIn(breaker) });
        break;
      }
      case 'unreadable': {
        const { subject, sequence } = one;
        log.logger.warn({ subject, sequence }, 'a timer cannot be read; it is removed');
        await removeTimer(log, sequence);
      }
    }
  }
};

const openingIn = ({ origin, org_id, opens, until }: OpenBreaker): StoredOpening => ({
  origin,
  org_id,
  opens,
  until: Date.parse(until),
});

/** Waits a while for work in flight, and stores the position of the partition. */
const handOver = async (
  { log, handle, subscription, signals, whenIdle, positionOf, finishWithinMs }: HoldingOptions,
  partition: number,
  due: Following | undefined,
  sending: AbortController,
): Promise<void> => {
  subscription.remove(partition);
  const idle = whenIdle(partition);
  handle({ type: 'partition_closing', partition });
  const stopped = due?.[Symbol.asyncDispose]();
  await within(log.connected() ? finishWithinMs : 0, idle, () => undefined);
  sending.abort(new Error('the partition is handed over'));
  await Promise.all([idle, stopped]);
  const position = positionOf(partition);
  handle({ type: 'partition_lost', partition });
  signals.delete(partition);
  if (!position) return;
  await storePosition(log, partition, position).catch((error: unknown) =>
    log.logger.debug({ err: error, partition }, 'a position could not be stored'),
  );
};

/** An abort without a reason is a requested one. */
const isRequested = ({ reason }: AbortSignal): boolean =>
  reason instanceof DOMException && reason.name === 'AbortError';

const READ_EVERY_MS = 5_000;

interface LogAgeWatch {
  /** Resolves when the age was read for the first time, or at the signal. */
  readonly known: Promise<void>;
  /** Resolves after the signal. */
  readonly watching: Promise<void>;
}

/** Reads the age of RUNS every five seconds: an operator may change it at any time. */
export const watchLogAge = (
  log: EventLog,
  handle: (input: NotifierInput) => void,
  signal: AbortSignal,
): LogAgeWatch => {
  const known = Promise.withResolvers<void>();
  const watch = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        const { maxAgeMs } = await atLog({ log }, signal)(() => readLogAge(log));
        handle({ type: 'log_age_read', logAgeMs: maxAgeMs });
        known.resolve();
      } catch (error) {
        if (!signal.aborted)
          log.logger.warn({ err: error }, 'the age of the log cannot be read; trying again');
      }
      await sleep(READ_EVERY_MS, signal);
    }
    known.resolve();
  };
  return { known: known.promise, watching: watch() };
};
