import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { findNatsServer, startNatsServer } from '@runledger/local-servers/nats/nats-server';
import type { StartNatsServerOptions } from '@runledger/local-servers/nats/nats-server';
import type { PartOptions } from './part.ts';
import { reservedPorts } from './ports.ts';
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

export interface Brokers {
  /** Of all brokers, with commas between them. */
  readonly url: string;
  readonly parts: readonly BrokerPart[];
}

type BrokerPart = Pick<PartOptions, 'name' | 'role' | 'start' | 'store'>;

const FILE_STORE_BYTES = 32 * 1024 ** 3;
const CLUSTER = 'soak';

/**
 * One nats-server, or a cluster of them, which the caller starts: all parts at the same time, since each of a cluster waits for
 * the others.
 */
export const brokersOf = async (options: BrokersOptions): Promise<Brokers> => {
  const { path: binary } = await findNatsServer({ env: options.env, onProgress: options.print });
  const numbers = Array.from({ length: options.count }, (_, index) => index);
  const ports = await reservedPorts(options.count * 3);
  const places = numbers.map((index) => {
    const [port = 0, monitorPort = 0, routePort = 0] = ports.slice(index * 3);
    return { name: `broker-${index + 1}`, port, monitorPort, routePort };
  });
  const routePorts = places.map(({ routePort }) => routePort);
  return {
    url: places.map(({ port }) => `nats://127.0.0.1:${port}`).join(','),
    parts: places.map((place) => brokerPart(options, binary, place, routePorts)),
  };
};

interface Place {
  /** Of the part, and of the server in its cluster. */
  readonly name: string;
  readonly port: number;
  readonly monitorPort: number;
  readonly routePort: number;
}

const brokerPart = (
  { folder, authorization }: BrokersOptions,
  binary: string,
  { name, port, monitorPort, routePort }: Place,
  routePorts: readonly number[],
): BrokerPart => {
  const storeDir = join(folder, name);
  const isClustered = routePorts.length > 1;
  const settings: StartNatsServerOptions = {
    binary,
    storeDir,
    port,
    monitorPort,
    serverName: name,
    logFile: join(folder, `${name}.log`),
    fileStoreLimit: FILE_STORE_BYTES,
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
      await rm(storeDir, { recursive: true, force: true });
      return true;
    },
  };
  return { name, role: 'broker', start, ...(isClustered ? { store } : {}) };
};

/** After every broker was away: elections, and all that one of them missed, on a busy machine. */
const HEALTHY_WITHIN_MS = 120_000;
const POLL_EVERY_MS = 200;
const RESPONSE_WITHIN_MS = 5_000;

/** Until the broker says that it has every stream and consumer as the others have them, or until it has ended. */
const untilHealthy = async (monitorPort: number, ended: Promise<unknown>): Promise<void> => {
  const over = new AbortController();
  void ended.then(() => over.abort());
  const deadline = performance.now() + HEALTHY_WITHIN_MS;
  while (!over.signal.aborted) {
    const why = await whyUnhealthy(monitorPort);
    if (why === undefined) return;
    if (performance.now() > deadline)
      throw new Error(`after ${HEALTHY_WITHIN_MS / 1_000} s its /healthz still answers: ${why}`);
    await pause(POLL_EVERY_MS);
  }
};

const whyUnhealthy = async (monitorPort: number): Promise<string | undefined> => {
  try {
    const response = await fetch(`http://127.0.0.1:${monitorPort}/healthz`, {
      signal: AbortSignal.timeout(RESPONSE_WITHIN_MS),
    });
    const text = await response.text();
    return response.ok ? undefined : text.trim();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};
