import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findNatsServer } from '@runledger/local-servers/nats/find-nats-server';
import { startNatsServer } from '@runledger/local-servers/nats/nats-server';
import type { StartNatsServerOptions } from '@runledger/local-servers/nats/nats-server';
import { whyNoSmallDisk } from '@runledger/testing/servers/small-disk';
import { openBrokerDisk, type BrokerDisk } from './broker-disk.ts';
import { untilHealthy } from './broker-health.ts';
import type { PartOptions } from './part.ts';
import { freePorts } from '@runledger/local-servers/free-port';
import { restartable } from './servers.ts';

export interface BrokersOptions {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly print: (line: string) => void;
  /** One, or three that form a cluster. */
  readonly count: number;
  /** Users and permissions, for nats-server. */
  readonly authorization: string;
}

export interface Brokers extends AsyncDisposable {
  /** Of all brokers, with commas between them. */
  readonly url: string;
  readonly parts: readonly BrokerPart[];
}

type BrokerPart = Pick<PartOptions, 'name' | 'role' | 'start' | 'store' | 'disk'>;

const CLUSTER = 'soak';

/**
 * One nats-server, or a cluster of them, which the caller starts: all parts at the same time, since each of a cluster waits for
 * the others. The last one of a cluster stores everything on a disk of its own, if this machine can have one.
 */
export const brokersOf = async (options: BrokersOptions): Promise<Brokers> => {
  const { path: binary } = await findNatsServer({ env: options.env, onProgress: options.print });
  const numbers = Array.from({ length: options.count }, (_, index) => index);
  const ports = await freePorts(options.count * 3);
  const places = numbers.map((index) => {
    const [port = 0, monitorPort = 0, routePort = 0] = ports.slice(index * 3);
    return { name: `broker-${index + 1}`, port, monitorPort, routePort };
  });
  const last = options.count > 1 ? places.at(-1) : undefined;
  const disk = last && (await diskOf(options, binary, last));
  const cluster = { binary, routePorts: places.map(({ routePort }) => routePort) };
  return {
    url: places.map(({ port }) => `nats://127.0.0.1:${port}`).join(','),
    parts: places.map((place) => brokerPart(options, cluster, place, place === last ? disk : undefined)),
    [Symbol.asyncDispose]: async () => disk?.[Symbol.asyncDispose](),
  };
};

const diskOf = async (
  { folder, print }: BrokersOptions,
  binary: string,
  { name, monitorPort }: Place,
): Promise<BrokerDisk | undefined> => {
  const why = whyNoSmallDisk();
  if (why === undefined) return openBrokerDisk({ storeDir: join(folder, name), binary, monitorPort });
  print(`The disk of no broker will be full: ${why}.`);
  return undefined;
};

interface BrokerCluster {
  /** The path of nats-server. */
  readonly binary: string;
  /** Of every broker. */
  readonly routePorts: readonly number[];
}

interface Place {
  /** Of the part, and of the server in its cluster. */
  readonly name: string;
  readonly port: number;
  readonly monitorPort: number;
  readonly routePort: number;
}

const brokerPart = (
  { folder, authorization, env }: BrokersOptions,
  { binary, routePorts }: BrokerCluster,
  { name, port, monitorPort, routePort }: Place,
  disk: BrokerDisk | undefined,
): BrokerPart => {
  const storeDir = join(folder, name);
  const isClustered = routePorts.length > 1;
  const settings: StartNatsServerOptions = {
    binary: disk?.binary ?? binary,
    env,
    storeDir,
    port,
    monitorPort,
    serverName: name,
    logFile: join(folder, `${name}.log`),
    authorization,
    ...(isClustered ? { cluster: { name: CLUSTER, port: routePort, ports: routePorts } } : {}),
  };
  const { start } = restartable(
    () => startNatsServer(settings),
    (ended) => untilHealthy(monitorPort, ended),
  );
  // What an emptied broker lost, only the others have.
  const store = {
    empty: async () => {
      if (disk) disk.empty();
      else await rm(storeDir, { recursive: true, force: true });
      return true;
    },
  };
  return { name, role: 'broker', start, ...(isClustered ? { store } : {}), ...(disk ? { disk } : {}) };
};
