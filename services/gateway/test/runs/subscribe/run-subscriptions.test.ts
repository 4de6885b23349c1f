import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { assigned, aRun, queued, started, succeeded } from '@runledger/testing/events/run-events';
import { waitFor } from '@runledger/testing/time/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunSubscriptions } from '../../../src/runs/subscribe/run-subscriptions.ts';
import { aLog, type TestLog } from '../../fixtures/gateway/a-log.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { someSubscriptions } from './some-subscriptions.ts';

const open = new AsyncDisposableStack();
let log: TestLog['log'];
let watching: RunSubscriptions;
beforeAll(async () => {
  ({ log } = open.use(await aLog()));
  watching = open.use(someSubscriptions(log));
});
afterAll(() => open[Symbol.asyncDispose]());

const aQueuedRun = async (): Promise<RunKey> => {
  const run = aRun();
  await appendAll(log, queued(run));
  return run;
};

describe('subscribing to a run', () => {
  const nothing = () => undefined;
  const watch = (run: RunKey) =>
    watching.subscribe(run, { onFacts: nothing, onProgress: nothing, onOver: nothing });

  it('reads the run once for all subscribers, until the last one leaves', async () => {
    const run = await aQueuedRun();
    const watched = Array.from({ length: 5 }, () => watch(run));
    await waitFor('the fact', () => watched.every(({ facts }) => facts.length === 1));
    expect(new Set(watched.map(({ facts }) => facts)).size).toBe(1);
    expect(watching.subscribers()).toBe(5);
    for (const one of watched) one[Symbol.dispose]();
    expect(watching.subscribers()).toBe(0);
    using later = watch(run);
    expect(later.facts).not.toBe(watched[0]?.facts);
    await waitFor('the fact again', () => later.facts.length === 1);
  });
});

const nobodyGoes = new AbortController().signal;
const LONG_MS = 60_000;

/** Waits until it is over, and gives how many watch then. */
const watchersAfter = async (waiting: Promise<void>, of = watching): Promise<number> => {
  await waiting;
  return of.subscribers();
};

describe('waiting for the end of a run', () => {
  it('resolves when the run has ended, and not before', async () => {
    const run = await aQueuedRun();
    let over = false;
    const waiting = watching.awaitEnd(run, { withinMs: LONG_MS, signal: nobodyGoes });
    void waiting.then(() => (over = true));
    await appendAll(log, assigned(run), started(run));
    expect(over).toBe(false);
    await appendAll(log, succeeded(run));
    expect(await watchersAfter(waiting)).toBe(0);
  });

  it('resolves at once for a run that has ended', async () => {
    const run = await aQueuedRun();
    await appendAll(log, assigned(run), started(run), succeeded(run));
    expect(await watchersAfter(watching.awaitEnd(run, { withinMs: LONG_MS, signal: nobodyGoes }))).toBe(0);
  });

  it('resolves when the time is over', async () => {
    expect(
      await watchersAfter(watching.awaitEnd(await aQueuedRun(), { withinMs: 50, signal: nobodyGoes })),
    ).toBe(0);
  });

  it('resolves when the client disconnects, also before the wait begins', async () => {
    const run = await aQueuedRun();
    const gone = new AbortController();
    const waiting = watching.awaitEnd(run, { withinMs: LONG_MS, signal: gone.signal });
    expect(watching.subscribers()).toBe(1);
    expect(watching.waits()).toBe(1);
    gone.abort();
    expect(await watchersAfter(waiting)).toBe(0);
    expect(await watchersAfter(watching.awaitEnd(run, { withinMs: LONG_MS, signal: gone.signal }))).toBe(0);
  });

  it('resolves when the service stops, and does not begin after that', async () => {
    const run = await aQueuedRun();
    await using stopping = someSubscriptions(log);
    const waiting = stopping.awaitEnd(run, { withinMs: LONG_MS, signal: nobodyGoes });
    stopping.stop();
    expect(await watchersAfter(waiting, stopping)).toBe(0);
    expect(
      await watchersAfter(stopping.awaitEnd(run, { withinMs: LONG_MS, signal: nobodyGoes }), stopping),
    ).toBe(0);
  });

  it('does not begin when too many requests wait', async () => {
    const run = await aQueuedRun();
    await using full = someSubscriptions(log, { maxSubscribers: 0 });
    expect(await watchersAfter(full.awaitEnd(run, { withinMs: LONG_MS, signal: nobodyGoes }), full)).toBe(0);
  });
});
