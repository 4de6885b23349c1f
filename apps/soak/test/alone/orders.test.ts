import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEventLog } from '@runledger/event-log/event-log';
import { silentLogger } from '@runledger/event-log/logger';
import { provision } from '@runledger/event-log/provision';
import { testNats } from '@runledger/testing/nats';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { startReceiver, type Receiver } from '../../src/clients/receiver.ts';
import { steadyClock } from '../../src/clock.ts';
import { storeOrganisation } from '../../src/cluster/organisation.ts';
import { lastingPorts } from '../../src/cluster/ports.ts';
import type { ServiceName } from '../../src/cluster/service.ts';
import { beginJourney, type Journey } from './journey.ts';
import { MEMORY, ownEnvironment } from './own-environment.ts';
import { startOwn } from './own-process.ts';

const SERVICES = ['gateway', 'scheduler', 'gpu-executor', 'notifier'] as const;

const ordersOf = (services: readonly ServiceName[]): ServiceName[][] =>
  services.length === 0
    ? [[]]
    : services.flatMap((first) =>
        ordersOf(services.filter((other) => other !== first)).map((rest) => [first, ...rest]),
      );

const accountOf = (order: readonly ServiceName[]): string => order.join('-then-');
const PASSWORD = 'of-a-test';
/** Each order has a log of its own, in an account of one broker. */
const ACCOUNTS = ordersOf(SERVICES)
  .map(accountOf)
  .map((name) => `"${name}": {jetstream: enabled, users: [{user: "${name}", password: "${PASSWORD}"}]}`);
/** The logs together may be larger than the disk: they stay empty as good as. */
const ROOM = 2 ** 42;

let nats: Awaited<ReturnType<typeof testNats>>;
let receiver: Receiver;

beforeAll(async () => {
  nats = await testNats({ authorization: `accounts {\n${ACCOUNTS.join('\n')}\n}`, fileStoreLimit: ROOM });
  receiver = await startReceiver(steadyClock);
});
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await nats[Symbol.asyncDispose]();
});

/** Starts one service after the other, each when all before it are ready; runs are queued as soon as anybody takes them. */
const startInOrder = async (order: readonly ServiceName[]): Promise<void> => {
  await using open = new AsyncDisposableStack();
  const user = accountOf(order);
  const settings = { url: nats.url, user, password: PASSWORD, name: 'test' };
  const log = open.use(await openEventLog(settings, silentLogger));
  await provision(log);
  const organisation = await storeOrganisation(log, new Date());
  const folder = open.use(await mkdtempDisposable(join(tmpdir(), 'runledger-order-')));
  const [gatewayPort = 0, ...healthPorts] = await lastingPorts(1 + order.length, Math.random);
  const broker = { NATS_URL: nats.url, NATS_USER: user, NATS_PASSWORD: PASSWORD };
  const shared = { broker, views: MEMORY, gatewayPort, folder: folder.path, name: 'box' };

  let journey: Journey | undefined;
  for (const [at, service] of order.entries()) {
    const own = { ...shared, healthPort: healthPorts[at] ?? 0 };
    await open.use(startOwn(service, ownEnvironment(service, own))).ready();
    if (service === 'gateway') journey = await beginJourney({ gatewayPort, organisation, receiver });
  }
  await journey?.arrives();
};

describe('each service started alone, whichever of the others are there', () => {
  // Four lanes side by side: most of a start is waiting.
  it.concurrent.each(SERVICES)(
    'is ready, and the journey arrives, in all six orders that begin with the %s',
    { timeout: 300_000 },
    async (first) => {
      for (const order of ordersOf(SERVICES).filter((services) => services[0] === first)) {
        try {
          await startInOrder(order);
        } catch (error) {
          throw new Error(`${accountOf(order)}: ${String(error)}`, { cause: error });
        }
      }
    },
  );
});
