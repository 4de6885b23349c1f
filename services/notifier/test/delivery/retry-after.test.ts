import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aReceiver, status } from '@runledger/testing/stand-ins/webhook-receiver';
import { openTestBed, type RunningNotifier, type TestBed } from '../fixtures/test-bed.ts';
import { FIRST_WAIT_MS, retryOf } from '../fixtures/attempts-of.ts';

let bed: TestBed;
let running: RunningNotifier;
beforeAll(async () => {
  bed = await openTestBed();
  running = await bed.start();
});
afterAll(async () => {
  await running[Symbol.asyncDispose]();
  await bed[Symbol.asyncDispose]();
});

describe('Retry-After', () => {
  const SIX_HOURS = 6 * 3_600_000;
  /** Dates have whole seconds, and what follows a try takes its time. */
  const SLACK_MS = 10_000;
  const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1_000).toUTCString();

  it.concurrent.each<[string, () => string, number]>([
    ['seconds', () => '600', 600_000],
    ['a date', () => inSeconds(600), 600_000],
    ['more seconds than six hours', () => '4000000000', SIX_HOURS],
    ['a date beyond six hours', () => inSeconds(86_400), SIX_HOURS],
  ])('in %s lengthens the wait, up to six hours', async (_form, retryAfter, expected) => {
    await using receiver = await aReceiver((arrived, response) =>
      status(503, { 'retry-after': retryAfter() })(arrived, response),
    );
    const { waitMs } = await retryOf(bed, await bed.succeed(`${receiver.url}/hook`));
    expect(waitMs).toBeGreaterThan(expected - SLACK_MS);
    expect(waitMs).toBeLessThanOrEqual(expected + SLACK_MS);
  });

  it.concurrent.each([
    ['too few seconds', '1'],
    ['no seconds', '0'],
    ['negative seconds', '-30'],
    ['a date in the past', 'Thu, 01 Jan 1970 00:00:00 GMT'],
    ['an invalid date', 'Mon, 99 Foo 2999 99:99:99 GMT'],
    ['words', 'tomorrow'],
    ['nothing', ''],
    ['a number that is too large', '9'.repeat(400)],
    ['a broken number', '1e9'],
  ])('of %s changes nothing', async (_form, retryAfter) => {
    await using receiver = await aReceiver(status(429, { 'retry-after': retryAfter }));
    const { waitMs } = await retryOf(bed, await bed.succeed(`${receiver.url}/hook`));
    expect(waitMs).toBeGreaterThan(FIRST_WAIT_MS.least);
    expect(waitMs).toBeLessThan(FIRST_WAIT_MS.most);
  });
});
