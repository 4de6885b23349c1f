import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { describeWithMongo, testMongo } from '@runledger/testing/servers/mongo';
import { testNats } from '@runledger/testing/servers/nats';
import { waitFor } from '@runledger/testing/wait-for';
import { it } from 'vitest';
import { startReceiver } from '../../../src/clients/receiver.ts';
import { newBrokerAccess } from '../../../src/cluster/broker-access.ts';
import { storeOrganisation } from '../../../src/cluster/organisation.ts';
import { freePorts } from '@runledger/local-servers/free-port';
import { beginJourney } from './journey.ts';
import { ownEnvironment, userOf } from './own-environment.ts';
import { startOwn, type OwnProcess } from './own-process.ts';

/** `at`: which gateway it is, or which gateway it uploads files to. */
const PARTS = [
  { service: 'gpu-executor', name: 'box-1', at: 0 },
  { service: 'scheduler', name: 'one', at: 0 },
  { service: 'notifier', name: 'one', at: 0 },
  { service: 'gpu-executor', name: 'box-2', at: 0 },
  { service: 'gateway', name: 'one', at: 0 },
  { service: 'notifier', name: 'two', at: 0 },
  { service: 'scheduler', name: 'two', at: 0 },
  { service: 'gateway', name: 'two', at: 1 },
  { service: 'gpu-executor', name: 'box-3', at: 1 },
] as const;

describeWithMongo('two gateways, two schedulers, two notifiers and three executors', () => {
  it(
    'complete the runs of each gateway, also after one of each has stopped',
    { timeout: 300_000 },
    async () => {
      await using open = new AsyncDisposableStack();
      const access = newBrokerAccess(['box-1', 'box-2', 'box-3']);
      const nats = open.use(await testNats({ authorization: access.authorization }));
      const mongo = open.use(await testMongo());
      const receiver = open.use(await startReceiver());
      const log = open.use(
        await openEventLog({ url: nats.url, name: 'test', seed: access.operator }, silentLogger),
      );
      await provision(log);
      const organisation = await storeOrganisation(log, new Date());
      const folder = open.use(await mkdtempDisposable(join(tmpdir(), 'runledger-several-')));
      const [first = 0, second = 0, ...healthPorts] = await freePorts(2 + PARTS.length);
      const database = new URL(mongo.url);
      database.pathname = `/${mongo.database}`;

      const started = PARTS.map(({ service, name, at }, index): OwnProcess => {
        const env = ownEnvironment(service, {
          broker: { NATS_URL: nats.url, NATS_NKEY: access.seedOf(userOf(service, name)) },
          views: { MONGODB_URL: database.href },
          gatewayPort: at === 0 ? first : second,
          healthPort: healthPorts[index] ?? 0,
          folder: folder.path,
          name,
        });
        return open.use(startOwn(service, env));
      });
      await Promise.all(started.map((service) => service.ready()));
      const journeys = await Promise.all(
        [first, second].map((gatewayPort) => beginJourney({ gatewayPort, organisation, receiver })),
      );
      // Every gateway answers requests about every run.
      await Promise.all([journeys[0]?.completes(second), journeys[1]?.completes(first)]);

      const lastOf = new Map(started.map((service) => [service.service, service]));
      await Promise.all([...lastOf.values()].map((service) => service.stop()));
      const last = await waitFor('the remaining services to accept a run', () =>
        beginJourney({ gatewayPort: first, organisation, receiver }),
      );
      await last.completes();
    },
  );
});
