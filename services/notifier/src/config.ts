import { brokerConfig } from '@runledger/event-log/connect/broker-config';
import { readConfig, type Environment } from '@runledger/service-kit/config';
import { seconds, url } from '@runledger/service-kit/config-schemas';
import { serviceConfig } from '@runledger/service-kit/service-config';
import { egressConfig, giveUpConfig, policyConfig } from '@runledger/webhooks/policy-config';
import { outputUrlsConfig } from '@runledger/webhooks/output-urls';
import { secretKeysConfig } from '@runledger/webhooks/secret-box';
import { Type, type Static } from 'typebox';
import { brokerHosts, httpHost } from '@runledger/webhooks/hosts';

const KiB = 1024;
const DAY_S = 86_400;

export const configSchema = Type.Object({
  ...brokerConfig,
  ...policyConfig,
  ...secretKeysConfig,
  ...outputUrlsConfig,
  RUNLEDGER_PUBLIC_URL: url({
    default: 'http://127.0.0.1:8080',
    description:
      'where clients reach the gateway; the addresses of output files and runs in notifications begin with it',
  }),
  RUNLEDGER_BASE_PATH: Type.String({
    default: '/api',
    pattern: '^(?:/[A-Za-z0-9_~-]+)*$',
    emptyIsValue: true,
    description: 'the prefix of every path of the API; the same for gateways',
  }),
  ...egressConfig,
  RUNLEDGER_WEBHOOK_TRY_S: seconds({
    default: 15,
    minimum: 0.1,
    maximum: 120,
    description: 'how long one delivery attempt may take, from the name to the last byte of the response',
  }),
  ...giveUpConfig,
  RUNLEDGER_WEBHOOK_IN_FLIGHT: Type.Integer({
    default: 1_024,
    minimum: 4,
    maximum: 20_000,
    description: 'the most delivery attempts at the same time; each uses a socket',
  }),
  RUNLEDGER_WEBHOOK_BODY_MAX_BYTES: Type.Integer({
    default: 128 * KiB,
    // The error of a run alone may take half of it.
    minimum: 8 * KiB,
    maximum: 512 * KiB,
    description:
      'the most bytes of a notification; attempts and outputs that do not fit are left out, and it has a link to the run',
  }),
  RUNLEDGER_WEBHOOK_RECONCILE_EVERY_S: seconds({
    default: 60,
    minimum: 0.1,
    maximum: DAY_S,
    description: 'how often to search the log for lost notifications',
  }),
  ...serviceConfig({ healthPort: 9104 }),
});

export type NotifierConfig = Static<typeof configSchema>;

export const readNotifierConfig = (env: Environment): NotifierConfig => readConfig(configSchema, env);

/** Addresses of our own services that no webhook may reach, also where the policy allows more: `host:port`. */
export const ownServices = (config: NotifierConfig, health: string): string[] => [
  ...brokerHosts(config.NATS_URL),
  ...httpHost(config.RUNLEDGER_PUBLIC_URL),
  ...httpHost(health),
];
