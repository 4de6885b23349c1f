import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { partitionOf } from '@runledger/contracts/deliveries/deliveries';
import { parseActivitySubject } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { newerVersionOf } from '@runledger/event-log/follow/newer-version';
import type { NotifierInput } from '../core/state/input.ts';
import { openStreamReader, type ReadState, type Stream } from './stream-reader.ts';
import { runNotice, type RunNotice } from './run-notice.ts';
import type { WebhookTarget, WebhookTargets } from './webhook-targets.ts';

export interface SubscriptionOptions {
  readonly log: EventLog;
  readonly targets: WebhookTargets;
  readonly take: (input: NotifierInput) => void;
  /** Up to where a partition has taken a stream; undefined for one that is not held. */
  readonly takenUpTo: (partition: number, stream: Stream) => number | undefined;
}

/** What happens to the runs whose webhooks belong to the partitions of this process. */
export interface Subscription extends AsyncDisposable {
  add(partition: number): void;
  remove(partition: number): void;
  state(): ReadState;
}

type Batch = readonly StoredMessage[];
type Partitions = ReadonlySet<number>;

export const openSubscription = (options: SubscriptionOptions): Subscription => {
  const { log, take, takenUpTo } = options;
  const stop = new AbortController();
  const open = (
    stream: Stream,
    onBatch: (options: SubscriptionOptions, messages: Batch, partitions: Partitions) => Promise<void>,
  ) =>
    openStreamReader(
      {
        log,
        stream,
        takenUpTo: (partition) => takenUpTo(partition, stream),
        onBatch: async (messages, partitions) => {
          await onBatch(options, messages, partitions);
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
  const readers = [open('runs', takeRuns), open('activity', takeActivity)];
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

const NONE = Promise.resolve(null);

const takeRuns = async (
  { targets, take }: SubscriptionOptions,
  messages: Batch,
  partitions: Partitions,
): Promise<void> => {
  for (const message of messages) {
    const newer = newerVersionOf('RUNS', message);
    if (newer) throw newer;
  }
  const notices = messages.map((message) => ({ message, notice: runNotice(message) }));
  for (const { notice } of notices)
    if (notice?.kind === 'queued') targets.note(notice.key.run_id, notice.target);
  // Those that are not known are looked up side by side.
  const found = await Promise.all(notices.map(({ notice }) => (notice ? targets.find(notice.key) : NONE)));
  for (const [at, { message, notice }] of notices.entries()) {
    const target = found[at];
    const input = notice && target && inputOf(message, notice, target);
    if (input && partitions.has(input.partition)) take(input);
  }
};

/** Undefined for what the run does not want to be sent. */
const inputOf = ({ sequence, time }: StoredMessage, notice: RunNotice, target: WebhookTarget) => {
  const { origin, intermediate } = target;
  const message = { partition: partitionOf(origin), key: notice.key, origin, sequence };
  switch (notice.kind) {
    case 'queued':
    case 'changed':
      return intermediate ? ({ type: 'run_changed', ...message } as const) : undefined;
    case 'ended':
      return { type: 'run_ended', time: Date.parse(time), ...message } as const;
    case 'redelivery':
      return {
        type: 'redelivery_requested',
        time: Date.parse(time),
        round: notice.round,
        ...message,
      } as const;
  }
};

const takeActivity = async (
  { targets, take }: SubscriptionOptions,
  messages: Batch,
  partitions: Partitions,
): Promise<void> => {
  const reports = messages.map(({ subject, sequence }) => ({
    sequence,
    about: parseActivitySubject(subject),
  }));
  const found = await Promise.all(reports.map(({ about }) => (about ? targets.find(about) : NONE)));
  for (const [at, { sequence, about }] of reports.entries()) {
    const target = found[at];
    if (!about || !target?.intermediate) continue;
    const { origin } = target;
    const partition = partitionOf(origin);
    const key = { org_id: about.org_id, run_id: about.run_id };
    if (partitions.has(partition)) take({ type: 'progress_reported', partition, key, origin, sequence });
  }
};
