import { testNats } from '@runledger/testing/servers/nats';
import { describe, expect, it } from 'vitest';
import { startReceiver } from '../../src/clients/receiver.ts';
import type { ServiceName } from '../../src/cluster/service.ts';
import { openOneLog, SERVICES, type OneLog } from '../system/separate-processes/one-log.ts';

/** The name of a start: a service starts while exactly these others run. */
const startOf = (service: ServiceName, running: readonly ServiceName[]): string =>
  `${service} with ${running.toSorted().join(', ') || 'no other'}`;

const without = (services: readonly ServiceName[]): ServiceName[] =>
  SERVICES.filter((service) => !services.includes(service));

/** Every order of the services that do not run yet. */
const ordersFrom = (running: readonly ServiceName[]): ServiceName[][] => {
  const others = without(running);
  if (others.length === 0) return [[...running]];
  return others.flatMap((next) => ordersFrom([...running, next]));
};

/**
 * Starts each missing service, one at a time, then the others in the same way, and stops it again. Each start happens
 * once, on whichever log reaches it first. When all services run, every queued run completes.
 */
const startMissing = async (
  running: readonly ServiceName[],
  log: OneLog,
  done: Set<string>,
): Promise<void> => {
  if (without(running).length === 0) await log.complete();
  for (const service of without(running)) {
    const start = startOf(service, running);
    if (done.has(start)) continue;
    done.add(start);
    const started = await log.start(service, running);
    await startMissing([...running, service], log, done);
    await started.stop();
  }
};

describe('the services, each as a separate process', () => {
  it(
    'become ready in every order of starts, an executor once there is a scheduler',
    { timeout: 300_000 },
    async () => {
      await using open = new AsyncDisposableStack();
      const user = (service: ServiceName) => ({ user: service, password: 'of-a-test' });
      const accounts = SERVICES.map(
        (service) => `${service}: {jetstream: enabled, users: [${JSON.stringify(user(service))}]}`,
      );
      const nats = open.use(await testNats({ authorization: `accounts {\n${accounts.join('\n')}\n}` }));
      const receiver = open.use(await startReceiver());

      const done = new Set<string>();
      const beginWith = async (first: ServiceName): Promise<void> => {
        const log = open.use(await openOneLog({ url: nats.url, ...user(first) }, receiver));
        done.add(startOf(first, []));
        const started = await log.start(first, []);
        await startMissing([first], log, done);
        await started.stop();
      };
      // At the same time, because a start mostly waits.
      const results = await Promise.allSettled(SERVICES.map(beginWith));
      expect(results.filter(({ status }) => status === 'rejected')).toEqual([]);

      expect(done.size).toBe(32);
      const orders = ordersFrom([]);
      expect(orders).toHaveLength(24);
      for (const order of orders) {
        const starts = order.map((service, at) => startOf(service, order.slice(0, at)));
        expect([...done]).toEqual(expect.arrayContaining(starts));
      }
    },
  );
});
