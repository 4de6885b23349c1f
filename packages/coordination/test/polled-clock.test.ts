import { expect, it } from 'vitest';
import { polledClock, openBrokerTime } from '../src/broker-clock.ts';
import { aLog, aLogOnOwnBroker } from '@runledger/event-log/test/fixtures/test-log';

it("the broker's clock is read once for many callers and is never ahead of its time stamps", async () => {
  await using test = await aLog();
  const now = polledClock(test.log, 'KV_RATES');
  const requests = (): number => test.log.nc.stats().outMsgs;
  const times = await Promise.all(Array.from({ length: 8 }, now));
  const before = requests();
  const time = await now();
  expect(requests()).toBe(before);
  expect(time).toBeGreaterThanOrEqual(Math.max(...times));
  const { seq } = await test.log.js.publish('$KV.RATES.later', '{}');
  const stored = await test.log.jsm.streams.getMessage('KV_RATES', { seq });
  // Both clocks are this machine's, one in whole milliseconds: only as much as rounding takes.
  expect(time).toBeLessThan(Date.parse(stored?.timestamp ?? '') + 1);
  expect(Date.parse(stored?.timestamp ?? '') - time).toBeLessThan(60_000);
});

it("the broker's time is known at once, even while the broker is unavailable", async () => {
  await using test = await aLogOnOwnBroker();
  using time = await openBrokerTime(test.log, 'KV_RATES');
  const before = time.now();
  await test.nats.kill9();
  expect(time.now().getTime()).toBeGreaterThanOrEqual(before.getTime());
  // Both clocks are this machine's.
  expect(Math.abs(time.now().getTime() - Date.now())).toBeLessThan(60_000);
});
