import type { StreamConfig, StreamInfo } from '@nats-io/jetstream';
import { sleep } from '@runledger/resilience/abort';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { openEphemeralConsumer } from '../follow/ephemeral-consumer.ts';
import { ALL_STREAMS } from '../provision/plan-streams.ts';
import { awayIn } from '../provision/replicas.ts';
import { streamState } from '../read/leader-read.ts';
import { copyConfig, copyStream, removeStream, reserveSpace } from './copy-stream.ts';
import {
  closeStreams,
  inspectLogs,
  MigrationRefused,
  openStreams,
  refuseReaders,
  type Streams,
} from './inspect-logs.ts';
import { proveCopy, type Logs, type StreamProof } from './prove-copy.ts';

export { MigrationRefused } from './inspect-logs.ts';
export type { Logs, StreamProof } from './prove-copy.ts';

export type MigrationStep =
  | 'removing an earlier copy of'
  | 'making room for'
  | 'closing'
  | 'copying'
  | 'waiting for all copies of'
  | 'comparing'
  | 'marking as moved'
  | 'opening';

export interface MigrationOptions {
  /** Stops between two streams, until all are compared. The source stays closed, and the next call begins the copy anew. */
  readonly signal: AbortSignal;
  /** Called before each change. */
  readonly onStep: (step: MigrationStep, stream: string) => void;
}

/** The copy is not equal. The source has everything, and the copy is not in use. */
export class CopyNotEqual extends Error {
  override readonly name = 'CopyNotEqual';
  readonly code = 'copy_not_equal';
  readonly proofs: readonly StreamProof[];

  constructor(proofs: readonly StreamProof[]) {
    const unequal = proofs.flatMap(({ stream, problem }) =>
      problem === undefined ? [] : `${stream}: ${problem}`,
    );
    super(
      `The copy is not equal. ${unequal.join('; ')}. The new brokers are not in use, and the old one has everything. Copy again with ` +
        '"runledger cluster migrate", or take the log back with "runledger cluster migrate --back".',
    );
    this.proofs = proofs;
  }
}

/**
 * Moves the log from one broker to several: closes the source, copies all streams, compares every message, and opens the target. It
 * may be killed at any moment and called again. Only when everything is equal, the source is marked as moved, and from then on nothing
 * at the target is replaced. Returns the proof, which is empty when an earlier call has moved the log.
 * @throws {MigrationRefused} before anything is changed @throws {CopyNotEqual} @throws {LogUnavailable} @throws the signal's reason
 */
export const migrate = async (logs: Logs, options: MigrationOptions): Promise<readonly StreamProof[]> => {
  const { source, target, state } = await inspectLogs(logs);
  if (state === 'moved' || state === 'confirmed') {
    refuseMissing(target);
    await openTarget(logs, options);
    return [];
  }
  await refuseReaders(logs.source);
  const proofs = await copyAll(logs, source, options);
  for (const stream of RUNS_LAST) {
    options.onStep('marking as moved', stream);
    await closeStreams(logs.source, [stream], 'moved');
  }
  await openTarget(logs, options);
  return proofs;
};

/** What RUNS says decides. */
const RUNS_LAST = ALL_STREAMS.toReversed();

const openTarget = async ({ target }: Logs, { onStep }: MigrationOptions): Promise<void> => {
  for (const stream of RUNS_LAST) {
    onStep('opening', stream);
    await openStreams(target, [stream]);
  }
};

const refuseMissing = (target: Streams): void => {
  const missing = ALL_STREAMS.filter((name) => !target.has(name));
  if (missing.length === 0) return;
  throw new MigrationRefused(
    `The log was moved, and the new brokers lack ${missing.join(', ')}. Are these the brokers that it was moved to? If they have lost it, ` +
      'take the log back with "runledger cluster migrate --back --discard-newer": everything since the move is lost.',
  );
};

const copyAll = async (
  logs: Logs,
  source: Streams,
  { signal, onStep }: MigrationOptions,
): Promise<readonly StreamProof[]> => {
  const each = async <Result>(
    step: MigrationStep,
    work: (stream: string, config: StreamConfig) => Promise<Result>,
  ): Promise<Result[]> => {
    const results: Result[] = [];
    for (const { config } of source.values()) {
      signal.throwIfAborted();
      onStep(step, config.name);
      results.push(await work(config.name, config));
    }
    return results;
  };
  await each('removing an earlier copy of', (stream) => removeStream(logs.target, stream));
  await each('making room for', (_stream, config) => reserveSpace(logs.target, copyConfig(config)));
  await each('closing', (stream) => closeStreams(logs.source, [stream], 'moving'));
  const ends = new Map<string, number>();
  const endOf = (stream: string): number => ends.get(stream) ?? 0;
  await each('copying', async (stream) => ends.set(stream, await copyStream(logs, stream)));
  onStep('waiting for all copies of', 'all streams');
  await Promise.all(ALL_STREAMS.map((stream) => awaitCopies(logs.target, stream, signal)));
  const proofs = await each('comparing', (stream) => proveCopy(logs, stream, endOf(stream)));
  if (proofs.some(({ problem }) => problem !== undefined)) throw new CopyNotEqual(proofs);
  return proofs;
};

const POLL_MS = 200;
/** Without any progress. */
const STUCK_AFTER_MS = 120_000;

/**
 * Resolves when every broker has the whole stream. After a restore, nats-server (2.15.1) calls copies current that are empty, and a
 * consumer on such a broker delivers nothing. A consumer is at one broker, chosen at random, and knows how many messages there are. So
 * consumers are made until each broker was seen to have all. @throws {LogUnavailable} @throws the signal's reason
 */
const awaitCopies = async (log: EventLog, stream: string, signal: AbortSignal): Promise<void> => {
  const complete = new Set<string>();
  let most = 0;
  for (let stuckAt = performance.now() + STUCK_AFTER_MS; ;) {
    signal.throwIfAborted();
    const { broker, messages } = await countedAtOne(log, stream);
    const info = await streamState(log, stream);
    if (messages > most) stuckAt = performance.now() + STUCK_AFTER_MS;
    most = Math.max(most, messages);
    if (messages >= info.state.messages && !complete.has(broker)) {
      complete.add(broker);
      stuckAt = performance.now() + STUCK_AFTER_MS;
    }
    const lacking = brokersOf(info).filter((name) => !complete.has(name));
    if (lacking.length === 0 && complete.size >= info.config.num_replicas) return;
    if (performance.now() > stuckAt) throw stuck(log, info, lacking);
    if (messages < info.state.messages) await sleep(POLL_MS, signal);
  }
};

const countedAtOne = async (
  log: EventLog,
  stream: string,
): Promise<{ readonly broker: string; readonly messages: number }> => {
  const begin = { deliver_policy: 'all' } as const;
  const open = await openEphemeralConsumer(log, { stream, subjects: [], begin: () => begin });
  await open.delete();
  return { broker: open.info.cluster?.leader ?? '', messages: open.pending };
};

const brokersOf = ({ cluster }: StreamInfo): readonly string[] => [
  ...(cluster?.leader === undefined ? [] : [cluster.leader]),
  ...(cluster?.replicas ?? []).map(({ name }) => name),
];

const stuck = ({ nc }: EventLog, info: StreamInfo, lacking: readonly string[]): LogUnavailable => {
  const away = awayIn([info], nc.info?.server_name);
  return new LogUnavailable(
    `Stream ${info.config.name} is not complete at ${lacking.join(', ')}, and comes no nearer` +
      `${away.length > 0 ? ` (away: ${away.join(', ')})` : ''}. Check that all new brokers run, and run this again.`,
  );
};
