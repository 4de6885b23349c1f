import { configSchema as gatewayConfig } from '@runledger/gateway/config';
import { configSchema as executorConfig } from '@runledger/gpu-executor/config';
import { parseLogSettings } from '@runledger/event-log/provision/log-settings';
import { localServerSettings } from '@runledger/local-servers/cache-dir';
import { list, port, url } from '@runledger/service-kit/config-schemas';
import { readConfig } from '@runledger/service-kit/config';
import { policyConfig } from '@runledger/webhooks/policy-config';
import { secretKeysConfig } from '@runledger/webhooks/secret-box';
import { HEALTH_TOKEN_PATTERN } from '@runledger/service-kit/health-token';
import { Type, type Static } from 'typebox';
import type { SyncInterval } from '@runledger/local-servers/nats-server';
import { hostOf } from '@runledger/webhooks/hosts';
import { callbackPolicy, isExempt } from '@runledger/webhooks/callback-policy';
import { DATA_FOLDER } from './data-folder/connection-files.ts';

const wrongLogSettings = (text: string): string | undefined => {
  try {
    parseLogSettings(text);
    return undefined;
  } catch (error) {
    // The sentence of a problem has its own full stop.
    if (error instanceof RangeError) return error.message.replace(/\.$/, '');
    throw error;
  }
};

export const settingsSchema = Type.Object({
  RUNLEDGER_HOST: Type.String({ default: '127.0.0.1', minLength: 1, description: 'where the API listens' }),
  RUNLEDGER_PORT: port({ default: 8080, description: 'the port of the API; 0 takes a free one' }),
  RUNLEDGER_BASE_PATH: Type.String({
    default: '/api',
    pattern: '^(?:/[A-Za-z0-9_~-]+)*$',
    emptyIsValue: true,
    description: 'the prefix of every path of the API, such as /api',
  }),
  RUNLEDGER_CONSOLE: gatewayConfig.properties.RUNLEDGER_CONSOLE,
  RUNLEDGER_DATA_DIR: Type.String({ default: DATA_FOLDER, minLength: 1, description: 'the data folder' }),
  RUNLEDGER_API_KEY: Type.Optional(
    Type.String({
      secret: true,
      pattern: String.raw`^[\x21-\x7e]{16,255}$`,
      description: "the first organisation's key, 16 to 255 printable characters without spaces",
    }),
  ),
  RUNLEDGER_HEALTH_TOKEN: Type.Optional(
    Type.String({
      secret: true,
      pattern: HEALTH_TOKEN_PATTERN,
      description:
        'who sends it to a health server may read the metrics; made at the first start, and kept in the file health-token of the data folder',
    }),
  ),
  RUNLEDGER_SECRET_KEYS: Type.Optional(secretKeysConfig.RUNLEDGER_SECRET_KEYS),
  RUNLEDGER_PUBLIC_URL: Type.Optional(
    url({
      description: 'where clients reach the API, without its base path; made from host and port otherwise',
    }),
  ),
  RUNLEDGER_RATE_LIMIT: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: 0,
    description: 'requests a minute of each API key and the keys derived from it; 0 is no limit',
  }),
  RUNLEDGER_WEBHOOK_ALLOW: Type.Optional(
    list(policyConfig.RUNLEDGER_WEBHOOK_ALLOW.items, {
      maxItems: 1_024,
      emptyIsValue: true,
      description:
        'where webhooks may go besides public addresses; if it is not set, to loopback while RUNLEDGER_HOST is a loopback address; nowhere if it is empty',
    }),
  ),
  RUNLEDGER_WEBHOOK_OWN_SERVICES: policyConfig.RUNLEDGER_WEBHOOK_OWN_SERVICES,
  MONGODB_URL: Type.Optional(
    Type.String({
      pattern: '^mongodb(\\+srv)?://',
      secret: true,
      description: 'a MongoDB server for the run views, such as mongodb://127.0.0.1:27017',
    }),
  ),
  RUNLEDGER_SYNC_INTERVAL: Type.Unsafe<SyncInterval>(
    Type.String({
      default: 'always',
      pattern: '^(?:always|[1-9][0-9]{0,4}(?:ms|s|m))$',
      description:
        'when the broker flushes messages to disk: always (a 200 survives a power cut), or an interval such as 2s (faster)',
    }),
  ),
  RUNLEDGER_LOG_SETTINGS: Type.Refine(
    Type.String({
      default: '{}',
      description: 'limits of the log as JSON, such as {"outputsMaxBytes": 8589934592}',
    }),
    (text) => wrongLogSettings(text) === undefined,
    (text) => `is refused: ${wrongLogSettings(text)}`,
  ),
  RUNLEDGER_STOP_WITHIN_S: executorConfig.properties.RUNLEDGER_STOP_WITHIN_S,
  RUNLEDGER_EXECUTORS: Type.Integer({
    default: 1,
    minimum: 1,
    maximum: 64,
    description:
      'executor processes, each with all slots of EXECUTOR_GPUS; from the second one on with a number behind EXECUTOR_NAME',
  }),
  EXECUTOR_NAME: executorConfig.properties.EXECUTOR_NAME,
  EXECUTOR_GPUS: executorConfig.properties.EXECUTOR_GPUS,
  EXECUTOR_PROGRAMS: Type.Optional(Type.String({ description: 'more programs that runs may use, as JSON' })),
  EXECUTOR_COG: Type.Optional(Type.String({ description: 'Cog model servers of the executor, as JSON' })),
  EXECUTOR_CODE: Type.Optional(
    Type.String({
      description:
        'whose code of versions the executor runs: none, all, or ids of organisations; if it is not set, all while RUNLEDGER_HOST is a loopback address, none otherwise',
    }),
  ),
  EXECUTOR_UV: Type.Optional(
    Type.String({
      description:
        'the path of uv, which installs packages of Python; without it the one on PATH, or a download',
    }),
  ),
  EXECUTOR_WORK_DIR: Type.Optional(
    Type.String({
      description:
        'the work folder of the executor, in the data folder otherwise; of more executors with a number behind it',
    }),
  ),
  ...localServerSettings,
});
export type Settings = Static<typeof settingsSchema>;

/** @throws ConfigError that names all invalid settings */
export const readSettings = (env: NodeJS.ProcessEnv): Settings => readConfig(settingsSchema, env);

export interface WebhookAllow {
  /** Where webhooks may go besides public addresses. */
  readonly entries: readonly string[];
  /** Whether the operator has set it. */
  readonly isSet: boolean;
}

const LOOPBACK = callbackPolicy({ allow: ['loopback'], ports: [], ownServices: [] });

/**
 * The setting, or loopback for an API that only this machine reaches: whoever uses it reaches the services of the machine anyway. Others
 * must not reach them by a webhook.
 */
export const webhookAllowOf = (setting: readonly string[] | undefined, apiHost: string): WebhookAllow => {
  if (setting !== undefined) return { entries: setting, isSet: true };
  return { entries: isLoopback(apiHost) ? ['loopback'] : [], isSet: false };
};

/** Whether only this machine reaches what listens there. */
export const isLoopback = (host: string): boolean => isExempt(LOOPBACK, hostOf(host));

/** The standalone cannot start. The message says what the person at the terminal can do. */
export class StartRefused extends Error {
  override readonly name = 'StartRefused';
}
