import { list, type SettingOptions } from '@runledger/service-kit/config/config-schemas';
import { Type } from 'typebox';
import {
  callbackPolicy,
  readAllowed,
  type CallbackPolicy,
  type CallbackPolicySettings,
} from './callback-policy.ts';
import { readDnsServer } from '../dns/name-resolver.ts';
import { readOwnService } from '../hosts/own-service.ts';

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

export interface PolicyConfig {
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
