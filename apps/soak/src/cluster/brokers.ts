import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { findNatsServer } from '@runledger/local-servers/find-nats-server';
import { startNatsServer, type StartNatsServerOptions } from '@runledger/local-servers/nats-server';
import { whyNoSmallDisk, openSmallDisk } from '@runledger/testing/servers/small-disk';
import { freePorts } from '@runledger/local-servers/free-port';
import { messageOf } from '@runledger/resilience/errors';
import type { PartOptions, PartDisk } from './part.ts';
import { restartable } from './servers.ts';

interface BrokersOptions {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly print: (line: string) => void;
  /** One, or three that form a cluster. */
  readonly count: number;
  /** Users and permissions, for nats-server. */
  readonly authorization: string;
}

interface Brokers extends AsyncDisposable {
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

interface BrokerDiskOptions {
  /** Of the server, with its configuration. */
  readonly storeDir: string;
  /** The path of nats-server. */
  readonly binary: string;
  readonly monitorPort: number;
}

/** A disk for what a broker stores. Its configuration stays outside. */
interface BrokerDisk extends PartDisk, AsyncDisposable {
  /** Runs nats-server with the disk. */
  readonly binary: string;
  readonly empty: () => void;
}

/** In memory. A soak stores less. */
const BYTES = 512 * 1024 ** 2;
const FULL_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 500;

/** @throws Error if this machine has no such disk */
const openBrokerDisk = async ({ storeDir, binary, monitorPort }: BrokerDiskOptions): Promise<BrokerDisk> => {
  const disk = await openSmallDisk(join(storeDir, 'jetstream'), BYTES);
  const script = `${storeDir}.sh`;
  const command = [...disk.through, binary].map((word) => `'${word}'`).join(' ');
  await writeFile(script, `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o700 });
  return {
    binary: script,
    empty: disk.empty,
    freeSpace: disk.freeSpace,
    // The broker frees space itself: it compacts what it stores.
    fill: async (ended) => {
      const over = new AbortController();
      void ended.then(() => over.abort());
      for (const deadline = performance.now() + FULL_WITHIN_MS; ; await pause(LOOK_EVERY_MS)) {
        disk.fill();
        if (over.signal.aborted || (await whyUnhealthy(monitorPort)) !== undefined) return true;
        if (performance.now() > deadline) return false;
      }
    },
    [Symbol.asyncDispose]: () => disk[Symbol.asyncDispose](),
  };
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

/** Undefined if it is healthy. */
const whyUnhealthy = async (monitorPort: number): Promise<string | undefined> => {
  try {
    const response = await fetch(`http://127.0.0.1:${monitorPort}/healthz`, {
      signal: AbortSignal.timeout(RESPONSE_WITHIN_MS),
    });
    const text = await response.text();
    return response.ok ? undefined : text.trim();
  } catch (error) {
    return messageOf(error);
  }
};
