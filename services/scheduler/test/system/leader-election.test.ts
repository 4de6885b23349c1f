import { describe, expect, it } from 'vitest';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { waitFor } from '@runledger/testing/wait-for';
import { openTestSchedulerOnOwnBroker } from '../fixtures/scheduler-test-bed.ts';
import { startScheduler } from '../fixtures/scheduler-process.ts';

describe('two schedulers', () => {
  it('take turns: one leads, the leader is killed, the other takes over and assigns nothing twice', async () => {
    await using bed = await openTestSchedulerOnOwnBroker();
    await using one = await startScheduler(bed.nats);
    await waitFor('the first to lead', () => one.leading());
    await using two = await startScheduler(bed.nats);
    const executor = await bed.executor('box', 20);
    const keys: RunKey[] = [];
    for (let run = 0; run < 40; run += 1) keys.push(await bed.queue());
    await waitFor('the first to be at work', async () => (await one.assignments()) > 0);
    expect(await two.leading()).toBe(false);
    await one.kill9();

    for (const key of keys) {
      await executor.assigned(key);
      await executor.append(key, 'RunStarted', { cold_start_s: 0 });
      await executor.append(key, 'RunSucceeded', { outputs: [], outputs_blob: null });
    }
    expect(await two.leading()).toBe(true);
    for (const key of keys) {
      expect(await bed.events(key)).toEqual(['RunQueued', 'RunAssigned', 'RunStarted', 'RunSucceeded']);
    }
  });

  it('take turns when the leader is stopped and goes on later: what it still wants to decide is refused, and it stands by', async () => {
    await using bed = await openTestSchedulerOnOwnBroker();
    await using one = await startScheduler(bed.nats);
    await waitFor('the first to lead', () => one.leading());
    await using two = await startScheduler(bed.nats);
    const executor = await bed.executor('box', 4);
    const keys: RunKey[] = [];
    for (let run = 0; run < 12; run += 1) keys.push(await bed.queue());
    await waitFor('the first to be at work', async () => (await one.assignments()) > 0);
    one.freeze();
    const endOf = async (key: RunKey): Promise<void> => {
      await executor.assigned(key);
      await executor.append(key, 'RunStarted', { cold_start_s: 0 });
      await executor.append(key, 'RunSucceeded', { outputs: [], outputs_blob: null });
    };
    for (const key of keys.slice(0, 6)) await endOf(key);
    // To the one that goes on nothing of this has happened, and slots are free.
    one.thaw();
    for (const key of keys.slice(6)) await endOf(key);
    for (const key of keys) {
      expect(await bed.events(key)).toEqual(['RunQueued', 'RunAssigned', 'RunStarted', 'RunSucceeded']);
    }
    await waitFor('the first to stand by', async () => !(await one.leading()));
    expect(await two.leading()).toBe(true);
    await two.kill9();
    const next = await bed.queue();
    await endOf(next);
    expect(await one.leading()).toBe(true);
  });

  it('start runs once and at their times when the leader is killed while runs are delayed', async () => {
    await using bed = await openTestSchedulerOnOwnBroker();
    await using one = await startScheduler(bed.nats);
    await waitFor('the first to lead', () => one.leading());
    await using two = await startScheduler(bed.nats);
    const executor = await bed.executor('box', 20);
    const delays = Array.from({ length: 20 }, (_, n) => 1 + n / 4);
    const keys = await Promise.all(delays.map((delay_s) => bed.queue({ delay_s })));
    const [first, ...others] = keys;
    if (!first) throw new Error('no run is queued');
    await executor.assigned(first);
    await one.kill9();
    await Promise.all(others.map((key) => executor.assigned(key)));
    expect(await two.leading()).toBe(true);
    for (const [n, key] of keys.entries()) {
      expect(await bed.events(key)).toEqual(['RunQueued', 'RunAssigned']);
      const { created_at, attempt } = await bed.run(key);
      const waitedS = (Date.parse(attempt?.assigned_at ?? '') - Date.parse(created_at)) / 1_000;
      expect(waitedS).toBeGreaterThanOrEqual(delays[n] ?? Infinity);
    }
    const slots = await Promise.all(keys.map(async (key) => (await executor.assigned(key)).data.slot));
    expect(new Set(slots).size).toBe(keys.length);
  });

  it('hand over at once when the leader stops cleanly', async () => {
    await using bed = await openTestSchedulerOnOwnBroker();
    await using one = await startScheduler(bed.nats);
    await waitFor('the first to lead', () => one.leading());
    await using two = await startScheduler(bed.nats);
    const readyz = await fetch(`${two.health}/readyz`);
    expect(readyz.status).toBe(200);
    expect(await one.stop()).toBe(0);
    await waitFor('the second to lead', () => two.leading());
  });
});
