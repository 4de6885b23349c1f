import { newUuid } from '@runledger/contracts/ids';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rateLimit } from '../../../src/door/rate-limit.ts';
import { aLog, aLogOnOwnBroker, type TestLog } from '../../fixtures/gateway/a-log.ts';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { RateCounters } from '../../../src/gateway-metrics.ts';
import { aConfig, aKit } from '../../fixtures/gateway/a-kit.ts';

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
});
afterAll(() => test[Symbol.asyncDispose]());

/** So long that a slow machine lets nothing through. */
const timeoutMs = 20_000;
const counters = { refused: () => undefined, leaseTaken: () => undefined, letThrough: () => undefined };

const limited = (log: EventLog, limit: number, timeoutMs: number, rate: RateCounters) =>
  rateLimit(
    aKit({ log, metrics: { rate }, config: aConfig({ RUNLEDGER_RATE_LIMIT: String(limit) }) }),
    timeoutMs,
  );

const gatewayWith = async (limit: number) => limited(await test.open(), limit, timeoutMs, counters);

describe('the rate limit of a key', () => {
  it('counts its refusals', async () => {
    let refused = 0;
    const counting = { ...counters, refused: () => (refused += 1) };
    const limit = limited(test.log, 1, timeoutMs, counting);
    const key = { id: newUuid() };
    for (let n = 0; n < 3; n += 1) await limit(key);
    expect(refused).toBe(2);
  });

  it('is shared by a key and the keys derived from it', async () => {
    const limit = await gatewayWith(2);
    const [first, made] = [{ id: newUuid() }, newUuid()];
    expect(await limit(first)).toMatchObject({ allowed: true, remaining: 1 });
    expect(await limit({ id: made, rate_key: first.id })).toMatchObject({ allowed: true, remaining: 0 });
    expect(await limit({ id: newUuid(), rate_key: first.id })).toMatchObject({ allowed: false });
    expect(await limit({ id: made })).toMatchObject({ allowed: true });
  });

  it('is separate from that of other keys', async () => {
    const limit = await gatewayWith(2);
    const [key, other] = [{ id: newUuid() }, { id: newUuid() }];
    expect(await limit(key)).toEqual({ allowed: true, limit: 2, remaining: 1, resetS: 30 });
    expect(await limit(key)).toMatchObject({ allowed: true, remaining: 0 });
    expect(await limit(key)).toMatchObject({ allowed: false, remaining: 0 });
    expect(await limit(other)).toMatchObject({ allowed: true, remaining: 1 });
  });

  it('is known to a gateway that starts later', async () => {
    const key = { id: newUuid() };
    const before = await gatewayWith(3);
    for (let n = 0; n < 3; n += 1) expect(await before(key)).toMatchObject({ allowed: true });
    expect(await (await gatewayWith(3))(key)).toMatchObject({ allowed: false });
  });

  it('does not exist when the setting is 0', async () => {
    expect(await (await gatewayWith(0))({ id: newUuid() })).toBeUndefined();
  });

  it('allows requests when the stored tokens are unreadable', async () => {
    const limit = await gatewayWith(60);
    const id = newUuid();
    await test.log.js.publish(`$KV.RATES.${id}`, 'no json');
    expect(await limit({ id })).toMatchObject({ allowed: true, limit: 60 });
  });

  it('allows requests while the broker does not respond', async () => {
    await using alone = await aLogOnOwnBroker();
    const counted: string[] = [];
    const counting = {
      refused: () => counted.push('refused'),
      leaseTaken: () => counted.push('lease'),
      letThrough: () => counted.push('let through'),
    };
    const limit = limited(alone.log, 2, 50, counting);
    const key = { id: newUuid() };
    expect(await limit(key)).toMatchObject({ allowed: true });
    await alone.nats.pause();
    for (let n = 0; n < 5; n += 1) expect(await limit(key)).toMatchObject({ allowed: true, limit: 2 });
    alone.nats.resume();
    expect(counted[0]).toBe('lease');
    expect(counted.filter((what) => what === 'let through').length).toBeGreaterThan(0);
    expect(counted).not.toContain('refused');
  });
});
