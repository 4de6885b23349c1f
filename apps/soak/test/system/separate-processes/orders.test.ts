import { testNats } from '@runledger/testing/servers/nats';
import { describe, expect, it } from 'vitest';
import { startReceiver } from '../../../src/clients/receiver.ts';
import { steadyClock } from '../../../src/cluster/clock.ts';
import type { ServiceName } from '../../../src/cluster/service.ts';
import { openOneLog, SERVICES, type OneLog } from './one-log.ts';

/** That a service is started while exactly these others are there. */
const startOf = (service: ServiceName, there: readonly ServiceName[]): string =>
  `${service} beside ${there.toSorted().join(', ') || 'nobody'}`;

const without = (services: readonly ServiceName[]): ServiceName[] =>
  SERVICES.filter((service) => !services.includes(service));

/** Every order of those that are not there yet. */
const ordersFrom = (there: readonly ServiceName[]): ServiceName[][] => {
  const others = without(there);
  if (others.length === 0) return [[...there]];
  return others.flatMap((next) => ordersFrom([...there, next]));
};

/**
 * Starts every service beside these, one at a time, then whatever else beside both, and stops it again: each start once,
 * by whichever log comes to it first. With all of them there, everything that was queued arrives.
 */
const startAllBeside = async (
  there: readonly ServiceName[],
  log: OneLog,
  done: Set<string>,
): Promise<void> => {
  if (without(there).length === 0) await log.arrive();
  for (const service of without(there)) {
    const start = startOf(service, there);
    if (done.has(start)) continue;
    done.add(start);
    const started = await log.start(service);
    await startAllBeside([...there, service], log, done);
    await started.stop();
  }
};

describe('the services, each started alone', () => {
  it('are ready whichever of the others are there, so in every order', { timeout: 300_000 }, async () => {
    await using open = new AsyncDisposableStack();
    const user = (service: ServiceName) => ({ user: service, password: 'of-a-test' });
    const accounts = SERVICES.map(
      (service) => `${service}: {jetstream: enabled, users: [${JSON.stringify(user(service))}]}`,
    );
    const nats = open.use(
      await testNats({ authorization: `accounts {\n${accounts.join('\n')}\n}`, fileStoreLimit: 2 ** 40 }),
    );
    const receiver = open.use(await startReceiver(steadyClock));

    const done = new Set<string>();
    const beginWith = async (first: ServiceName): Promise<void> => {
      const log = open.use(await openOneLog({ url: nats.url, ...user(first) }, receiver));
      done.add(startOf(first, []));
      const started = await log.start(first);
      await startAllBeside([first], log, done);
      await started.stop();
    };
    // Side by side, since most of a start is waiting.
    const lanes = await Promise.allSettled(SERVICES.map(beginWith));
    expect(lanes.filter(({ status }) => status === 'rejected')).toEqual([]);

    expect(done.size).toBe(32);
    const orders = ordersFrom([]);
    expect(orders).toHaveLength(24);
    for (const order of orders) {
      const starts = order.map((service, at) => startOf(service, order.slice(0, at)));
      expect([...done]).toEqual(expect.arrayContaining(starts));
    }
  });
});
