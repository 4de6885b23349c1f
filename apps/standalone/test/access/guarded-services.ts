import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brokerConfiguration } from '@runledger/broker-access/broker-configuration';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { newUserKey } from '@runledger/event-log/connect/user-key';
import { provision } from '@runledger/event-log/provision/provision';
import { freePort } from '@runledger/local-servers/free-port';
import { findNatsServer } from '@runledger/local-servers/find-nats-server';
import { startNatsServer } from '@runledger/local-servers/nats-server';
import { waitFor } from '@runledger/testing/wait-for';
import { serviceEnvironment } from '../../src/supervision/service-environment.ts';
import { startService, type ServiceProcess } from '../../src/supervision/service-process.ts';
import { USERS, type UserName } from './a-guarded-broker.ts';

const SERVICES = join(import.meta.dirname, '../../../../services');
const START_WITHIN_MS = 120_000;
const STOP_WITHIN_MS = 30_000;

type Settings = Readonly<Record<string, string>>;

const CONTROL_PLANE = ['gateway', 'scheduler', 'notifier'] as const;
type ControlPlane = (typeof CONTROL_PLANE)[number];

/** A gateway, a scheduler and a notifier as processes, each with its own key at a broker with permissions. The test starts executors. */
export interface GuardedServices extends AsyncDisposable {
  readonly operator: EventLog;
  readonly url: string;
  /** A connection with the key of this user. @throws when the broker rejects it */
  readonly open: (user: UserName) => Promise<EventLog>;
  readonly startExecutor: (user: 'executor-a' | 'executor-b', settings: Settings) => Promise<ServiceProcess>;
  /** The broker no longer knows the key of this user, as after `runledger broker-config --remove` and a reload. */
  readonly remove: (user: UserName) => Promise<void>;
  /** The lines of the log of a service. */
  readonly linesOf: (service: ControlPlane) => Promise<readonly string[]>;
  /** Kills all of them but executors, and starts them again. */
  readonly killAll: () => Promise<void>;
  /** The services that are not ready. */
  readonly notReady: () => Promise<readonly ControlPlane[]>;
}

export const startGuardedServices = async (folder: string): Promise<GuardedServices> => {
  await using opened = new AsyncDisposableStack();
  const known = (Object.keys(USERS) as UserName[]).map((name) => ({ name, ...newUserKey() }));
  const seedOf = (user: UserName): string => known.find(({ name }) => name === user)?.seed ?? '';
  const authorizationWithout = (removed?: UserName): string =>
    brokerConfiguration(
      known
        .filter(({ name }) => name !== removed)
        .map(({ name, publicKey }) => ({ user: USERS[name], publicKey })),
    ).trim();
  const { path: binary } = await findNatsServer({ env: process.env });
  const storeDir = join(folder, 'nats');
  const authorization = authorizationWithout();
  const nats = opened.use(await startNatsServer({ binary, storeDir, authorization }));
  const connections = opened.use(new AsyncDisposableStack());
  const open = async (user: UserName): Promise<EventLog> =>
    connections.use(await openEventLog({ url: nats.url, name: user, seed: seedOf(user) }, silentLogger));
  const operator = await open('operator');
  await provision(operator);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const processes = opened.use(new AsyncDisposableStack());
  const start = async (service: string, user: UserName, settings: Settings): Promise<ServiceProcess> => {
    const started = startService({
      name: user,
      main: join(SERVICES, service, 'src/main.ts'),
      env: serviceEnvironment(process.env, [], {
        NATS_URL: nats.url,
        NATS_NKEY: seedOf(user),
        RUNLEDGER_HEALTH_HOST: '127.0.0.1',
        RUNLEDGER_HEALTH_PORT: '0',
        ...settings,
      }),
      logFile: join(folder, `${user}.log`),
      stopWithinMs: STOP_WITHIN_MS,
      print: () => undefined,
    });
    processes.defer(started.stop);
    await waitFor(`${user} to be ready`, () => isReady(started), { withinMs: START_WITHIN_MS });
    return started;
  };
  const notifying = {
    RUNLEDGER_PUBLIC_URL: url,
    RUNLEDGER_SECRET_KEYS: Buffer.alloc(32, 7).toString('base64'),
    RUNLEDGER_WEBHOOK_ALLOW: 'loopback',
  };
  const settings: Readonly<Record<ControlPlane, Settings>> = {
    gateway: {
      ...notifying,
      RUNLEDGER_HOST: '127.0.0.1',
      RUNLEDGER_PORT: String(port),
      RUNLEDGER_VIEWS: 'sqlite',
      RUNLEDGER_VIEWS_FILE: join(folder, 'views.sqlite'),
    },
    scheduler: {},
    notifier: notifying,
  };
  const present = new Map<ControlPlane, ServiceProcess>();
  const startAll = (): Promise<unknown> =>
    Promise.all(
      CONTROL_PLANE.map(async (name) => void present.set(name, await start(name, name, settings[name]))),
    );
  await startAll();
  const kept = opened.move();
  return {
    operator,
    url,
    open,
    startExecutor: (user, settings) =>
      start('gpu-executor', user, {
        EXECUTOR_NAME: user.slice('executor-'.length),
        EXECUTOR_WORK_DIR: join(folder, user),
        RUNLEDGER_GATEWAY_URL: url,
        ...settings,
      }),
    remove: async (user) => {
      const file = join(storeDir, 'nats-server.conf');
      const text = await readFile(file, 'utf8');
      await writeFile(
        file,
        text.replace(authorization, () => authorizationWithout(user)),
      );
      nats.kill('SIGHUP');
      const isRejected = (): Promise<boolean> =>
        open(user).then(
          () => false,
          () => true,
        );
      await waitFor(`the broker to reject ${user}`, isRejected);
    },
    killAll: async () => {
      for (const service of present.values()) service.kill('SIGKILL');
      await waitFor('their ends', () => [...present.values()].every((one) => one.state().kind === 'ended'));
      await startAll();
    },
    notReady: async () => {
      const asked = CONTROL_PLANE.map(async (name) => {
        const service = present.get(name);
        return service && (await isReady(service)) ? [] : [name];
      });
      return (await Promise.all(asked)).flat();
    },
    linesOf: async (service) => (await readFile(join(folder, `${service}.log`), 'utf8')).split('\n'),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};

const isReady = async (service: ServiceProcess): Promise<boolean> => {
  const state = service.state();
  if (state.kind === 'ended') throw new Error(`a service ${state.how}`);
  if (state.kind === 'starting') return false;
  const response = await fetch(new URL('/readyz', state.health)).catch(() => undefined);
  return response?.ok === true;
};
