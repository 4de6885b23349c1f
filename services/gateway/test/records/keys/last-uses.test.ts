import { newUuid } from '@runledger/contracts/ids';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiKey } from '../../../src/records/keys/api-keys.ts';
import { lastUsesOf, recordUse } from '../../../src/records/keys/key-store.ts';
import { lastUses } from '../../../src/records/keys/cached-authentication.ts';
import { aLog, type TestLog } from '../../fixtures/gateway/a-log.ts';
import { aKit } from '../../fixtures/gateway/a-kit.ts';

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
    const note = lastUses(aKit({ log: test.log, now: () => at(second), clock: () => second * 1000 }));
    const noted = async () => (await lastUsesOf(test.log, record.org_id)).get(record.id)?.at;
    note(record, '10.0.0.1');
    await waitFor('the first use', async () => (await noted()) === at(0).toISOString());
    const before = await writes();
    for (second = 1; second < 60; second += 1) note(record, '10.0.0.1');
    note(record, '10.0.0.1');
    await waitFor('the use after a minute', async () => (await noted()) === at(60).toISOString());
    expect(await writes()).toBe(before + 1);
  });

  it('is written once a minute, whichever of two gateways sees the key, and by the one that sees it last', async () => {
    const record = await aKey();
    const second = { one: 0, other: 0 };
    const gatewayAt = async (which: 'one' | 'other', address: string) => {
      const log = await test.open();
      const uses = { log, now: () => at(second[which]), clock: () => second[which] * 1000 };
      const note = lastUses(aKit(uses));
      return () => note(record, address);
    };
    const one = await gatewayAt('one', '10.0.0.1');
    const other = await gatewayAt('other', '10.0.0.2');
    const stored = async () => (await lastUsesOf(test.log, record.org_id)).get(record.id);
    one();
    await waitFor('the first use', async () => (await stored())?.address === '10.0.0.1');
    const before = await writes();
    // The other one begins with a read of what is stored, and waits until that is a minute old.
    for (second.other = 20; second.other < 60; second.other += 1) other();
    await waitFor('the use after a minute', async () => {
      other();
      return (await stored())?.address === '10.0.0.2';
    });
    expect(await stored()).toEqual({ at: at(60).toISOString(), address: '10.0.0.2' });
    for (second.one = 61; second.one < 120; second.one += 1) one();
    expect(await writes()).toBe(before + 1);
  });

  it('does not go back when an older one is written later', async () => {
    const record = await aKey();
    const [early, late] = [at(0), at(30)];
    expect(await recordUse(test.log, record, { at: late, address: undefined }, 60_000)).toEqual(late);
    expect(await recordUse(test.log, record, { at: early, address: '10.0.0.1' }, 60_000)).toEqual(late);
    expect((await lastUsesOf(test.log, record.org_id)).get(record.id)).toEqual({
      at: late.toISOString(),
      address: null,
    });
  });

  it('does not fail while the log is unavailable', async () => {
    const record = await aKey();
    const closed = await test.open();
    const clock = () => 0;
    await closed[Symbol.asyncDispose]();
    const note = lastUses(aKit({ log: closed, now: () => at(0), clock }));
    for (let use = 0; use < 200; use += 1) note(record, '10.0.0.1');
    expect(await lastUsesOf(test.log, record.org_id)).toEqual(new Map());
  });
});
