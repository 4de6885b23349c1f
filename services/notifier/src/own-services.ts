import type { NotifierConfig } from './config.ts';

/** Addresses of ours that a callback may never reach, whatever is allowed: `host:port`. */
export const ownServices = (config: NotifierConfig, health: string): string[] => {
  const brokers = config.NATS_URL.split(',').flatMap((server) => hostIn(server.trim()) ?? []);
  const others = [config.RUNLEDGER_PUBLIC_URL, health].flatMap((url) => hostIn(url) ?? []);
  return [...brokers, ...others];
};

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };
const NATS_PORT = 4222;

const hostIn = (text: string): string | undefined => {
  const url = URL.parse(text.includes('://') ? text : `nats://${text}`);
  if (!url || url.hostname === '') return undefined;
  return `${url.hostname}:${url.port === '' ? (DEFAULT_PORTS[url.protocol] ?? NATS_PORT) : url.port}`;
};
