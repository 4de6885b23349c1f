import { cp, mkdtempDisposable, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { findNatsServer } from '@runledger/local-servers/find-nats-server';
import { startNatsServer } from '@runledger/local-servers/nats-server';
import { ALL_LIFECYCLES } from '@runledger/contracts/events/subjects';
import { describe, expect, it } from 'vitest';
import { openEventLog } from '../../../src/connect/event-log.ts';
import { follow, StreamReplaced } from '../../../src/follow/follow.ts';
import { silentLogger } from '../../../src/connect/observability.ts';
import { provision } from '../../../src/provision/provision.ts';
import { numbers, queueRuns, sequencesOf } from '../../fixtures/queued-runs.ts';
import { aLog, aLogOnOwnBroker, anEmptyLogOnOwnBroker } from '../../fixtures/test-log.ts';

const runs = { stream: 'RUNS', subjects: [ALL_LIFECYCLES] } as const;

describe('a follower whose work takes longer than two heartbeats of the broker', () => {
  it('is not interrupted by that, and loses and repeats nothing', async () => {
    await using test = await aLog();
    const last = await queueRuns(test.log, 300);
    const warnings: string[] = [];
    const logger = {
      ...silentLogger,
      warn: (_fields: object, message: string) => void warnings.push(message),
    };
    const seen: number[] = [];
    await using following = await follow(
      { ...test.log, logger },
      {
        ...runs,
        after: 0,
        onBatch: async (messages) => {
          // More than is asked for at once, so that the broker owes no heartbeat meanwhile.
          if (seen.length < 256) await pause(7_000);
          seen.push(...sequencesOf(messages));
        },
      },
    );
    await expect.poll(() => following.position(), { timeout: 60_000 }).toBe(last);
    expect(seen).toEqual(numbers(1, last));
    expect(warnings).toEqual([]);
  }, 90_000);
});

describe('a follower, while the broker is killed and started again', () => {
  it('loses and repeats nothing', async () => {
    await using broken = await aLogOnOwnBroker();
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

  it('stops within seconds, also while the broker does not respond', async () => {
    await using broken = await anEmptyLogOnOwnBroker();
    await provision(broken.log);
    const following = await follow(broken.log, { ...runs, after: 0, onBatch: async () => undefined });
    await broken.nats.pause();
    await expect.poll(() => broken.log.connected(), { timeout: 20_000 }).toBe(false);
    const begun = performance.now();
    await following[Symbol.asyncDispose]();
    const tookMs = performance.now() - begun;
    broken.nats.resume();
    // A single request to the broker may take 12 s.
    expect(tookMs).toBeLessThan(4_000);
  });

  it.each([
    ['reports that the log lost its end', 0, { name: 'PositionBeyondEnd', position: 6, lastSequence: 3 }],
    ['reports that the log went on from an older copy, past what was read', 5, { name: 'StreamReplaced' }],
  ])(
    '%s',
    async (_what, storedSince, reported) => {
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

      // At another address, where the follower does not find it.
      const elsewhere = await startNatsServer({ binary, storeDir });
      await using writer = await openEventLog({ url: elsewhere.url, name: 'test' }, silentLogger);
      await queueRuns(writer, storedSince);
      await elsewhere.stop();

      const third = await startNatsServer({ binary, storeDir, port: first.port });
      try {
        expect(await following.failed).toMatchObject(reported);
        expect(following.state().ok).toBe(false);
      } finally {
        await third.stop();
      }
    },
    60_000,
  );

  it('reports that the log was replaced', async () => {
    await using test = await aLog();
    await queueRuns(test.log, 1);
    await using following = await follow(test.log, { ...runs, after: 0, onBatch: async () => undefined });
    await expect.poll(() => following.position(), { timeout: 10_000 }).toBe(1);
    await test.log.jsm.streams.delete('RUNS');
    await provision(test.log);
    await queueRuns(test.log, 2);
    expect(await following.failed).toBeInstanceOf(StreamReplaced);
  });
});
