import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/logger';
import { provision } from '@runledger/event-log/provision/provision';
import type { Clock } from './clock.ts';
import type { Size } from '../parameters/size.ts';
import { newBrokerAccess } from './broker-access.ts';
import { storeOrganisation, type Organisation } from './organisation.ts';
import { startPart, type Journal, type Part } from './part.ts';
import { lastingPorts } from './ports.ts';
import { broker, database } from './servers.ts';
import { environmentOf, executorNameOf, originOf, type ServiceAddresses } from './service-environment.ts';
import { runningService, type ServiceName } from './service.ts';

/** Everything that a deployment has, as processes of this machine. */
export interface Cluster extends AsyncDisposable {
  readonly parts: readonly Part[];
  readonly journal: Journal;
  /** Where each gateway answers, without a slash at the end. */
  readonly gateways: readonly string[];
  readonly organisation: Organisation;
  /** An operator's connection. */
  readonly log: EventLog;
  /** What keeps the views, for the summary. */
  readonly views: 'a database' | 'memory';
}

export interface ClusterSpec {
  readonly folder: string;
  readonly size: Size;
  readonly env: NodeJS.ProcessEnv;
  readonly now: Clock;
  readonly say: (line: string) => void;
  /** More of the environment of a service, by the name of its part. */
  readonly more?: (part: string) => Readonly<Record<string, string>>;
}

const BASE_PATH = '/api';

export const startCluster = async ({
  folder,
  size,
  env,
  now,
  say,
  more = () => ({}),
}: ClusterSpec): Promise<Cluster> => {
  await using opened = new AsyncDisposableStack();
  const journal: Journal = { outages: [], stops: [], unexpectedEnds: [] };
  const parts: Part[] = [];
  const add = async (spec: Pick<Part, 'name' | 'role'> & Pick<Parameters<typeof startPart>[0], 'start'>) => {
    parts.push(opened.use(await startPart({ ...spec, journal, now })));
  };

  const [brokerPort = 0, databasePort = 0, ...gatewayPorts] = await lastingPorts(4, Math.random);
  const logs = join(folder, 'logs');
  const natsSpec = { folder: join(folder, 'nats'), port: brokerPort, env, say };
  const executors = Array.from({ length: size.executors }, (_, index) => executorNameOf(index));
  const { authorization, operator, seedOf } = newBrokerAccess(executors);
  const nats = await broker(natsSpec, { logFile: join(folder, 'nats-server.log'), authorization });
  await add({ name: 'broker', role: 'broker', start: nats.start });
  const mongo = await database({ folder: join(folder, 'database'), port: databasePort, env, say });
  if (mongo) await add({ name: 'database', role: 'database', start: mongo.start });

  const log = opened.use(await openEventLog({ url: nats.url(), name: 'soak', seed: operator }, silentLogger));
  await provision(log);
  const organisation = await storeOrganisation(log, new Date());

  const place: ServiceAddresses = {
    folder,
    env,
    natsUrl: nats.url(),
    seedOf,
    mongoUrl: mongo && databaseIn(mongo.url()),
    gatewayPorts,
    secretKey: randomBytes(32).toString('base64'),
    size,
  };
  const addService = (service: ServiceName, count: number): Promise<void>[] =>
    Array.from({ length: count }, (_, index) => {
      const name = `${service}-${index + 1}`;
      const spec = {
        name,
        service,
        env: { ...environmentOf(place, service, index), ...more(name) },
        logFile: join(logs, `${name}.log`),
      };
      return add({ name, role: service, start: () => runningService(spec) });
    });
  await Promise.all([
    ...addService('gateway', gatewayPorts.length),
    ...addService('scheduler', 2),
    ...addService('gpu-executor', size.executors),
    ...addService('notifier', 2),
  ]);
  // They became ready in any order, and a seed has to strike the same ones again.
  parts.sort((one, other) => one.name.localeCompare(other.name));

  const kept = opened.move();
  return {
    parts,
    journal,
    gateways: gatewayPorts.map((port) => `${originOf(port)}${BASE_PATH}`),
    organisation,
    log,
    views: mongo ? 'a database' : 'memory',
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};

const databaseIn = (server: string): string => {
  const url = new URL(server);
  url.pathname = '/runledger';
  return url.href;
};
