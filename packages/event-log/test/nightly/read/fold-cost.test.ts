import { relativeCost } from '@runledger/testing/measuring';
import { assigned, aRun, queued, started, succeeded } from '@runledger/testing/run-events';
import { expect, it } from 'vitest';
import { readChain } from '@runledger/contracts/fold/read-chain';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { lifecycleFilter, runEventSubject } from '@runledger/contracts/events/subjects';

/** What it cost when it was measured last: see `relativeCost`. */
const COST = 6;

it('folding the four facts of a run costs less than twice what it did', () => {
  const key = aRun();
  const messages = [queued(key), assigned(key), started(key), succeeded(key)].map((event, n) => ({
    subject: runEventSubject(event),
    sequence: n + 1,
    time: '2026-01-01T00:00:00.000Z',
    fence: lifecycleFilter(key),
    expectedSequence: n,
    body: JSON.parse(JSON.stringify(event)) as unknown,
  }));
  expect(readChain(RUN_CHAIN, messages)).toMatchObject({
    kind: 'whole',
    history: { state: { status: 'success' } },
  });
  expect(relativeCost(() => readChain(RUN_CHAIN, messages))).toBeLessThan(2 * COST);
});
