import type { StreamConfig, StreamInfo } from '@nats-io/jetstream';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { checkRequired, closedAs, closedConfig, openConfig, type Closed } from '../provision/check-stream.ts';
import { ALL_STREAMS, definitionFor } from '../provision/plan-streams.ts';
import { CHANGE_WITHIN_MS, findStream, streamManager } from '../provision/stream-manager.ts';
import { CREATED, createdOf } from '../read/stream-identity.ts';
import type { Logs } from './prove-copy.ts';

interface Inspected {
  readonly source: Streams;
  readonly target: Streams;
  /** What RUNS of the source says decides. Undefined: the source is in use. */
  readonly state: Closed | undefined;
}

/** Reads both logs, and refuses those that cannot be source and target. @throws {MigrationRefused} @throws {LogUnavailable} */
export const inspectLogs = async (logs: Logs): Promise<Inspected> => {
  const source = await inspectSource(logs.source);
  const target = await readStreams(logs.target);
  refuseSingle(logs.target);
  const state = stateOf(source);
  for (const [name, info] of target) refuseForeign(info, source.get(name), state);
  return { source, target, state };
};

/** @throws {MigrationRefused} @throws {LogUnavailable} */
export const inspectSource = async (log: EventLog): Promise<Streams> => {
  if (isClustered(log))
    throw new MigrationRefused(
      'The old broker is one of several already. To give the log three copies there, run "runledger provision" with ' +
        `RUNLEDGER_LOG_SETTINGS='{"replicas": 3}'.`,
    );
  const streams = await readStreams(log);
  const missing = ALL_STREAMS.filter((name) => !streams.has(name));
  if (missing.length > 0)
    throw new MigrationRefused(
      `The old broker lacks ${missing.join(', ')}. Is this the broker with the log (RUNLEDGER_NATS_URL)? If so, run "runledger ` +
        'provision" there first.',
    );
  for (const { config } of streams.values())
    checkRequired(definitionFor(config.name, config), { ...config, subjects: [...subjectsOf(config)] });
  if (stateOf(streams) === 'copy')
    throw new MigrationRefused('The old broker holds a copy itself. Name the broker that it was made of.');
  return streams;
};

export const stateOf = (source: Streams): Closed | undefined => {
  const runs = source.get('RUNS');
  return runs && closedAs(runs.config);
};

const isClustered = ({ nc }: EventLog): boolean => nc.info?.cluster !== undefined;

const refuseSingle = (log: EventLog): void => {
  if (isClustered(log)) return;
  throw new MigrationRefused(
    'The new broker (--to) is a single one. Make the configurations of three with "runledger broker-config --nodes 3", start them ' +
      'with empty data folders, and name all of them.',
  );
};

/** Only a copy of this very stream may be replaced. */
const refuseForeign = (
  found: StreamInfo,
  source: StreamInfo | undefined,
  state: Closed | undefined,
): void => {
  const { name } = found.config;
  const isSame = source !== undefined && found.config.metadata?.[CREATED] === createdOf(source);
  const isOpen = closedAs(found.config) === undefined;
  const isInUse = state === 'moved' || state === 'confirmed';
  if (isSame && (!isOpen || isInUse)) return;
  throw new MigrationRefused(
    `The new brokers have a stream ${name} already, and it is not an unfinished copy of this log. Nothing was changed. If nothing ` +
      'there is needed, stop the new brokers, delete their data folders, and start them again. Do not run "runledger provision" on them: the ' +
      'streams are copied.',
  );
};

/** A service always waits for the next message of some stream. @throws {MigrationRefused} @throws {LogUnavailable} */
export const refuseReaders = async (log: EventLog): Promise<void> => {
  const readers: string[] = [];
  for (const stream of ALL_STREAMS) {
    const listed = await callBroker(`listing the readers of ${stream}`, async () => {
      const infos = [];
      for await (const info of log.jsm.consumers.list(stream)) infos.push(info);
      return infos;
    });
    const waiting = listed.filter(({ num_waiting }) => num_waiting > 0);
    if (waiting.length > 0) readers.push(`${waiting.length} of ${stream}`);
  }
  if (readers.length === 0) return;
  throw new MigrationRefused(
    `Services are reading from the old broker: ${readers.join(', ')}. Nothing was changed. Stop all gateways, schedulers, notifiers ` +
      'and executors first, and run this again.',
  );
};

/** By their names, in the order of `ALL_STREAMS`. */
export type Streams = ReadonlyMap<string, StreamInfo>;

/** What was asked for cannot be done now. Nothing was changed, or what was changed is said. */
export class MigrationRefused extends Error {
  override readonly name = 'MigrationRefused';
  readonly code = 'migration_refused';
}

/** Those that exist. @throws {LogUnavailable} */
export const readStreams = async (log: EventLog): Promise<Streams> => {
  const found = new Map<string, StreamInfo>();
  for (const name of ALL_STREAMS) {
    const info = await callBroker(`looking for stream ${name}`, () => findStream(log.jsm, name));
    if (info) found.set(name, info);
  }
  return found;
};

/** From then on the broker refuses every message. @throws {LogUnavailable} */
export const closeStreams = (log: EventLog, names: readonly string[], why: Closed): Promise<void> =>
  changeStreams(log, names, (config) => (closedAs(config) === why ? undefined : closedConfig(config, why)));

/** @throws {LogUnavailable} */
export const openStreams = (log: EventLog, names: readonly string[]): Promise<void> =>
  changeStreams(log, names, (config) =>
    closedAs(config) === undefined ? undefined : openConfig(config, subjectsOf(config)),
  );

/** Of the stream in use. */
const subjectsOf = (config: StreamConfig): readonly string[] =>
  definitionFor(config.name, config).required.subjects ?? [];

const changeStreams = async (
  log: EventLog,
  names: readonly string[],
  changeOf: (config: StreamConfig) => Partial<StreamConfig> | undefined,
): Promise<void> => {
  const manager = await streamManager(log);
  for (const name of names) {
    await callBroker(
      `changing stream ${name}`,
      async () => {
        const { config } = await manager.streams.info(name);
        const change = changeOf(config);
        if (change) await manager.streams.update(name, change);
      },
      CHANGE_WITHIN_MS,
    );
  }
};
