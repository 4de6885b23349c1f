import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestCluster, type TestCluster } from '../../fixtures/gateway/a-cluster.ts';
import { clientsDuring } from './clients.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await openTestCluster();
}, 120_000);
afterAll(() => cluster[Symbol.asyncDispose]());

/** Longer than an election, and than a leader that is cut off responds. */
const FAULT_MS = 12_000;
/** Before and after a fault, while all gateways answer. */
const AROUND_MS = 4_000;

const duringFault = async (
  begin: () => void | Promise<void>,
  end: () => void | Promise<void>,
): Promise<void> => {
  await pause(AROUND_MS);
  await begin();
  await pause(FAULT_MS);
  await end();
  await cluster.settledLeader();
  await pause(AROUND_MS);
};

/** Clients are shown nothing that goes back, at any gateway, and each gateway answers. */
const expectNoReadWentBack = async (faults: () => Promise<void>): Promise<void> => {
  const { wentBack, reads, streamed } = await clientsDuring(cluster, faults);
  expect(wentBack).toEqual([]);
  expect(Math.min(...reads)).toBeGreaterThan(20);
  expect(streamed).toBeGreaterThan(20);
};

const leader = async () => {
  const number = await cluster.settledLeader();
  const broker = cluster.brokers.servers[number];
  if (!broker) throw new Error(`there is no broker ${number}`);
  return { number, broker };
};

describe('GET, waits and streams through three gateways', { timeout: 180_000 }, () => {
  it('show nothing less than before while the leader is paused and continues', async () => {
    await expectNoReadWentBack(async () => {
      for (let pauses = 1; pauses <= 3; pauses += 1) {
        const { broker } = await leader();
        await duringFault(
          () => broker.pause(),
          () => broker.resume(),
        );
      }
    });
  });

  it('show nothing less than before while the leader is killed and started again', async () => {
    await expectNoReadWentBack(async () => {
      const { broker } = await leader();
      await duringFault(
        () => broker.kill9(),
        () => broker.restart(),
      );
    });
  });

  it.each(['stall', 'drop'] as const)(
    'show nothing less than before while the leader is cut off from its peers (%s)',
    async (how) => {
      const { brokers } = cluster;
      await expectNoReadWentBack(async () => {
        const { number } = await leader();
        await duringFault(
          () => brokers.cutOff(number, how),
          () => brokers.heal(),
        );
      });
    },
  );

  it('show nothing less than before while a follower is cut off from its peers', async () => {
    const { brokers } = cluster;
    await expectNoReadWentBack(async () => {
      const { number } = await leader();
      await duringFault(
        () => brokers.cutOff((number + 1) % 3, 'stall'),
        () => brokers.heal(),
      );
    });
  });
});
