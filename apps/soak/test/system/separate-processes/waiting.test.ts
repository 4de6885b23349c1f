import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RunPage } from '@runledger/contracts/http/runs/runs';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { describeWithMongo } from '@runledger/testing/servers/mongo';
import { waitFor } from '@runledger/testing/wait-for';
import { Compile } from 'typebox/compile';
import { expect, it } from 'vitest';
import { startReceiver } from '../../../src/clients/receiver.ts';
import { brokersOf } from '../../../src/cluster/brokers.ts';
import { newBrokerAccess } from '../../../src/cluster/broker-access.ts';
import { storeOrganisation, type Organisation } from '../../../src/cluster/organisation.ts';
import { freePorts } from '@runledger/local-servers/free-port';
import { database as databaseAt, type Server } from '../../../src/cluster/servers.ts';
import { originOf } from '../../../src/cluster/service-environment.ts';
import type { ServiceName } from '../../../src/cluster/service.ts';
import { beginJourney } from './journey.ts';
import { ownEnvironment, userOf } from './own-environment.ts';
import { startOwn } from './own-process.ts';

const SERVICES = ['notifier', 'gpu-executor', 'scheduler', 'gateway'] as const;

/** The readiness check that reports an unprovisioned log, and its reason. */
const UNPROVISIONED: Record<ServiceName, readonly [check: string, why: string]> = {
  gateway: ['provisioned', 'runledger provision creates them'],
  scheduler: ['provisioned', 'runledger provision creates them'],
  notifier: ['provisioned', 'runledger provision creates them'],
  // Its permissions do not include stream information.
  'gpu-executor': ['consumption', 'runledger provision creates them'],
};

const Page = Compile(RunPage);

const start = async (open: AsyncDisposableStack, server: Pick<Server, 'start'>): Promise<void> => {
  const running = await server.start();
  open.defer(async () => {
    process.kill(running.pid, 'SIGKILL');
    await running.ended;
  });
};

describeWithMongo('services that start before everything else', () => {
  it(
    'wait for the broker, its streams and MongoDB, and report what is missing',
    { timeout: 300_000 },
    async () => {
      await using open = new AsyncDisposableStack();
      const folder = open.use(await mkdtempDisposable(join(tmpdir(), 'runledger-waiting-')));
      const [mongoPort = 0, gatewayPort = 0, ...healthPorts] = await freePorts(6);
      const server = (port: number, name: string) =>
        ({ folder: join(folder.path, name), port, env: process.env, print: () => undefined }) as const;

      const access = newBrokerAccess(['box']);
      const brokers = await brokersOf({
        folder: folder.path,
        env: process.env,
        print: () => undefined,
        count: 1,
        authorization: access.authorization,
      });

      const services = SERVICES.map((service, at) => {
        const env = ownEnvironment(service, {
          broker: {
            NATS_URL: brokers.url,
            NATS_NKEY: access.seedOf(userOf(service, 'box')),
          },
          views: { MONGODB_URL: `mongodb://127.0.0.1:${mongoPort}/runledger` },
          gatewayPort,
          healthPort: healthPorts[at] ?? 0,
          folder: folder.path,
          name: 'box',
        });
        return open.use(startOwn(service, env));
      });
      await Promise.all(services.map((service) => service.lacks('broker', 'the broker is unavailable')));

      await Promise.all(brokers.parts.map((part) => start(open, part)));
      await Promise.all(services.map((service) => service.has('broker')));
      await Promise.all(services.map((service) => service.lacks(...UNPROVISIONED[service.service])));

      const log = open.use(
        await openEventLog({ url: brokers.url, name: 'test', seed: access.operator }, silentLogger),
      );
      await provision(log);
      const organisation = await storeOrganisation(log, new Date());
      // Without MongoDB the gateway answers from the log, and refuses lists.
      await Promise.all(services.map((service) => service.ready()));
      const receiver = open.use(await startReceiver());
      await (await beginJourney({ gatewayPort, organisation, receiver })).completes();
      expect(await listed(gatewayPort, organisation)).toMatchObject({ status: 503 });
      const gateway = services.find(({ service }) => service === 'gateway');
      await waitFor('the gateway to log it', () =>
        gateway?.output().includes('the projection was interrupted; trying again'),
      );

      const mongo = await databaseAt(server(mongoPort, 'database'));
      if (mongo) await start(open, mongo);
      await waitFor(
        'the views to catch up',
        async () => {
          const { status, runs } = await listed(gatewayPort, organisation);
          return status === 200 && runs === 2;
        },
        { withinMs: 60_000 },
      );
    },
  );
});

const listed = async (
  port: number,
  { api_key }: Organisation,
): Promise<{ readonly status: number; readonly runs: number }> => {
  const headers = { authorization: `Bearer ${api_key}` };
  const answer = await fetch(`${originOf(port)}/api/runs`, { headers });
  const page: unknown = await answer.json();
  return { status: answer.status, runs: Page.Check(page) ? page.runs.length : 0 };
};
