import type { Lifetimes } from '@runledger/contracts/lifetimes';
import { brokerConfig } from '@runledger/event-log/connect/broker-config';
import { oneOf, port, url } from '@runledger/service-kit/config-schemas';
import {
  ConfigError,
  inspectConfig,
  joinProblems,
  readConfig,
  type Environment,
} from '@runledger/service-kit/config';
import { serviceConfig } from '@runledger/service-kit/service-config';
import { giveUpConfig, policyConfig } from '@runledger/webhooks/policy-config';
import { outputUrlsConfig } from '@runledger/webhooks/output-urls';
import { secretKeysConfig } from '@runledger/webhooks/secret-box';
import { MAX_INPUTS_BYTES, MAX_WEBHOOK_URL } from '@runledger/contracts/limits';
import { Type, type Static } from 'typebox';
import { consoleConfig } from './document/console.ts';
import { oidcConfig, oidcProblems } from './records/people/oidc-config.ts';
import { archiveConfig } from './archive/archive-objects.ts';
import { exampleIdsConfig } from './document/example-ids.ts';
import { outputsConfig } from './files/output-stores.ts';
import { followingLimits, quotaProblems, quotasConfig } from './records/quotas/quotas-config.ts';
import { edgeConfig } from './door/edge.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

const atMost = (preset: number, maximum: number, description: string): Type.TInteger =>
  Type.Integer({ minimum: 1, maximum, default: preset, description: `the most ${description}` });

export const configSchema = Type.Object({
  ...brokerConfig,
  RUNLEDGER_HOST: Type.String({ default: '127.0.0.1', description: 'where the API listens' }),
  RUNLEDGER_PORT: port({ default: 8080, description: 'the port of the API; 0 takes a free one' }),
  RUNLEDGER_BASE_PATH: Type.String({
    default: '/api',
    pattern: '^(?:/[A-Za-z0-9_~-]+)*$',
    emptyIsValue: true,
    description: 'the prefix of every path of the API, such as /api; empty for none',
  }),
  RUNLEDGER_PUBLIC_URL: Type.Optional(
    url({
      description:
        'where clients reach the gateway; the addresses of output files begin with it; made from host and port otherwise',
    }),
  ),
  ...edgeConfig,
  ...consoleConfig,
  ...oidcConfig,
  RUNLEDGER_VIEWS: oneOf(['mongodb', 'sqlite'], {
    default: 'mongodb',
    description:
      'where the run views are kept: in MongoDB, which gateways share, or in a file of this gateway',
  }),
  RUNLEDGER_VIEWS_FILE: Type.String({
    default: 'runledger-views.sqlite',
    minLength: 1,
    description:
      'the SQLite file of the run views, for this gateway alone; :memory: keeps them until it stops',
  }),
  MONGODB_URL: Type.String({
    default: 'mongodb://127.0.0.1:27017/runledger',
    pattern: '^mongodb(\\+srv)?://',
    secret: true,
    description: 'the MongoDB server, with the database in its path (runledger without one)',
  }),
  RUNLEDGER_RUN_RETENTION_DAYS: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 90,
    description:
      'days from its creation for which a run is kept, unless its organisation chose fewer; at least as long as the log keeps its facts (runsMaxAgeMs)',
  }),
  ...archiveConfig,
  ...secretKeysConfig,
  ...policyConfig,
  ...giveUpConfig,
  RUNLEDGER_BODY_MAX_BYTES: atMost(MiB, 64 * MiB, 'bytes of a request body'),
  RUNLEDGER_JSON_DUPLICATES: oneOf(['last-wins', 'refused'], {
    default: 'last-wins',
    description:
      'what becomes of a request body in which an object has a member twice: the last one counts, or it is refused',
  }),
  RUNLEDGER_INPUTS_MAX: atMost(256, 10_000, 'inputs of a run'),
  RUNLEDGER_INPUTS_MAX_BYTES: atMost(MAX_INPUTS_BYTES, MAX_INPUTS_BYTES, 'bytes of all inputs as JSON'),
  RUNLEDGER_INPUT_NAME_MAX: atMost(256, 4_096, 'characters of an input name'),
  RUNLEDGER_WEBHOOK_URL_MAX: atMost(
    MAX_WEBHOOK_URL,
    MAX_WEBHOOK_URL,
    'characters of a webhook URL, of which those outside ASCII count as 2 to 4',
  ),
  ...outputsConfig,
  ...outputUrlsConfig,
  RUNLEDGER_OUTPUT_FILE_MAX_BYTES: atMost(GiB, 1024 * GiB, 'bytes of an output file'),
  RUNLEDGER_OUTPUT_RUN_MAX_BYTES: atMost(
    GiB,
    1024 * GiB,
    'bytes of all output files of a run; where it is not set, at most RUNLEDGER_QUOTA_OUTPUT_BYTES',
  ),
  RUNLEDGER_FILE_MAX_BYTES: atMost(
    512 * MiB,
    1024 * GiB,
    'bytes of a file that a client uploads; where it is not set, at most RUNLEDGER_QUOTA_FILE_BYTES',
  ),
  RUNLEDGER_FILE_KEEP_DAYS: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 14,
    description:
      'days for which a file is kept after it was uploaded or a run with it was queued; at least as long as the log keeps facts (runsMaxAgeMs)',
  }),
  RUNLEDGER_RUN_TOKEN_MAX_S: Type.Integer({
    minimum: 1,
    maximum: 604_800,
    default: 86_400,
    description: 'the most seconds for which a token of a run is valid',
  }),
  RUNLEDGER_STREAMS_MAX: atMost(10_000, 1_000_000, 'event streams and waiting reads that are open at once'),
  RUNLEDGER_RATE_LIMIT: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: 600,
    description:
      'requests a minute of each API key and the keys derived from it, at all gateways together; 0 is no limit',
  }),
  ...quotasConfig,
  ...exampleIdsConfig,
  ...serviceConfig({ healthPort: 9101 }),
});

export type GatewayConfig = Static<typeof configSchema>;

const DAY_MS = 86_400_000;

/** How long a file is kept from its last use on. */
export const fileRetentionMs = ({ RUNLEDGER_FILE_KEEP_DAYS: days }: GatewayConfig): number => days * DAY_MS;

/** How long things are kept that only the gateway's settings decide about. */
export const lifetimesOf = (config: GatewayConfig): Partial<Lifetimes> => ({
  webhookGiveUp: config.RUNLEDGER_WEBHOOK_GIVE_UP_S * 1_000,
  views: config.RUNLEDGER_RUN_RETENTION_DAYS * DAY_MS,
  files: fileRetentionMs(config),
  ...(config.RUNLEDGER_OUTPUTS === 'directory' && { outputs: config.RUNLEDGER_OUTPUTS_KEEP_DAYS * DAY_MS }),
});

/** @throws {ConfigError} with all problems */
export const readGatewayConfig = (env: Environment): GatewayConfig => {
  const { values, problems } = inspectConfig(configSchema, env);
  const isSet = (variable: string): boolean => (env[variable] ?? '') !== '';
  const all = joinProblems(problems, [...quotaProblems(values, isSet), ...oidcProblems(values)]);
  if (all.length > 0) throw new ConfigError(all);
  const config = readConfig(configSchema, env);
  return { ...config, ...followingLimits(config, isSet) };
};
