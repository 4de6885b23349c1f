import { setTimeout as pause } from 'node:timers/promises';
import { JetStreamApiCodes, JetStreamApiError, jetstreamManager } from '@nats-io/jetstream';
import type { JetStreamManager, StreamConfig, StreamInfo } from '@nats-io/jetstream';
import { callBroker } from '../connect/broker-call.ts';
import { checkRequired, differences } from './check-stream.ts';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { DEFAULT_LOG_SETTINGS, logSettings, type LogSettings } from './log-settings.ts';
import { streamDefinitions, type StreamDefinition } from './stream-definitions.ts';

export { ForbiddenConfiguration } from './check-stream.ts';
export type { LogSettings } from './log-settings.ts';

const NAME_IN_USE = 10058;
const NO_ROOM: ReadonlySet<number> = new Set([10023, 10028, 10047]);
/** Creating a stream writes and flushes files. */
const RESPONSE_WITHIN_MS = 10_000;
const PROVISION_WITHIN_MS = 60_000;
const POLL_MS = 500;

/**
 * Creates every stream, bucket and object store, or updates its limits to the settings, and reads the result back. It is
 * idempotent, and several processes may run it at once.
 * @throws {ForbiddenConfiguration} when the guarantees do not hold with an existing stream
 * @throws {LogUnavailable}
 */
export const provision = async (log: EventLog, settings: Partial<LogSettings> = {}): Promise<void> => {
  const definitions = streamDefinitions(logSettings(settings));
  const manager = await jetstreamManager(log.nc, { timeout: RESPONSE_WITHIN_MS, checkAPI: false });
  for (const definition of definitions) {
    const what = `provisioning stream ${definition.name}`;
    await callBroker(what, () => provisionStream(log, manager, definition), PROVISION_WITHIN_MS);
  }
};

const provisionStream = async (
  log: EventLog,
  manager: JetStreamManager,
  definition: StreamDefinition,
): Promise<void> => {
  const found =
    (await findStream(manager, definition.name)) ?? (await createStream(log, manager, definition));
  checkRequired(definition, found.config);
  const changes = differences(found.config, definition.limits);
  if (Object.keys(changes).length === 0) return;
  log.logger.info({ stream: definition.name, changes }, 'the limits of a stream are updated');
  await explainMissingRoom(definition, () => manager.streams.update(definition.name, changes));
  const after = await findStream(manager, definition.name);
  if (after) checkRequired(definition, after.config);
};

const findStream = async (manager: JetStreamManager, name: string): Promise<StreamInfo | undefined> => {
  try {
    return await manager.streams.info(name);
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound)
      return undefined;
    throw error;
  }
};

const createStream = async (
  log: EventLog,
  manager: JetStreamManager,
  definition: StreamDefinition,
): Promise<StreamInfo> => {
  const { name, required, limits } = definition;
  try {
    await explainMissingRoom(definition, () => manager.streams.add({ name, ...required, ...limits }));
    log.logger.info({ stream: name }, 'a stream is created');
  } catch (error) {
    // Another process created it first, with other limits.
    if (!(error instanceof JetStreamApiError && error.code === NAME_IN_USE)) throw error;
  }
  return manager.streams.info(name);
};

const explainMissingRoom = async (
  { name, limits }: StreamDefinition,
  change: () => Promise<StreamInfo>,
): Promise<void> => {
  try {
    await change();
  } catch (error) {
    if (!(error instanceof JetStreamApiError && NO_ROOM.has(error.code))) throw error;
    throw new LogUnavailable(
      `The broker has no room for stream ${name} of ${limits.max_bytes ?? 'unlimited'} bytes (${error.message}). ` +
        'Free disk space, raise max_file_store of nats-server, or lower the limits in the log settings.',
      { cause: error },
    );
  }
};

/** Every stream, bucket and object store, by the name of its stream. */
export const ALL_STREAMS: readonly string[] = streamDefinitions(DEFAULT_LOG_SETTINGS).map(({ name }) => name);

/**
 * For services: waits until the streams exist, without a limit of time, and checks that they are configured as this release
 * needs them.
 * @throws {ForbiddenConfiguration} @throws the signal's reason
 */
export const awaitProvisioned = async (
  log: EventLog,
  signal?: AbortSignal,
  streams: readonly string[] = ALL_STREAMS,
): Promise<void> => {
  for (const name of streams) {
    for (let logged = false; ; logged = true) {
      signal?.throwIfAborted();
      const found = await findStreamIfAvailable(log, name);
      if (found) {
        checkRequired(definitionFor(name, found.config), found.config);
        break;
      }
      if (!logged) {
        log.logger.warn({ stream: name }, 'a stream does not exist yet; runledger provision creates it');
      }
      await pause(POLL_MS, undefined, signal ? { signal } : {});
    }
  }
};

/** A service does not know the operator's settings, so it takes the relevant ones from the existing stream. */
const definitionFor = (name: string, found: StreamConfig): StreamDefinition => {
  const settings = { ...DEFAULT_LOG_SETTINGS, replicas: found.num_replicas };
  const definition = streamDefinitions(settings).find((definition) => definition.name === name);
  if (!definition) throw new Error(`There is no definition of stream ${name}.`);
  const { max_consumers: _setting, ...required } = definition.required;
  return { ...definition, required };
};

const findStreamIfAvailable = async (log: EventLog, name: string): Promise<StreamInfo | undefined> => {
  try {
    return await callBroker(`looking for stream ${name}`, () => findStream(log.jsm, name));
  } catch (error) {
    if (error instanceof LogUnavailable && !log.nc.isClosed()) return undefined;
    throw error;
  }
};
