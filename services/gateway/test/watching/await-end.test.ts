import { assigned, aRun, queued, started, succeeded } from '@runledger/testing/run-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aWorld, type World } from '../fixtures/a-world.ts';
import { appendAll } from '../fixtures/appended-facts.ts';
import { aStreamingGateway, type StreamingGateway } from './a-streaming-gateway.ts';

const open = new AsyncDisposableStack();
let world: World;
let gateway: StreamingGateway;
beforeAll(async () => {
  world = open.use(await aWorld());
  gateway = open.use(await aStreamingGateway(world.nats));
});
afterAll(() => open[Symbol.asyncDispose]());

const aQueuedRun = async () => {
  const run = aRun(world.tenant.org_id);
  await appendAll(world.log, queued(run));
  return run;
};
const nobodyGoes = new AbortController().signal;
const LONG_MS = 60_000;

/** Waits until it is over, and gives how many watch then. */
const watchersAfter = async (waiting: Promise<void>, of = gateway): Promise<number> => {
  await waiting;
  return of.watching.watchers();
};

describe('waiting for the end of a run', () => {
  it('is over when it has ended, and not before', async () => {
    const run = await aQueuedRun();
    let over = false;
    const waiting = gateway.watching.awaitEnd(run, { withinMs: LONG_MS, signal: nobodyGoes });
    void waiting.then(() => (over = true));
    await appendAll(world.log, assigned(run), started(run));
    expect(over).toBe(false);
    await appendAll(world.log, succeeded(run));
    expect(await watchersAfter(waiting)).toBe(0);
  });

  it('is over at once for one that has ended', async () => {
    const run = await aQueuedRun();
    await appendAll(world.log, assigned(run), started(run), succeeded(run));
    expect(
      await watchersAfter(gateway.watching.awaitEnd(run, { withinMs: LONG_MS, signal: nobodyGoes })),
    ).toBe(0);
  });

  it('is over when the time is', async () => {
    expect(
      await watchersAfter(
        gateway.watching.awaitEnd(await aQueuedRun(), { withinMs: 50, signal: nobodyGoes }),
      ),
    ).toBe(0);
  });

  it('is over when the client goes away, also before it begins', async () => {
    const run = await aQueuedRun();
    const gone = new AbortController();
    const waiting = gateway.watching.awaitEnd(run, { withinMs: LONG_MS, signal: gone.signal });
    expect(gateway.watching.watchers()).toBe(1);
    gone.abort();
    expect(await watchersAfter(waiting)).toBe(0);
    expect(
      await watchersAfter(gateway.watching.awaitEnd(run, { withinMs: LONG_MS, signal: gone.signal })),
    ).toBe(0);
  });

  it('is over when the service stops, and does not begin then', async () => {
    const run = await aQueuedRun();
    await using stopping = await aStreamingGateway(world.nats);
    const waiting = stopping.watching.awaitEnd(run, { withinMs: LONG_MS, signal: nobodyGoes });
    stopping.watching.stop();
    expect(await watchersAfter(waiting, stopping)).toBe(0);
    expect(
      await watchersAfter(
        stopping.watching.awaitEnd(run, { withinMs: LONG_MS, signal: nobodyGoes }),
        stopping,
      ),
    ).toBe(0);
  });

  it('does not begin where too many wait', async () => {
    const run = await aQueuedRun();
    await using full = await aStreamingGateway(world.nats, { mostWatchers: 0 });
    expect(
      await watchersAfter(full.watching.awaitEnd(run, { withinMs: LONG_MS, signal: nobodyGoes }), full),
    ).toBe(0);
  });
});
