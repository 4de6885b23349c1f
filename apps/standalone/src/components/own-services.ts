import { networkInterfaces } from 'node:os';
import { policyConfig } from '@runledger/webhooks/policy-config';
import { Value } from 'typebox/value';
import type { Views } from './database.ts';

const MONGODB_PORT = 27_017;

export interface Addresses {
  readonly natsUrl: string;
  readonly views: Views;
  /** Where the API listens. */
  readonly host: string;
  readonly port: number;
  /** On loopback. */
  readonly healthPorts: readonly number[];
}

/** Everything that runs here, as `host:port`. A callback must not reach it, even if the policy allows loopback. */
export const ownServices = ({ natsUrl, views, host, port, healthPorts }: Addresses): string[] => {
  const entries = [
    new URL(natsUrl).host,
    ...databaseHosts(views),
    ...apiHosts(host).map((address) => `${address}:${port}`),
    ...healthPorts.map((health) => `127.0.0.1:${health}`),
  ];
  // A MongoDB URL may also name a socket file, which no callback can reach.
  return entries.filter((entry) => Value.Check(policyConfig.RUNLEDGER_WEBHOOK_OWN_SERVICES, [entry]));
};

/** Every address of this machine reaches a server that listens on all of them. */
const apiHosts = (host: string): string[] => {
  if (host !== '0.0.0.0' && host !== '::') return [bracketed(host)];
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  return [host, ...addresses.map(({ address }) => address)].map(bracketed);
};

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** Hosts in `mongodb://user:password@one:27017,two/database`. Only the driver can resolve mongodb+srv. */
const databaseHosts = (views: Views): string[] => {
  if (views.kind === 'sqlite') return [];
  const [, hosts = ''] = /^mongodb:\/\/(?:[^/?#]*@)?([^/?#]*)/i.exec(views.url) ?? [];
  return hosts.split(',').map((host) => (/:\d+$/.test(host) ? host : `${host}:${MONGODB_PORT}`));
};
