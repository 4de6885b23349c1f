import { setTimeout as pause } from 'node:timers/promises';
import { JetStreamApiError } from '@nats-io/jetstream';
import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import { callBroker } from '../connect/broker-call.ts';
import { checkRequired, differences, refuseClosed } from './check-stream.ts';
import { CHANGE_WITHIN_MS, explained, findStream, streamManager } from './stream-manager.ts';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { CREATED } from '../read/stream-identity.ts';
import { acceptLoss } from './lost-facts.ts';
import { logSettings, type LogSettings } from './log-settings.ts';
import { ALL_STREAMS, definitionFor, planStreams, type StreamPlan } from './plan-streams.ts';
import { awayIn } from './replicas.ts';
import type { StreamDefinition } from './stream-definitions.ts';

export { ForbiddenConfiguration } from './check-stream.ts';
export { LogClosed } from './check-stream.ts';
export { OtherLoss } from './lost-facts.ts';
export { ALL_STREAMS, FewerReplicas } from './plan-streams.ts';
export type { LogSettings } from './log-settings.ts';

const NAME_IN_USE = 10058;
const POLL_MS = 500;

export interface ProvisionOptions {
  /** Streams may get fewer copies than they have. */
  readonly allowFewerReplicas?: boolean;
  /** Go on without these facts of RUNS, such as `21-41,1029-1040`: exactly those that are lost. */
  readonly acceptLoss?: string;
}

export interface Provisioned {
  /** Brokers that hold copies, and that the others cannot reach now. */
  readonly away: readonly string[];
}

/**
 * Creates every stream, bucket and object store, or updates its limits to the settings, and reads the result back. It is
 * idempotent, and several processes may run it at once. Settings without `replicas` keep the copies that there are.
 * @throws {LogClosed} @throws {FewerReplicas} @throws {ForbiddenConfiguration} when the guarantees do not hold with an existing
 *   stream; all before anything is changed
 * @throws {OtherLoss} after that @throws {LogUnavailable}
 */
export const provision = async (
  log: EventLog,
  settings: Partial<LogSettings> = {},
  { allowFewerReplicas = false, acceptLoss: accepted }: ProvisionOptions = {},
): Promise<Provisioned> => {
  const manager = await streamManager(log);
  const plans = await planStreams({
    find: (name) =>
      callBroker(`looking for stream ${name}`, () => findStream(log.jsm, name), CHANGE_WITHIN_MS),
    settings: logSettings(settings),
    allowFewerReplicas,
  });
  const away = awayIn(
    plans.map(({ found }) => found),
    log.nc.info?.server_name,
  );
  if (away.length > 0) log.logger.warn({ brokers: away }, 'brokers are away; their copies are updated later');
  for (const plan of plans) {
    const what = `provisioning stream ${plan.definition.name}`;
    await callBroker(what, () => provisionStream({ log, manager, away }, plan), CHANGE_WITHIN_MS);
  }
  if (accepted !== undefined) await acceptLoss(log, manager, { ranges: accepted, now: new Date() });
  return { away };
};

interface Provisioning extends Provisioned {
  readonly log: EventLog;
  readonly manager: JetStreamManager;
}

const provisionStream = async (provisioning: Provisioning, plan: StreamPlan): Promise<void> => {
  const { log, manager, away } = provisioning;
  const { definition } = plan;
  const found = plan.found ?? (await createStream(provisioning, definition));
  checkRequired(definition, found.config);
  await writeCreated(manager, found);
  const changes = differences(found.config, definition.limits);
  if (Object.keys(changes).length === 0) return;
  log.logger.info({ stream: definition.name, changes }, 'the limits of a stream are updated');
  await explained(definition, away, () => manager.streams.update(definition.name, changes));
  const after = await findStream(log.jsm, definition.name);
  if (after) checkRequired(definition, after.config);
};

/** The broker's time of the creation changes with a restore, so it is kept where it does not. Several processes write the same. */
const writeCreated = async (manager: JetStreamManager, { config, created }: StreamInfo): Promise<void> => {
  if (isMarked(config)) return;
  await manager.streams.update(config.name, { metadata: { ...config.metadata, [CREATED]: created } });
};

const isMarked = ({ metadata }: StreamInfo['config']): boolean => metadata?.[CREATED] !== undefined;

const createStream = async (
  { log, manager, away }: Provisioning,
  definition: StreamDefinition,
): Promise<StreamInfo> => {
  const { name, required, limits, atCreation } = definition;
  try {
    const created = await explained(definition, away, () =>
      manager.streams.add({ name, ...required, ...limits, ...atCreation }),
    );
    log.logger.info({ stream: name }, 'a stream is created');
    return created;
  } catch (error) {
    if (!(error instanceof JetStreamApiError && error.code === NAME_IN_USE)) throw error;
    // Another process created it first, with other limits; or this one did, and the response was lost.
    return log.jsm.streams.info(name);
  }
};

/**
 * For services: waits until the streams exist, without a limit of time, and checks that they are configured as this release
 * needs them.
 * @throws {LogClosed} @throws {ForbiddenConfiguration} @throws the signal's reason
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
        refuseClosed(found.config);
        checkRequired(definitionFor(name, found.config), found.config);
      }
      if (found && isMarked(found.config)) break;
      if (!logged) {
        log.logger.warn({ stream: name }, 'a stream does not exist yet; runledger provision creates it');
      }
      await pause(POLL_MS, undefined, signal ? { signal } : {});
    }
  }
};

const findStreamIfAvailable = async (log: EventLog, name: string): Promise<StreamInfo | undefined> => {
  try {
    return await callBroker(`looking for stream ${name}`, () => findStream(log.jsm, name));
  } catch (error) {
    if (error instanceof LogUnavailable && !log.nc.isClosed()) return undefined;
    throw error;
  }
};
