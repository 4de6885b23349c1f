import { Type } from 'typebox';
import { SEED_PATTERN } from './user-key.ts';
import type { BrokerSettings } from './event-log.ts';

/** The environment variables by which a service finds the broker. A service spreads them into its configuration schema. */
export const brokerConfig = {
  NATS_URL: Type.String({
    default: 'nats://127.0.0.1:4222',
    minLength: 1,
    pattern: '^(nats|tls)://\\S+$',
    description: 'the NATS server, or several between commas, for example nats://127.0.0.1:4222',
  }),
  NATS_USER: Type.Optional(Type.String({ minLength: 1, description: 'the user at the NATS server' })),
  NATS_PASSWORD: Type.Optional(
    Type.String({ minLength: 1, secret: true, description: 'the password of NATS_USER' }),
  ),
  NATS_NKEY: Type.Optional(
    Type.String({
      pattern: SEED_PATTERN,
      secret: true,
      description:
        'the seed of the user at a NATS server that "runledger broker-config" configured (SU and 56 more characters)',
    }),
  ),
};

export interface BrokerConfig {
  readonly NATS_URL: string;
  readonly NATS_USER?: string;
  readonly NATS_PASSWORD?: string;
  readonly NATS_NKEY?: string;
}

/** The broker shows `name` with the connection, for example `gateway-ab12`. */
export const brokerSettings = (config: BrokerConfig, name: string): BrokerSettings => ({
  url: config.NATS_URL,
  name,
  ...(config.NATS_USER === undefined ? {} : { user: config.NATS_USER }),
  ...(config.NATS_PASSWORD === undefined ? {} : { password: config.NATS_PASSWORD }),
  ...(config.NATS_NKEY === undefined ? {} : { seed: config.NATS_NKEY }),
});
