import type { RunKey } from '@runledger/contracts/events/subjects';
import { aRun, queued } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunSubscriptions } from '../../../src/runs/run-subscriptions.ts';
import { aLog, type TestLog } from '../../fixtures/gateway/a-log.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { HOLDER, someSubscriptions } from './some-subscriptions.ts';

const open = new AsyncDisposableStack();
let log: TestLog['log'];
let subscriptions: RunSubscriptions;
beforeAll(async () => {
  ({ log } = open.use(await aLog()));
  subscriptions = open.use(someSubscriptions(log));
});
afterAll(() => open[Symbol.asyncDispose]());

const aQueuedRun = async (): Promise<RunKey> => {
  const run = aRun();
  await appendAll(log, queued(run));
  return run;
};

describe('subscribing to a run', () => {
  const nothing = () => undefined;
  const subscribe = (run: RunKey) =>
    subscriptions.subscribe(run, HOLDER, { onFacts: nothing, onProgress: nothing, onOver: nothing });

  it('reads the run once for all subscribers, until the last one leaves', async () => {
    const run = await aQueuedRun();
    const subscribed = Array.from({ length: 5 }, () => subscribe(run));
    await waitFor('the fact', () => subscribed.every(({ facts }) => facts.length === 1));
    expect(new Set(subscribed.map(({ facts }) => facts)).size).toBe(1);
    expect(subscriptions.subscribers()).toBe(5);
    for (const one of subscribed) one[Symbol.dispose]();
    expect(subscriptions.subscribers()).toBe(0);
    using later = subscribe(run);
    expect(later.facts).not.toBe(subscribed[0]?.facts);
    await waitFor('the fact again', () => later.facts.length === 1);
  });
});

const nobodyGoes = new AbortController().signal;
const LONG_MS = 60_000;

/** Waits until the wait is over, and returns the number of subscribers then. */
const subscribersAfter = async (waiting: Promise<void>, of = subscriptions): Promise<number> => {
  await waiting;
  return of.subscribers();
};

describe('waiting for the end of a run', () => {
  it('resolves when the client disconnects, also before the wait begins', async () => {
    const run = await aQueuedRun();
    const gone = new AbortController();
    const waiting = subscriptions.awaitEnd(run, { withinMs: LONG_MS, signal: gone.signal, holder: HOLDER });
    expect(subscriptions.subscribers()).toBe(1);
    expect(subscriptions.waits()).toBe(1);
    gone.abort();
    expect(await subscribersAfter(waiting)).toBe(0);
    expect(
      await subscribersAfter(
        subscriptions.awaitEnd(run, { withinMs: LONG_MS, signal: gone.signal, holder: HOLDER }),
      ),
    ).toBe(0);
  });

  it('does not begin when too many requests wait', async () => {
    const run = await aQueuedRun();
    await using full = someSubscriptions(log, { maxSubscribers: 0 });
    expect(
      await subscribersAfter(
        full.awaitEnd(run, { withinMs: LONG_MS, signal: nobodyGoes, holder: HOLDER }),
        full,
      ),
    ).toBe(0);
  });
});
