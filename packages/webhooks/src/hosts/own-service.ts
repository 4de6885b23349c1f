import { networks } from './address-rule.ts';
import { readHost, sameHost, type Host } from './host.ts';

/** A service of this installation, which no callback may reach. */
export interface OwnService {
  readonly host: Host;
  /** Undefined for every port of the host. */
  readonly port: number | undefined;
}

/** A connection to the unspecified address reaches loopback, so a server on one of these addresses answers on all. */
const thisMachine = networks(['127.0.0.0/8', '::1', '0.0.0.0', '::']);

/** @throws {RangeError} with examples of a valid entry */
export const readOwnService = (text: string): OwnService => {
  const whole = readHost(text);
  if (whole !== undefined) return ownService(whole, undefined);
  const [, hostname = '', digits = ''] = /^(.*):(\d{1,5})$/.exec(text) ?? [];
  const host = hostname.includes(':') && !hostname.startsWith('[') ? undefined : readHost(hostname);
  const port = Number(digits);
  if (host === undefined || port < 1 || port > 65_535) {
    throw new RangeError(
      `${JSON.stringify(text.slice(0, 80))} is not a service: write host:port or host, such as nats.example.com:4222 or [::1]:9101`,
    );
  }
  return ownService(host, port);
};

const ownService = (host: Host, port: number | undefined): OwnService => ({
  host: host.kind === 'name' && host.name === 'localhost' ? { kind: 'address', address: '127.0.0.1' } : host,
  port,
});

/** Whether a connection to `host` at `port`, as written, reaches the service. */
export const isOwnService = (service: OwnService, host: Host, port: number): boolean =>
  isOwnPort(service, port) &&
  (sameHost(service.host, host) ||
    (service.host.kind === 'address' &&
      host.kind === 'address' &&
      sameAddress(service.host.address, host.address)));

export const isOwnPort = (service: OwnService, port: number): boolean =>
  service.port === undefined || service.port === port;

/** Whether two addresses reach the same machine, judged only by the addresses. */
export const sameAddress = (one: string, other: string): boolean =>
  one === other || (thisMachine.includes(one) && thisMachine.includes(other));
