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
/** Making a stream writes and flushes files. */
const ANSWER_WITHIN_MS = 10_000;
const PROVISION_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 500;

/**
 * Makes every stream, bucket and object store, or brings its limits to the settings, and reads the result back.
 * May be run again and by several at once.
 * @throws {ForbiddenConfiguration} when something stands there that the guarantees do not hold with
 * @throws {LogUnavailable}
 */
export const provision = async (log: EventLog, settings: Partial<LogSettings> = {}): Promise<void> => {
  const definitions = streamDefinitions(logSettings(settings));
  const manager = await jetstreamManager(log.nc, { timeout: ANSWER_WITHIN_MS, checkAPI: false });
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
  const there = (await findStream(manager, definition.name)) ?? (await makeStream(log, manager, definition));
  checkRequired(definition, there.config);
  const changes = differences(there.config, definition.limits);
  if (Object.keys(changes).length === 0) return;
  log.logger.info({ stream: definition.name, changes }, 'a stream is changed');
  await explainRoom(definition, () => manager.streams.update(definition.name, changes));
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

const makeStream = async (
  log: EventLog,
  manager: JetStreamManager,
  definition: StreamDefinition,
): Promise<StreamInfo> => {
  const { name, required, limits } = definition;
  try {
    await explainRoom(definition, () => manager.streams.add({ name, ...required, ...limits }));
    log.logger.info({ stream: name }, 'a stream is made');
  } catch (error) {
    // Another process was faster, with other limits.
    if (!(error instanceof JetStreamApiError && error.code === NAME_IN_USE)) throw error;
  }
  return manager.streams.info(name);
};

const explainRoom = async (
  { name, limits }: StreamDefinition,
  change: () => Promise<StreamInfo>,
): Promise<void> => {
  try {
    await change();
  } catch (error) {
    if (!(error instanceof JetStreamApiError && NO_ROOM.has(error.code))) throw error;
    throw new LogUnavailable(
      `The broker has no room for stream ${name} of ${limits.max_bytes ?? 'unlimited'} bytes (${error.message}). ` +
        'Free some disk, raise max_file_store of nats-server, or lower the limits in the log settings.',
      { cause: error },
    );
  }
};

/** Every stream, bucket and object store, by the name of its stream. */
export const ALL_STREAMS: readonly string[] = streamDefinitions(DEFAULT_LOG_SETTINGS).map(({ name }) => name);

/**
 * What services call: waits until the streams are provisioned as this release needs them, for as long as it takes, and
 * checks them.
 * @throws {ForbiddenConfiguration} @throws the signal's reason
 */
export const awaitProvisioned = async (
  log: EventLog,
  signal?: AbortSignal,
  streams: readonly string[] = ALL_STREAMS,
): Promise<void> => {
  for (const name of streams) {
    for (let said = false; ; said = true) {
      signal?.throwIfAborted();
      const there = await findStreamOrWait(log, name);
      if (there) {
        checkRequired(definitionFor(name, there.config), there.config);
        break;
      }
      if (!said) {
        log.logger.warn({ stream: name }, 'a stream is not there yet; runledger provision makes it');
      }
      await pause(LOOK_EVERY_MS, undefined, signal ? { signal } : {});
    }
  }
};

/** A service does not know the provisioner's settings, so those that matter are taken from what is there. */
const definitionFor = (name: string, found: StreamConfig): StreamDefinition => {
  const settings = { ...DEFAULT_LOG_SETTINGS, replicas: found.num_replicas };
  const definition = streamDefinitions(settings).find((definition) => definition.name === name);
  if (!definition) throw new Error(`There is no definition of stream ${name}.`);
  const { max_consumers: _setting, ...required } = definition.required;
  return { ...definition, required };
};

const findStreamOrWait = async (log: EventLog, name: string): Promise<StreamInfo | undefined> => {
  try {
    return await callBroker(`looking for stream ${name}`, () => findStream(log.jsm, name));
  } catch (error) {
    if (error instanceof LogUnavailable && !log.nc.isClosed()) return undefined;
    throw error;
  }
};
