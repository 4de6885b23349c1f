import { brokerHosts, httpHost } from '@runledger/webhooks/hosts/service-hosts';
import type { NotifierConfig } from './config.ts';

/** Addresses of our own services that no webhook may reach, also where the policy allows more: `host:port`. */
export const ownServices = (config: NotifierConfig, health: string): string[] => [
  ...brokerHosts(config.NATS_URL),
  ...httpHost(config.RUNLEDGER_PUBLIC_URL),
  ...httpHost(health),
];
