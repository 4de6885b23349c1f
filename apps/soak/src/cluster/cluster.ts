import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import type { Size } from '../size.ts';
import { openArchiveStore, type ArchiveStore } from './archive-store.ts';
import { newBrokerAccess, type BrokerAccess } from './broker-access.ts';
import { brokersOf } from './brokers.ts';
import {
  storeOperatorKey,
  storeOrganisation,
  storeSharing,
  storeStranger,
  type Organisation,
  type SharingOrganisations,
  type Caller,
} from './organisation.ts';
import { startPart, type FaultJournal, type Part, type PartOptions } from './part.ts';
import { freePorts } from '@runledger/local-servers/free-port';
import { database, databaseStore } from './servers.ts';
import {
  environmentOf,
  executorNameOf,
  originOf,
  programStartsPath,
  programsFolder,
  type ServiceAddresses,
} from './service-environment.ts';
import { runningService, type ServiceName } from './service.ts';

/** A whole deployment, as processes of this machine. */
export interface Cluster extends AsyncDisposable {
  readonly parts: readonly Part[];
  readonly journal: FaultJournal;
  /** The URL of each gateway, without a slash at the end. */
  readonly gateways: readonly string[];
  /** The URL of the health server of each gateway. */
  readonly health: readonly string[];
  /** Undefined where the archive is in the broker. */
  readonly archive: ArchiveStore | undefined;
  readonly organisation: Organisation;
  /** Uses as much as it can of everything. */
  readonly glutton: Organisation;
  readonly sharing: SharingOrganisations;
  readonly stranger: Caller;
  readonly operatorKey: string;
  readonly executorNames: readonly string[];
  /** The users of the broker whose permissions are limited, and its addresses with commas between them. */
  readonly brokerUsers: Pick<BrokerAccess, 'names' | 'seedOf'> & { readonly url: string };
  /** An operator's connection. */
  readonly log: EventLog;
  /** Where the run views are, for the summary. */
  readonly views: 'MongoDB' | 'SQLite';
}

export interface ClusterOptions {
  readonly folder: string;
  readonly size: Size;
  readonly env: NodeJS.ProcessEnv;
  readonly print: (line: string) => void;
  /** The archive is not in the broker. */
  readonly hasArchiveStore?: boolean;
  /** Additional environment of a service, by the name of its part. */
  readonly more?: (part: string) => Readonly<Record<string, string>>;
}

const BASE_PATH = '/api';
const GATEWAYS = 2;

export const startCluster = async (options: ClusterOptions): Promise<Cluster> => {
  await openToPrograms(options.folder);
  await using opened = new AsyncDisposableStack();
  const parts = partsIn(opened);
  const [databasePort = 0, ...ports] = await freePorts(1 + 2 * GATEWAYS);
  const [gatewayPorts, healthPorts] = [ports.slice(0, GATEWAYS), ports.slice(GATEWAYS)];
  const executors = Array.from({ length: options.size.executors }, (_, index) => executorNameOf(index));
  const access = newBrokerAccess(executors);
  const { natsUrl, mongoUrl } = await startServers(opened, options, { access, parts, databasePort });

  const log = opened.use(
    await openEventLog({ url: natsUrl, name: 'soak', seed: access.operator }, silentLogger),
  );
  await provision(log, { replicas: options.size.brokers });
  const organisation = await storeOrganisation(log, new Date());
  const glutton = await storeOrganisation(log, new Date(), 'glutton');
  const sharing = await storeSharing(log, new Date());
  const stranger = await storeStranger(log, new Date());
  const operatorKey = await storeOperatorKey(log);
  const archive = options.hasArchiveStore === true ? opened.use(await openArchiveStore()) : undefined;
  const { folder, env, size } = options;
  await startServices(options, parts, {
    folder,
    env,
    natsUrl,
    seedOf: access.seedOf,
    mongoUrl: mongoUrl && withDatabase(mongoUrl),
    gatewayPorts,
    healthPorts,
    archiveEnv: archive?.env ?? {},
    secretKey: randomBytes(32).toString('base64'),
    size,
    orgLimits: sharing.orgLimits,
  });

  const kept = opened.move();
  return {
    // The services become ready in any order, and a seed has to hit the same parts again.
    parts: parts.all.toSorted((one, other) => one.name.localeCompare(other.name)),
    journal: parts.journal,
    gateways: gatewayPorts.map((port) => `${originOf(port)}${BASE_PATH}`),
    health: healthPorts.map(originOf),
    archive,
    organisation,
    glutton,
    sharing,
    stranger,
    operatorKey,
    executorNames: executors,
    brokerUsers: { ...access, url: natsUrl },
    log,
    views: mongoUrl ? 'MongoDB' : 'SQLite',
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};

interface Parts {
  readonly all: readonly Part[];
  readonly journal: FaultJournal;
  readonly add: (part: Pick<PartOptions, 'name' | 'role' | 'start' | 'store' | 'disk'>) => Promise<void>;
}

const partsIn = (opened: AsyncDisposableStack): Parts => {
  const journal: FaultJournal = { outages: [], missed: [], stops: [], unexpectedEnds: [] };
  const all: Part[] = [];
  return {
    all,
    journal,
    add: async (part) => void all.push(opened.use(await startPart({ ...part, journal }))),
  };
};

interface ServerNeeds {
  readonly access: BrokerAccess;
  readonly parts: Parts;
  readonly databasePort: number;
}

const startServers = async (
  opened: AsyncDisposableStack,
  { folder, env, print, size }: ClusterOptions,
  { access, parts, databasePort }: ServerNeeds,
): Promise<{ readonly natsUrl: string; readonly mongoUrl: string | undefined }> => {
  const { authorization } = access;
  const brokers = opened.use(await brokersOf({ folder, env, print, count: size.brokers, authorization }));
  await Promise.all(brokers.parts.map((part) => parts.add(part)));
  const data = join(folder, 'database');
  const mongo = await database({ folder: data, port: databasePort, env, print });
  if (mongo) {
    await parts.add({ name: 'database', role: 'database', start: mongo.start, store: databaseStore(data) });
  }
  return { natsUrl: brokers.url, mongoUrl: mongo?.url() };
};

const startServices = async (
  { folder, size, more = () => ({}) }: ClusterOptions,
  parts: Parts,
  addresses: ServiceAddresses,
): Promise<void> => {
  const startAll = (service: ServiceName, count: number): Promise<void>[] =>
    Array.from({ length: count }, (_, index) => {
      const name = `${service}-${index + 1}`;
      const options = {
        name,
        service,
        env: { ...environmentOf(addresses, service, index), ...more(name) },
        logFile: join(folder, 'logs', `${name}.log`),
      };
      return parts.add({ name, role: service, start: () => runningService(options) });
    });
  await Promise.all([
    ...startAll('gateway', addresses.gatewayPorts.length),
    ...startAll('scheduler', 2),
    ...startAll('gpu-executor', size.executors),
    ...startAll('notifier', 2),
  ]);
};

const withDatabase = (server: string): string => {
  const url = new URL(server);
  url.pathname = '/runledger';
  return url.href;
};

/** Executors may give each program a user of its own. */
const openToPrograms = async (folder: string): Promise<void> => {
  await chmod(folder, 0o711);
  await mkdir(programsFolder(folder));
  await chmod(programsFolder(folder), 0o777);
  await writeFile(programStartsPath(folder), '');
  await chmod(programStartsPath(folder), 0o666);
};
