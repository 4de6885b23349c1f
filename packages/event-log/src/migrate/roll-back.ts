import type { StreamConfig, StreamInfo } from '@nats-io/jetstream';
import { CREATED, createdOf } from '../read/stream-identity.ts';
import type { EventLog } from '../connect/event-log.ts';
import { closedAs } from '../provision/check-stream.ts';
import { ALL_STREAMS } from '../provision/plan-streams.ts';
import { replicasOf } from '../provision/replicas.ts';
import {
  inspectLogs,
  inspectSource,
  stateOf,
  closeStreams,
  MigrationRefused,
  openStreams,
  readStreams,
  type Streams,
} from './inspect-logs.ts';
import type { Logs } from './prove-copy.ts';

/** How many messages a stream has got at the new brokers. */
export interface Newer {
  readonly stream: string;
  readonly messages: number;
}

interface RollBackOptions {
  /** Undefined when the new brokers cannot be reached any more. */
  readonly target: EventLog | undefined;
  /** Whether what only the new brokers have may be lost. */
  readonly discardNewer: boolean;
}

/** Services that start at the old broker write these again: leases, heartbeats, rates, timers of what is in RUNS, progress, logs. */
const WRITTEN_AGAIN: ReadonlySet<string> = new Set([
  'ACTIVITY',
  'LOGS',
  'DELIVERY_ATTEMPTS',
  'TIMERS',
  'KV_EXECUTORS',
  'KV_LEASES',
  'KV_RATES',
  'OBJ_SNAPSHOTS',
]);

/**
 * Takes the log back to the broker from which it was moved, or was being moved: closes the new brokers, and opens the old one. Returns
 * what is lost by it. It may be killed at any moment and called again.
 * @throws {MigrationRefused} @throws {LogUnavailable}
 */
export const rollBack = async (
  source: EventLog,
  { target, discardNewer }: RollBackOptions,
): Promise<readonly Newer[]> => {
  const streams = await inspectSource(source);
  const state = stateOf(streams);
  if (state === 'confirmed')
    throw new MigrationRefused(
      'The move was confirmed, so there is no way back: the old broker has an old copy. Use the new brokers.',
    );
  if ([...streams.values()].every(({ config }) => closedAs(config) === undefined))
    throw new MigrationRefused('The log was not moved away from the old broker: it is in use there.');
  const newer = state === 'moved' ? await leaveTarget(streams, target, discardNewer) : [];
  // RUNS is the first one: what it says decides.
  await openStreams(source, ALL_STREAMS);
  return newer;
};

const leaveTarget = async (
  source: Streams,
  target: EventLog | undefined,
  discardNewer: boolean,
): Promise<readonly Newer[]> => {
  if (!target) {
    if (discardNewer) return [];
    throw new MigrationRefused(
      'The log was moved to other brokers. Name them with --to, so that they take no more messages and it is known what they have got ' +
        'since. If they are lost, and no service can reach them, add --discard-newer instead: everything since the move is lost.',
    );
  }
  const before = await readStreams(target);
  const copies = [...before.values()].filter((info) => isCopy(info, source)).map(({ config }) => config);
  if (copies.length === 0)
    throw new MigrationRefused('The brokers of --to have no copy of this log. Is the address right?');
  const inUse = copies.filter((config) => closedAs(config) === undefined);
  await closeStreams(target, namesOf(copies), 'copy');
  const newer = newerIn(await readStreams(target), source);
  if (newer.length === 0 || discardNewer) return newer;
  await openStreams(target, namesOf(inUse));
  const counts = newer.map(({ stream, messages }) => `${messages} of ${stream}`);
  throw new MigrationRefused(
    `The new brokers have messages that the old one does not have: ${counts.join(', ')}. They would be lost: runs that were accepted since, ` +
      'their ends, new and revoked keys. Nothing was changed. To lose them, add --discard-newer.',
  );
};

/** RUNS is the last one. */
const namesOf = (configs: readonly StreamConfig[]): readonly string[] =>
  configs.map(({ name }) => name).toReversed();

const isCopy = (info: StreamInfo, source: Streams): boolean => {
  const original = source.get(info.config.name);
  return original !== undefined && info.config.metadata?.[CREATED] === createdOf(original);
};

const newerIn = (target: Streams, source: Streams): readonly Newer[] =>
  [...target.values()].flatMap(({ config: { name: stream }, state }) => {
    const messages = state.last_seq - (source.get(stream)?.state.last_seq ?? 0);
    return messages > 0 && !WRITTEN_AGAIN.has(stream) ? [{ stream, messages }] : [];
  });

/**
 * Ends the possibility to go back. Nothing is deleted.
 * @throws {MigrationRefused} unless the log was moved, and all copies at the target are in use and current @throws {LogUnavailable}
 */
export const confirmMigration = async (logs: Logs): Promise<void> => {
  const { target, state } = await inspectLogs(logs);
  if (state === 'confirmed') return;
  if (state !== 'moved')
    throw new MigrationRefused(
      'There is nothing to confirm: the log is not moved yet. Run "runledger cluster migrate" first.',
    );
  for (const stream of ALL_STREAMS) {
    const info = target.get(stream);
    const problem = info ? problemOf(info) : 'is missing';
    if (problem !== undefined)
      throw new MigrationRefused(
        `Stream ${stream} ${problem} at the new brokers. Nothing was changed: you can still go back.`,
      );
  }
  await closeStreams(logs.source, ALL_STREAMS.toReversed(), 'confirmed');
};

const problemOf = (info: StreamInfo): string | undefined => {
  if (closedAs(info.config) !== undefined)
    return 'is not open: run "runledger cluster migrate" again. It takes no messages';
  const { wanted, current } = replicasOf(info);
  return current < wanted ? `has only ${current} of ${wanted} copies that are current` : undefined;
};
