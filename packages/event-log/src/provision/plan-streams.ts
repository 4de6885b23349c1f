import type { StreamConfig, StreamInfo } from '@nats-io/jetstream';
import { checkRequired, refuseClosed } from './check-stream.ts';
import { DEFAULT_LOG_SETTINGS, type LogSettings } from './log-settings.ts';
import { streamDefinitions, type StreamDefinition } from './stream-definitions.ts';

/** Every stream, bucket and object store, by the name of its stream. */
export const ALL_STREAMS: readonly string[] = streamDefinitions({ ...DEFAULT_LOG_SETTINGS, replicas: 1 }).map(
  ({ name }) => name,
);

/** The settings ask for fewer copies than streams have. Nothing was changed. */
export class FewerReplicas extends Error {
  override readonly name = 'FewerReplicas';
  readonly code = 'fewer_replicas';

  constructor(streams: readonly string[], has: number, wanted: number) {
    super(
      `The settings ask for ${wanted} copies, and these streams have ${has}: ${streams.join(', ')}. With fewer copies, a lost broker ` +
        'may lose accepted runs. To keep the copies, leave "replicas" out of the settings. To give them up, run "runledger ' +
        'provision --allow-fewer-replicas".',
    );
  }
}

export interface StreamPlan {
  readonly definition: StreamDefinition;
  /** Undefined: it is to be created. */
  readonly found: StreamInfo | undefined;
}

interface PlanOptions {
  readonly find: (name: string) => Promise<StreamInfo | undefined>;
  readonly settings: LogSettings;
  readonly allowFewerReplicas: boolean;
}

/**
 * What to create and what to update. It looks at all streams before anything is changed.
 * @throws {LogClosed} @throws {ForbiddenConfiguration} @throws {FewerReplicas}
 */
export const planStreams = async ({
  find,
  settings,
  allowFewerReplicas,
}: PlanOptions): Promise<readonly StreamPlan[]> => {
  const infos = (await Promise.all(ALL_STREAMS.map(find))).filter((info) => info !== undefined);
  for (const { config } of infos) refuseClosed(config);
  const found = new Map(infos.map((info) => [info.config.name, info]));
  const most = Math.max(1, ...[...found.values()].map(({ config }) => config.num_replicas));
  const plans = ALL_STREAMS.map((name): StreamPlan => {
    const info = found.get(name);
    const replicas = settings.replicas ?? info?.config.num_replicas ?? most;
    return { definition: definitionOf(name, { ...settings, replicas }), found: info };
  });
  for (const { definition, found: info } of plans) if (info) checkRequired(definition, info.config);
  if (!allowFewerReplicas) refuseFewer(plans, settings.replicas ?? most);
  return plans;
};

const refuseFewer = (plans: readonly StreamPlan[], wanted: number): void => {
  const fewer = plans.flatMap(({ definition, found }) => {
    const has = found?.config.num_replicas ?? 0;
    return has > (definition.limits.num_replicas ?? has) ? [{ name: definition.name, has }] : [];
  });
  const has = Math.max(...fewer.map((one) => one.has));
  if (fewer.length > 0)
    throw new FewerReplicas(
      fewer.map(({ name }) => name),
      has,
      wanted,
    );
};

/** A service does not know the operator's settings, so it takes the relevant ones from the existing stream. */
export const definitionFor = (name: string, found: StreamConfig): StreamDefinition => {
  const definition = definitionOf(name, { ...DEFAULT_LOG_SETTINGS, replicas: found.num_replicas });
  const { max_consumers: _setting, ...required } = definition.required;
  return { ...definition, required };
};

const definitionOf = (
  name: string,
  settings: LogSettings & { readonly replicas: number },
): StreamDefinition => {
  const definition = streamDefinitions(settings).find((one) => one.name === name);
  if (!definition) throw new Error(`There is no definition of stream ${name}.`);
  return definition;
};
