import { networkInterfaces } from 'node:os';
import { policyConfig } from '@runledger/webhooks/policy/policy-config';
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

/** Everything that runs here, as `host:port`: a callback that may go to loopback must not reach it. */
export const ownServices = ({ natsUrl, views, host, port, healthPorts }: Addresses): string[] => {
  const entries = [
    new URL(natsUrl).host,
    ...databaseHosts(views),
    ...apiHosts(host).map((address) => `${address}:${port}`),
    ...healthPorts.map((health) => `127.0.0.1:${health}`),
  ];
  // What a URL of MongoDB may have for a host besides, such as a path of a socket, no callback can name.
  return entries.filter((entry) => Value.Check(policyConfig.RUNLEDGER_WEBHOOK_OWN_SERVICES, [entry]));
};

/** What listens everywhere is reached by each address of this machine. */
const apiHosts = (host: string): string[] => {
  if (host !== '0.0.0.0' && host !== '::') return [bracketed(host)];
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  return [host, ...addresses.map(({ address }) => address)].map(bracketed);
};

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** `mongodb://user:password@one:27017,two/database`; the names behind mongodb+srv are found out by the driver alone. */
const databaseHosts = (views: Views): string[] => {
  if (views.kind === 'memory') return [];
  const [, hosts = ''] = /^mongodb:\/\/(?:[^/?#]*@)?([^/?#]*)/i.exec(views.url) ?? [];
  return hosts.split(',').map((host) => (/:\d+$/.test(host) ? host : `${host}:${MONGODB_PORT}`));
};
