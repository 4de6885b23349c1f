import { newUuid } from '@runledger/contracts/ids';
import { waitFor } from '@runledger/testing/time/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { keyStore } from '../../src/auth/key-store.ts';
import { lastUses } from '../../src/auth/last-uses.ts';
import { aLog, type TestLog } from '../fixtures/gateway/a-log.ts';

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
});
afterAll(() => test[Symbol.asyncDispose]());

const aKey = async () =>
  (await createApiKey(test.log, { org_id: newUuid(), user_id: newUuid(), name: 'x' })).record;
const writes = async (): Promise<number> => (await test.log.jsm.streams.info('KV_KEYS')).state.last_seq;
const at = (second: number): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, second));

describe('the last use of a key', () => {
  it('is stored at once, and then once a minute', async () => {
    const record = await aKey();
    let second = 0;
    const note = lastUses({ log: test.log, now: () => at(second), clock: () => second * 1000 });
    const noted = async () => (await keyStore(test.log).lastUses(record.org_id)).get(record.id);
    note(record);
    await waitFor('the first use', async () => (await noted()) === at(0).toISOString());
    const before = await writes();
    for (second = 1; second < 60; second += 1) note(record);
    note(record);
    await waitFor('the use after a minute', async () => (await noted()) === at(60).toISOString());
    expect(await writes()).toBe(before + 1);
  });

  it('does not fail while the log is unavailable', async () => {
    const record = await aKey();
    const closed = await test.open();
    const clock = () => 0;
    await closed[Symbol.asyncDispose]();
    const note = lastUses({ log: closed, now: () => at(0), clock });
    for (let use = 0; use < 200; use += 1) note(record);
    expect(await keyStore(test.log).lastUses(record.org_id)).toEqual(new Map());
  });
});
