import { newUuid } from '@runledger/contracts/ids';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { waitFor } from '@runledger/testing/wait-for';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rateLimit, sharedTokens } from '../../../src/door/rate-limit.ts';
import { putBack, refilled } from '../../../src/door/rate-limit.decide.ts';
import { aLog, type TestLog } from '../../fixtures/gateway/a-log.ts';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { RateCounters } from '../../../src/gateway-metrics.ts';
import { aConfig, aKit } from '../../fixtures/gateway/a-kit.ts';

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
});
afterAll(() => test[Symbol.asyncDispose]());

const Stored = Type.Object({ tokens: Type.Number(), at: Type.Number() });
const storedOf = async (key: string) => {
  const entry = await openBucket(test.log, 'RATES', Stored).get(key);
  if (!entry) throw new Error('nothing was taken yet');
  return { ...entry.value, revision: entry.revision };
};
const counters = { refused: () => undefined, leaseTaken: () => undefined, letThrough: () => undefined };
const limited = (log: EventLog, limit: number, timeoutMs: number, rate: RateCounters) =>
  rateLimit(
    aKit({ log, metrics: { rate }, config: aConfig({ RUNLEDGER_RATE_LIMIT: String(limit) }) }),
    timeoutMs,
  );
/** So few that next to nothing flows in during a test. */
const FEW = 60;

describe('the shared tokens of a limit', () => {
  it('are complete again after ten gateways took and returned tokens at once', async () => {
    const key = newUuid();
    const gateways = await Promise.all(
      Array.from({ length: 10 }, async () => sharedTokens(await test.open(), FEW)),
    );
    const taken = await Promise.all(gateways.map((shared) => shared.take(key, () => 5)));
    expect(taken.map(({ granted }) => granted)).toEqual(gateways.map(() => 5));
    const before = await storedOf(key);
    await Promise.all(gateways.map((shared) => shared.giveBack(key, 3)));
    const after = await storedOf(key);
    expect(after.revision).toBe(before.revision + 10);
    expect(after.tokens).toBeCloseTo(putBack(before, after.at, FEW, 30).tokens);
  });

  it('never exceed the limit, for any returned tokens', async () => {
    const key = newUuid();
    const shared = sharedTokens(test.log, FEW);
    // Nothing is stored of a key that was not used: its bucket is full.
    await shared.giveBack(key, 7);
    expect(await shared.take(key, () => FEW)).toMatchObject({ granted: FEW });
    for (let n = 0; n < 3; n += 1) await shared.giveBack(key, FEW - 1);
    expect((await storedOf(key)).tokens).toBe(FEW);
  });

  it('include the tokens that a gateway did not spend, a second later', async () => {
    const key = newUuid();
    const limit = 240;
    const gateway = limited(test.log, limit, 20_000, counters);
    await gateway({ id: key });
    const holding = await waitFor('the gateway to take two for one request', async () => {
      const before = await storedOf(key);
      await gateway({ id: key });
      const after = await storedOf(key);
      const granted = refilled(before, after.at, limit).tokens - after.tokens;
      return granted > 1.5 ? after : undefined;
    });
    const back = await waitFor('the other one to be back', async () => {
      const now = await storedOf(key);
      return now.revision > holding.revision ? now : undefined;
    });
    expect(back.tokens).toBeCloseTo(putBack(holding, back.at, limit, 1).tokens);
  });
});
