import { list, type SettingOptions, url, seconds } from '@runledger/service-kit/config-schemas';
import { Type } from 'typebox';
import {
  callbackPolicy,
  readAllowed,
  type CallbackPolicy,
  type CallbackPolicySettings,
} from './callback-policy.ts';
import { readDnsServer } from './name-resolver.ts';
import { readOwnService } from './hosts.ts';

const MAX_ENTRIES = 1_024;

/** Texts that `read` accepts. `wrong` is the message for other texts. */
const entries = (
  read: (text: string) => unknown,
  wrong: string,
  options: SettingOptions<readonly string[]>,
): Type.TArray<Type.TRefine<Type.TString>> =>
  list(
    Type.Refine(
      Type.String({ maxLength: 300 }),
      (text) => isRead(read, text),
      () => wrong,
    ),
    { ...options, maxItems: MAX_ENTRIES },
  );

const isRead = (read: (text: string) => unknown, text: string): boolean => {
  try {
    read(text);
    return true;
  } catch {
    return false;
  }
};

/** A setting for `allow` of a policy. */
export const allowSetting = (description: string): Type.TArray<Type.TRefine<Type.TString>> =>
  entries(readAllowed, 'is neither loopback, nor a host name, an IP address or a network', {
    default: [],
    description,
  });

/** The environment variables of the webhook policy, to spread into the configuration schemas of its services. */
export const policyConfig = {
  RUNLEDGER_WEBHOOK_ALLOW: allowSetting(
    'where callbacks may go, and URLs of inputs may point, besides public addresses, for example loopback, hooks.corp.example, 10.1.0.0/16; at any port',
  ),
  RUNLEDGER_WEBHOOK_PORTS: list(Type.Integer({ minimum: 1, maximum: 65_535 }), {
    default: [80, 443, 8080, 8443],
    maxItems: MAX_ENTRIES,
    description:
      'the allowed ports of callbacks, of URLs of inputs, and of connections of programs, at other hosts',
  }),
  RUNLEDGER_WEBHOOK_OWN_SERVICES: entries(readOwnService, 'is neither host:port nor a host', {
    default: [],
    description:
      'services of this installation, which callbacks, URLs of inputs and connections of programs never reach, even if they are allowed, for example mongodb.example.com:27017; a full name, because no search list is used',
  }),
  RUNLEDGER_DNS_SERVERS: entries(readDnsServer, 'is not an IP address, with or without a port', {
    default: [],
    description:
      'the DNS servers for callbacks, URLs of inputs and connections of programs, for example 10.0.0.2:53; empty for those of the system',
  }),
};

interface PolicyConfig {
  readonly RUNLEDGER_WEBHOOK_ALLOW: readonly string[];
  readonly RUNLEDGER_WEBHOOK_PORTS: readonly number[];
  readonly RUNLEDGER_WEBHOOK_OWN_SERVICES: readonly string[];
}

/** `moreOwn` are services that other settings name, as `host:port`; `other` is what another setting allows instead, and its name. */
export const policyFromConfig = (
  config: PolicyConfig,
  moreOwn: readonly string[] = [],
  other: Pick<CallbackPolicySettings, 'allow' | 'allowedBy'> = { allow: config.RUNLEDGER_WEBHOOK_ALLOW },
): CallbackPolicy =>
  callbackPolicy({
    ...other,
    ports: config.RUNLEDGER_WEBHOOK_PORTS,
    ownServices: [...config.RUNLEDGER_WEBHOOK_OWN_SERVICES, ...moreOwn],
  });

/** The environment variable of the proxy for all requests to addresses that others choose. */
export const egressConfig = {
  RUNLEDGER_WEBHOOK_PROXY: Type.Optional(
    url({
      secret: true,
      description:
        'a forward proxy (CONNECT) that every notification, every request for the URL of an input, and every connection of a program with the network outgoing goes through, such as http://user:password@proxy:3128',
    }),
  ),
};

const DAY_S = 86_400;

/** Notifiers deliver for this time, and gateways accept only runs whose facts the log keeps until then. */
export const giveUpConfig = {
  RUNLEDGER_WEBHOOK_GIVE_UP_S: seconds({
    default: 3 * DAY_S,
    minimum: 1,
    maximum: 30 * DAY_S,
    description:
      'from the end of a run, or the request to send it again, until a notification is attempted no more, also behind an open breaker; the same for gateways and notifiers. With the longest run it must fit into the age of the log',
  }),
};
