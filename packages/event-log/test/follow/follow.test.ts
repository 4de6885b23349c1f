import { cp, mkdtempDisposable, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findNatsServer, startNatsServer } from '@runledger/local-servers/nats/nats-server';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { ALL_LIFECYCLES } from '@runledger/contracts/subjects/run-subjects';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append } from '../../src/append/append.ts';
import { openEventLog, type EventLog } from '../../src/connect/event-log.ts';
import { follow, NewerVersion, PositionBeyondEnd, StreamReplaced } from '../../src/follow/follow.ts';
import { silentLogger } from '../../src/connect/logger.ts';
import { readStored } from '../../src/read/read-run.ts';
import { provision } from '../../src/provision/provision.ts';
import { aLog, anEmptyLog, type TestLog } from '../fixtures/test-log.ts';
import { aRun, queued } from '@runledger/testing/events/run-events';

let test: TestLog;
let log: EventLog;
beforeAll(async () => {
  test = await aLog();
  log = test.log;
});
afterAll(() => test[Symbol.asyncDispose]());

const runs = { stream: 'RUNS', subjects: [ALL_LIFECYCLES] } as const;

/** Appends the first events of so many runs and gives the sequence of the last. */
const queueRuns = async (log: EventLog, count: number): Promise<number> => {
  let last = 0;
  for (let n = 0; n < count; n += 1) {
    const result = await append(log, queued(aRun()), 0, { withinMs: 30_000 });
    if (result.kind === 'appended') last = result.sequence;
  }
  return last;
};

const sequencesOf = (messages: readonly StoredMessage[]): number[] =>
  messages.map(({ sequence }) => sequence);
const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n);

describe('follow', () => {
  it('gives what is stored and what comes, in order, and says when it has caught up', async () => {
    const before = await queueRuns(log, 600);
    const seen: number[] = [];
    let caughtUpAt: number | undefined;
    await using following = await follow(log, {
      ...runs,
      after: before - 600,
      onBatch: async (messages) => void seen.push(...sequencesOf(messages)),
      onCaughtUp: () => {
        caughtUpAt = seen.at(-1);
      },
    });
    await expect.poll(() => caughtUpAt, { timeout: 10_000 }).toBe(before);
    const last = await queueRuns(log, 5);
    await expect.poll(() => following.position(), { timeout: 10_000 }).toBe(last);
    expect(seen).toEqual(numbers(before - 599, last));
    expect(following.state()).toEqual({ ok: true });
  });

  it('says at once that it has caught up when there is nothing', async () => {
    const last = await queueRuns(log, 1);
    const caughtUp = Promise.withResolvers<void>();
    const nothing = async (): Promise<void> => undefined;
    await using open = new AsyncDisposableStack();
    open.use(
      await follow(log, {
        ...runs,
        after: last,
        onBatch: nothing,
        onCaughtUp: caughtUp.resolve,
      }),
    );
    await expect(caughtUp.promise).resolves.toBeUndefined();
  });

  it('gives a batch again that was not taken, and nothing else meanwhile', async () => {
    const before = await queueRuns(log, 1);
    const seen: number[][] = [];
    let refuse = 2;
    await using following = await follow(log, {
      ...runs,
      after: before,
      onBatch: async (messages) => {
        seen.push(sequencesOf(messages));
        if (refuse > 0) {
          refuse -= 1;
          throw new Error('the database is away');
        }
      },
    });
    const last = await queueRuns(log, 3);
    await expect.poll(() => following.position(), { timeout: 10_000 }).toBe(last);
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[2]).toEqual(seen[0]);
    expect(seen.slice(2).flat()).toEqual(numbers(before + 1, last));
    expect(following.state()).toEqual({ ok: true });
  });

  it('never calls onBatch twice at once', async () => {
    let inside = 0;
    let most = 0;
    let taken = 0;
    const before = await queueRuns(log, 1);
    await using open = new AsyncDisposableStack();
    open.use(
      await follow(log, {
        ...runs,
        after: before,
        onBatch: async (messages) => {
          inside += 1;
          most = Math.max(most, inside);
          await new Promise((resolve) => setImmediate(resolve));
          inside -= 1;
          taken += messages.length;
        },
      }),
    );
    await queueRuns(log, 50);
    await expect.poll(() => taken, { timeout: 10_000 }).toBe(50);
    expect(most).toBe(1);
  });

  it('ends, loudly, at an event of a later release', async () => {
    const before = await queueRuns(log, 1);
    await using following = await follow(log, {
      ...runs,
      after: before,
      onBatch: async ([first]) => {
        throw new NewerVersion({ type: 'RunQueued', version: 2, sequence: first?.sequence ?? 0 });
      },
    });
    await queueRuns(log, 1);
    expect(await following.failed).toBeInstanceOf(NewerVersion);
    expect(following.state()).toMatchObject({ ok: false, why: expect.stringContaining('version 2') });
    expect(following.position()).toBe(before);
  });

  it('refuses to begin behind the end of the log', async () => {
    const last = await queueRuns(log, 1);
    const following = follow(log, { ...runs, after: last + 1, onBatch: async () => undefined });
    await expect(following).rejects.toBeInstanceOf(PositionBeyondEnd);
  });
});

describe('a message', () => {
  it('has the same time whichever way it is read', async () => {
    const before = await queueRuns(log, 1);
    const seen: StoredMessage[] = [];
    await using following = await follow(log, {
      ...runs,
      after: before,
      onBatch: async (messages) => void seen.push(...messages),
    });
    const last = await queueRuns(log, 100);
    await expect.poll(() => following.position(), { timeout: 10_000 }).toBe(last);
    expect(seen).toEqual(await Promise.all(seen.map(({ sequence }) => readStored(log, sequence))));
  });
});

describe('follow, while the broker is killed and started again', () => {
  it('loses and repeats nothing', async () => {
    await using broken = await aLog();
    const seen: number[] = [];
    await using following = await follow(broken.log, {
      ...runs,
      after: 0,
      onBatch: async (messages) => void seen.push(...sequencesOf(messages)),
    });
    let last = 0;
    const stop = new AbortController();
    const writing = (async () => {
      while (!stop.signal.aborted) last = await queueRuns(broken.log, 5);
    })();
    for (let kill = 0; kill < 3; kill += 1) {
      const before = seen.length;
      await expect.poll(() => seen.length, { timeout: 20_000 }).toBeGreaterThan(before + 50);
      await broken.nats.kill9();
      await broken.nats.restart();
    }
    stop.abort();
    await writing;
    await expect.poll(() => following.position(), { timeout: 20_000 }).toBe(last);
    expect(seen).toEqual(numbers(1, last));
  }, 90_000);

  it('stops within a moment, also while the broker is connected and says nothing', async () => {
    await using broken = await anEmptyLog();
    await provision(broken.log);
    const following = await follow(broken.log, { ...runs, after: 0, onBatch: async () => undefined });
    await broken.nats.pause();
    // It has noticed, and asks the broker for another consumer.
    await expect.poll(() => following.state(), { timeout: 20_000 }).toMatchObject({ ok: false });
    const begun = performance.now();
    await following[Symbol.asyncDispose]();
    const tookMs = performance.now() - begun;
    broken.nats.resume();
    // One question to the broker alone may take 8 s.
    expect(tookMs).toBeLessThan(4_000);
  });

  it('reports that the log lost its end', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-test-follow-'));
    const { path: binary } = await findNatsServer({ env: process.env });
    const storeDir = join(folder.path, 'store');
    const copy = join(folder.path, 'copy');
    const first = await startNatsServer({ binary, storeDir });
    await using log = await openEventLog({ url: first.url, name: 'test' }, silentLogger);
    await provision(log);
    await queueRuns(log, 3);
    await first.stop();
    await cp(storeDir, copy, { recursive: true });

    const second = await startNatsServer({ binary, storeDir, port: first.port });
    await queueRuns(log, 3);
    await using following = await follow(log, { ...runs, after: 0, onBatch: async () => undefined });
    await expect.poll(() => following.position(), { timeout: 10_000 }).toBe(6);
    await second.stop();
    await rm(storeDir, { recursive: true });
    await cp(copy, storeDir, { recursive: true });

    const third = await startNatsServer({ binary, storeDir, port: first.port });
    try {
      const error = await following.failed;
      expect(error).toBeInstanceOf(PositionBeyondEnd);
      expect(error).toMatchObject({ position: 6, lastSequence: 3 });
      expect(following.state().ok).toBe(false);
    } finally {
      await third.stop();
    }
  }, 60_000);

  it('reports that the log was replaced by another', async () => {
    await using weak = await anEmptyLog();
    const make = () => weak.log.jsm.streams.add({ name: 'RUNS', subjects: ['runs.>'], allow_direct: true });
    await make();
    await queueRuns(weak.log, 1);
    await using following = await follow(weak.log, { ...runs, after: 0, onBatch: async () => undefined });
    await expect.poll(() => following.position(), { timeout: 10_000 }).toBe(1);
    await weak.log.jsm.streams.delete('RUNS');
    await make();
    await queueRuns(weak.log, 2);
    expect(await following.failed).toBeInstanceOf(StreamReplaced);
  });
});
