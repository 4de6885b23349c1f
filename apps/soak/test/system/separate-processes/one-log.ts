import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import type { Receiver } from '../../../src/clients/receiver.ts';
import { storeOrganisation } from '../../../src/cluster/organisation.ts';
import { freePorts } from '@runledger/local-servers/free-port';
import type { ServiceName } from '../../../src/cluster/service.ts';
import { beginJourney, type Journey } from './journey.ts';
import { OWN_VIEWS, ownEnvironment } from './own-environment.ts';
import { startOwn, type OwnProcess } from './own-process.ts';

export const SERVICES = ['gateway', 'scheduler', 'gpu-executor', 'notifier'] as const;

/** A separate log, and the services that use it. */
export interface OneLog extends AsyncDisposable {
  /**
   * Starts a service beside those that run, and resolves when it is ready; an executor waits for a scheduler, and says so. A new gateway
   * gets runs at once.
   */
  start(service: ServiceName, running: readonly ServiceName[]): Promise<OwnProcess>;
  /** Resolves when all runs have ended correctly and all final notifications were delivered. */
  complete(): Promise<void>;
}

export interface Account {
  readonly url: string;
  readonly user: string;
  readonly password: string;
}

/** The log is provisioned and has an organisation. */
export const openOneLog = async ({ url, user, password }: Account, receiver: Receiver): Promise<OneLog> => {
  await using opened = new AsyncDisposableStack();
  const log = opened.use(await openEventLog({ url, user, password, name: 'test' }, silentLogger));
  await provision(log);
  const organisation = await storeOrganisation(log, new Date());
  const folder = opened.use(await mkdtempDisposable(join(tmpdir(), 'runledger-one-log-')));
  const [gatewayPort = 0, ...healthPorts] = await freePorts(1 + SERVICES.length);
  const broker = { NATS_URL: url, NATS_USER: user, NATS_PASSWORD: password };
  const shared = { broker, views: OWN_VIEWS, gatewayPort, folder: folder.path, name: 'box' };
  const journeys: Journey[] = [];
  const executors: OwnProcess[] = [];
  const open = opened.move();
  return {
    start: async (service, running) => {
      const healthPort = healthPorts[SERVICES.indexOf(service)] ?? 0;
      const started = open.use(startOwn(service, ownEnvironment(service, { ...shared, healthPort })));
      if (service === 'gpu-executor') executors.push(started);
      if (service === 'gpu-executor' && !running.includes('scheduler'))
        await started.lacks('consumption', 'No scheduler has created the consumer of this executor');
      else await started.ready();
      if (service === 'scheduler' && running.includes('gpu-executor')) await executors.at(-1)?.ready();
      if (service === 'gateway') journeys.push(await beginJourney({ gatewayPort, organisation, receiver }));
      return started;
    },
    complete: async () => {
      for (const journey of journeys.splice(0)) await journey.completes();
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
};
