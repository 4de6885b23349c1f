import type { StreamConfig, StreamInfo } from '@nats-io/jetstream';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { closedAs, closedConfig, openConfig, type Closed } from '../provision/closed-stream.ts';
import { ALL_STREAMS, definitionFor } from '../provision/plan-streams.ts';
import { CHANGE_WITHIN_MS, findStream, streamManager } from '../provision/stream-manager.ts';

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
export const subjectsOf = (config: StreamConfig): readonly string[] =>
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
