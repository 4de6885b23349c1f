import { createHash } from 'node:crypto';
import type { StreamConfig } from '@nats-io/jetstream';
import type { EventLog } from '../connect/event-log.ts';
import type { DeliveredMessage } from '../read/stored-message.ts';
import { readToEnd } from '../follow/read-to-end.ts';
import { streamState } from '../read/leader-read.ts';
import {
  compareCopies,
  type ComparedMessage,
  type Comparison,
  type Difference,
  type Side,
} from './compare-copies.decide.ts';

/** The log that is copied, and the one that it is copied to. */
export type Logs = Readonly<Record<Side, EventLog>>;

/** What both logs hold of a stream. */
export interface StreamProof extends Pick<
  Comparison,
  'messages' | 'firstSequence' | 'lastSequence' | 'ended'
> {
  readonly stream: string;
  /** SHA-256 over all messages that both have. */
  readonly digest: Readonly<Record<Side, string>>;
  /** Why the copy is not equal; undefined when it is. */
  readonly problem: string | undefined;
}

const NANOS_PER_MS = 1_000_000;
const READ_WITHIN_MS = 60_000;

/**
 * Reads all messages of a stream from both, and compares them one by one. `last` is the last sequence of the copy.
 * @throws {LogUnavailable}
 */
export const proveCopy = async (logs: Logs, stream: string, last: number): Promise<StreamProof> => {
  const digests = { source: createHash('sha256'), target: createHash('sha256') };
  const messages = comparedMessages(logs.source, stream);
  const compared = await compareCopies(messages, comparedMessages(logs.target, stream), {
    last,
    now: Date.now,
    onBoth: (ofSource, ofTarget) => {
      digests.source.update(ofSource.hash);
      digests.target.update(ofTarget.hash);
    },
  });
  const [source, target] = [await streamState(logs.source, stream), await streamState(logs.target, stream)];
  // Each last sequence that was given, also to a message that is gone.
  const end = { source: source.state.last_seq, target: target.state.last_seq };
  const { differences, first, ...counts } = compared;
  return {
    stream,
    ...counts,
    digest: { source: digests.source.digest('hex'), target: digests.target.digest('hex') },
    problem: first
      ? describeDifferences(differences, first)
      : problemOfEnd(end, last, writesByItself(source.config)),
  };
};

/** Timers fire, and keys that expire leave a marker: the stream gives sequences without any writer. */
const writesByItself = ({ allow_msg_schedules, allow_msg_ttl }: StreamConfig): boolean =>
  allow_msg_schedules === true || allow_msg_ttl === true;

const problemOfEnd = (
  { source, target }: Readonly<Record<Side, number>>,
  last: number,
  mayGoOn: boolean,
): string | undefined => {
  const isEqual = mayGoOn ? Math.min(source, target) >= last : source === last && target === last;
  return isEqual
    ? undefined
    : `the copy was made up to sequence ${last}; the old broker is at ${source}, the new ones are at ${target}`;
};

async function* comparedMessages(log: EventLog, stream: string): AsyncGenerator<ComparedMessage> {
  const info = await streamState(log, stream);
  const options = { stream, subjects: [], withinMs: READ_WITHIN_MS };
  for await (const message of readToEnd(log, options)) yield comparedMessage(message, info.config);
}

const comparedMessage = (message: DeliveredMessage, config: StreamConfig): ComparedMessage => ({
  sequence: message.sequence,
  subject: message.subject,
  hash: hashOf(message),
  endsAtMs: endsAtMs(message, config),
  isByBroker: ['Nats-Marker-Reason', 'Nats-Scheduler'].some((name) => message.headers?.has(name)),
});

const hashOf = (message: DeliveredMessage): string => {
  const { sequence, subject, headers, data, nanos } = message;
  const described = [sequence, nanos, subject, [...(headers ?? [])], data.length];
  return createHash('sha256').update(JSON.stringify(described)).update(data).digest('hex');
};

/** The only kind of timer that we write; the broker removes it when it fires. */
const SCHEDULE = /^@at (.+)$/;

const endsAtMs = ({ headers, nanos }: DeliveredMessage, { max_age }: StreamConfig): number | undefined => {
  // Of a heartbeat, of the marker behind it, or of an emptied slot of a log: all live for a minute at most.
  if (headers?.has('Nats-TTL') === true) return 0;
  const [, fires] = SCHEDULE.exec(headers?.get('Nats-Schedule') ?? '') ?? [];
  if (fires !== undefined) return Date.parse(fires);
  return max_age > 0 ? (Number(nanos) + max_age) / NANOS_PER_MS : undefined;
};

const describeDifferences = (count: number, first: Difference): string =>
  `${describeDifference(first)}${count > 1 ? `, and ${count - 1} more` : ''}`;

const describeDifference = (difference: Difference): string => {
  const message = `message ${difference.sequence} (${difference.subject})`;
  switch (difference.kind) {
    case 'other_content':
      return `${message} has another content`;
    case 'missing':
      return `${message} is missing at the ${NAMES[difference.at]}`;
    case 'written':
      return `${message} was written to the ${NAMES[difference.at]} meanwhile`;
  }
};

const NAMES: Readonly<Record<Side, string>> = { source: 'old broker', target: 'new brokers' };
