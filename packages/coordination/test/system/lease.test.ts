import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { acquireLease } from '../../src/lease.ts';
import { aLog, aLogOnOwnBroker, type TestLog } from '@runledger/event-log/test/fixtures/test-log';

let test: TestLog;
let log: EventLog;
beforeAll(async () => {
  test = await aLog();
  log = test.log;
});
afterAll(() => test[Symbol.asyncDispose]());

const forEver = new AbortController().signal;
const shortly = { ttlMs: 1_500 };

describe('a lease', () => {
  it('is held by one of several processes, and by the next when it is released', async () => {
    const logs = await Promise.all(Array.from({ length: 4 }, () => test.open()));
    let holders = 0;
    let most = 0;
    let turns = 0;
    await Promise.all(
      logs.map(async (own, n) => {
        const lease = await acquireLease(own, { name: 'turns', holder: `h${n}`, ...shortly }, forEver);
        holders += 1;
        most = Math.max(most, holders);
        await new Promise((resolve) => setImmediate(resolve));
        expect(lease.lost.aborted).toBe(false);
        holders -= 1;
        turns += 1;
        await lease.release();
      }),
    );
    expect([turns, most]).toEqual([4, 1]);
  });

  it('passes to another process when its holder has died', async () => {
    const dying = await test.open();
    const first = await acquireLease(dying, { name: 'failover', holder: 'first', ...shortly }, forEver);
    const waiting = acquireLease(log, { name: 'failover', holder: 'second', ...shortly }, forEver);
    await dying.nc.close();
    const second = await waiting;
    await expect.poll(() => first.lost.aborted, { timeout: 10_000 }).toBe(true);
    expect(second.lost.aborted).toBe(false);
    await second.release();
  });

  it('stays with a living holder', async () => {
    const first = await acquireLease(log, { name: 'kept', holder: 'first', ...shortly }, forEver);
    const stop = new AbortController();
    const waiting = acquireLease(
      await test.open(),
      { name: 'kept', holder: 'second', ...shortly },
      stop.signal,
    );
    const revision = async () =>
      (await log.jsm.streams.getMessage('KV_LEASES', { last_by_subj: '$KV.LEASES.kept' }))?.seq ?? 0;
    const before = await revision();
    // Four renewals take longer than the time after which an unresponsive holder would lose it.
    await expect.poll(revision, { timeout: 20_000 }).toBeGreaterThan(before + 4);
    expect(first.lost.aborted).toBe(false);
    stop.abort();
    await expect(waiting).rejects.toThrow('abort');
    await first.release();
  });

  it('is lost when the broker is unavailable for longer, and can be acquired again', async () => {
    await using broken = await aLogOnOwnBroker();
    const request = { name: 'outage', holder: 'one', ...shortly };
    const lease = await acquireLease(broken.log, request, forEver);
    await broken.nats.kill9();
    await expect.poll(() => lease.lost.aborted, { timeout: 10_000 }).toBe(true);
    const waiting = acquireLease(broken.log, request, forEver);
    await broken.nats.restart();
    const again = await waiting;
    expect(again.lost.aborted).toBe(false);
    await again.release();
  });
});
