import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { testAccount } from '@runledger/testing/servers/nats-account';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { keepFull, limitedStream } from '../src/faults/change-limits.ts';

const STORE = 'TIMERS';
const body = new Uint8Array(1_000);

const aLog = async () => {
  await using opened = new AsyncDisposableStack();
  const account = opened.use(await testAccount());
  const log = opened.use(await openEventLog({ ...account.login, name: 'soak' }, silentLogger));
  await provision(log);
  const kept = opened.move();
  return { log, [Symbol.asyncDispose]: () => kept.disposeAsync() };
};

const fillOf = async (log: EventLog) => {
  const { state, config } = await log.jsm.streams.info(STORE);
  return { bytes: state.bytes, limit: config.max_bytes };
};

describe('a store that is kept full', () => {
  it('has no room, also when something leaves it meanwhile', async () => {
    await using test = await aLog();
    const { log } = test;
    for (const name of ['one', 'two', 'three']) await log.js.publish(`timers.${name}`, body);
    const before = await fillOf(log);
    const kept = keepFull(limitedStream(log, STORE), {
      kind: 'full',
      forMs: 1_000,
      readRuns: async () => [],
    });
    await waitFor('it to be full', async () => (await fillOf(log)).limit === before.bytes);
    await log.jsm.streams.purge(STORE, { filter: 'timers.one' });
    const after = await fillOf(log);
    expect(after.bytes).toBeLessThan(before.bytes);
    await waitFor('it to be full again', async () => (await fillOf(log)).limit === after.bytes);
    expect(await kept).toBe(true);
  });

  it('has no room when it is empty', async () => {
    await using test = await aLog();
    const { log } = test;
    const kept = keepFull(limitedStream(log, STORE), { kind: 'full', forMs: 1, readRuns: async () => [] });
    expect(await kept).toBe(true);
    await log.js.publish('timers.one', body);
    expect((await fillOf(log)).bytes).toBe(0);
  });
});
