import { Type } from 'typebox';

export interface BrokerSettings {
  /** One server, or several separated by commas, each `nats://host:port`. */
  readonly url: string;
  readonly user?: string;
  readonly password?: string;
  /** The seed of an nkey, instead of user and password, at a broker that `brokerConfiguration` configures. */
  readonly seed?: string;
  /** The broker shows it with the connection, for example `gateway-ab12`. */
  readonly name: string;
}

/** The form of the seed of a user's nkey. Blanks around it are ignored. */
export const SEED_PATTERN = String.raw`^\s*SU[A-Z2-7]{56}\s*$`;

/** The broker sends responses for the holder of the key to this subject. No other user may subscribe to it. */
export const inboxOf = (publicKey: string): string => `_INBOX_${publicKey}`;

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

/** The account at the broker that holds the log. Each service has an account of its own. */
export const LOG_ACCOUNT = 'RUNLEDGER';

/**
 * Services send the requests of JetStream under this prefix. Under JetStream's own prefix the broker would respond for the
 * account of the requester, which has no JetStream.
 */
export const API_PREFIX = `$JS.${LOG_ACCOUNT}.API`;

/** JetStream's own prefix: for a client in the account of the log, and for a broker without accounts. */
export const OWN_API_PREFIX = '$JS.API';

/** Requests to the brokers themselves, in their system account: what each of them holds, what is wrong with it, and to take one out of the cluster. */
export const BROKER_STATES = '$SYS.REQ.SERVER.PING.JSZ';
export const REMOVE_BROKER = '$JS.API.SERVER.REMOVE';
export const BROKER_HEALTH = '$SYS.REQ.SERVER.PING.HEALTHZ';
