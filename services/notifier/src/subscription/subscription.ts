import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { partitionOf } from '@runledger/contracts/deliveries/partition';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { newerVersionOf } from '@runledger/event-log/follow/newer-version';
import { newerVersionOfExecutor } from '@runledger/event-log/read/newer-of-executor';
import type { NotifierInput } from '../core/state/input.ts';
import { openStreamReader, SOURCES, type ReadState, type Stream } from './stream-reader.ts';
import { progressNotice, runNotice, type RunNotice } from './run-notice.ts';
import type { WebhookTargets } from './webhook-targets.ts';

export interface SubscriptionOptions {
  readonly log: EventLog;
  readonly targets: WebhookTargets;
  readonly take: (input: NotifierInput) => void;
  /** Up to where a partition has taken a stream; undefined for one that is not held. */
  readonly takenUpTo: (partition: number, stream: Stream) => number | undefined;
}

/** Reads what happens to the runs whose webhooks belong to the partitions of this process. */
export interface Subscription extends AsyncDisposable {
  add(partition: number): void;
  remove(partition: number): void;
  state(): ReadState;
}

type Batch = readonly StoredMessage[];

export const openSubscription = (options: SubscriptionOptions): Subscription => {
  const { log, take, takenUpTo } = options;
  const stop = new AbortController();
  const open = (stream: Stream, noticesOf: (messages: Batch) => Noticed[]) =>
    openStreamReader(
      {
        log,
        stream,
        takenUpTo: (partition) => takenUpTo(partition, stream),
        onBatch: async (messages, partitions) => {
          await takeAll(options, stream, noticesOf(messages), partitions);
          const sequence = messages.at(-1)?.sequence;
          if (sequence !== undefined) take({ type: 'read_up_to', stream, sequence, partitions });
        },
        onShortened: (lastSequence) => {
          log.logger.error({ stream, lastSequence }, 'the log is shorter than it was; it is read again');
          take({ type: 'log_shortened', stream, lastSequence });
        },
      },
      stop.signal,
    );
  const readers = [open('runs', runNotices), open('activity', progressNotices)];
  return {
    add: (partition) => readers.forEach((reader) => reader.add(partition)),
    remove: (partition) => readers.forEach((reader) => reader.remove(partition)),
    state: () => readers.map((reader) => reader.state()).find(({ ok }) => !ok) ?? { ok: true },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await Promise.all(readers.map(({ over }) => over));
    },
  };
};

/** Progress has a sequence of another stream. */
const handedOfRuns = ({ type }: RunNotice, { sequence }: StoredMessage): number =>
  type === 'progress_reported' ? 0 : sequence;

interface Noticed {
  readonly message: StoredMessage;
  readonly notice: RunNotice | undefined;
}

const runNotices = (messages: Batch): Noticed[] =>
  messages.map((message) => ({ message, notice: runNotice(message) }));

const progressNotices = (messages: Batch): Noticed[] =>
  messages.map((message) => ({ message, notice: progressNotice(message) }));

/** @throws {NewerVersion} for a fact that only a later release can read, of a run with a webhook */
const takeAll = async (
  { log, targets, take }: SubscriptionOptions,
  stream: Stream,
  noticed: readonly Noticed[],
  partitions: ReadonlySet<number>,
): Promise<void> => {
  for (const { notice } of noticed)
    if (notice && 'target' in notice && notice.target !== undefined)
      targets.note(notice.key.run_id, notice.target);
  // Unknown targets are looked up concurrently.
  const found = await Promise.all(
    noticed.map(async ({ message, notice }) =>
      notice ? targets.find(notice.key, handedOfRuns(notice, message)) : null,
    ),
  );
  const concerning = noticed.flatMap(({ message, notice }, at) => {
    const target = found[at];
    return notice && target ? { message, notice, target } : [];
  });
  // Most runs have no webhook, and nothing of theirs is decoded.
  for (const { message } of concerning) {
    const newer = newerVersionOf(SOURCES[stream].stream, message);
    if (newer) throw newer;
  }
  if (stream === 'runs') {
    const ofExecutors = await Promise.all(
      concerning.map(({ message }) => newerVersionOfExecutor(log, message)),
    );
    for (const newer of ofExecutors) if (newer) throw newer;
  }
  for (const { message, notice, target } of concerning) {
    const { origin, intermediate, oldestFactAt } = target;
    const partition = partitionOf(origin);
    const isIntermediate = notice.type === 'run_changed' || notice.type === 'progress_reported';
    if ((isIntermediate && !intermediate) || !partitions.has(partition)) continue;
    const { sequence } = message;
    const about = { partition, origin, sequence, time: Date.parse(message.time), oldestFactAt };
    take({ ...notice, ...about });
  }
};
