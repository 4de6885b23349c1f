import type { EventLog } from '../../src/connect/event-log.ts';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { ALL_LIFECYCLES, ALL_WEBHOOKS } from '@runledger/contracts/events/subjects';
import { aRun, queued } from '@runledger/testing/run-events';
import { webhookStarted } from '@runledger/testing/webhook-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append } from '../../src/append/append.ts';
import { follow, NewerVersion, PositionBeyondEnd } from '../../src/follow/follow.ts';
import { readStored } from '../../src/read/run-messages.ts';
import { numbers, queueRuns, sequencesOf } from '../fixtures/queued-runs.ts';
import { aLog, type TestLog } from '../fixtures/test-log.ts';

const runs = { stream: 'RUNS', subjects: [ALL_LIFECYCLES] } as const;

/** A follower decodes a message when it is looked at. */
const contentOf = (message: StoredMessage): StoredMessage => ({
  subject: message.subject,
  sequence: message.sequence,
  time: message.time,
  fence: message.fence,
  expectedSequence: message.expectedSequence,
  traceparent: message.traceparent,
  body: message.body,
});

describe('a follower of a log', () => {
  let test: TestLog;
  let log: EventLog;
  beforeAll(async () => {
    test = await aLog();
    ({ log } = test);
  });
  afterAll(() => test[Symbol.asyncDispose]());

  it('gets stored messages and new ones in order, and is notified when it has caught up', async () => {
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

  it('has caught up at once when nothing is stored behind its position', async () => {
    const last = await queueRuns(log, 1);
    const caughtUp = Promise.withResolvers<void>();
    const nothing = async (): Promise<void> => undefined;
    await using open = new AsyncDisposableStack();
    open.use(await follow(log, { ...runs, after: last, onBatch: nothing, onCaughtUp: caughtUp.resolve }));
    await expect(caughtUp.promise).resolves.toBeUndefined();
  });

  it('gets a rejected batch again, and nothing else before it', async () => {
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
          throw new Error('the database is unavailable');
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

  it('reports why it is behind while a batch is rejected', async () => {
    const before = await queueRuns(log, 1);
    await using following = await follow(log, {
      ...runs,
      after: before,
      onBatch: () => Promise.reject(new Error('the database is unavailable')),
    });
    await queueRuns(log, 1);
    const behind = { ok: false, why: expect.stringContaining('the database is unavailable') };
    await expect.poll(() => following.state(), { timeout: 10_000 }).toEqual(behind);
    expect(following.position()).toBe(before);
  });

  it('never handles two batches at once', async () => {
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

  it('gets no batch of more than 256 messages', async () => {
    const before = await queueRuns(log, 1);
    const sizes: number[] = [];
    const last = await queueRuns(log, 300);
    await using following = await follow(log, {
      ...runs,
      after: before,
      onBatch: async (messages) => void sizes.push(messages.length),
    });
    await expect.poll(() => following.position(), { timeout: 10_000 }).toBe(last);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(256);
  });

  it('gets only messages under its subjects', async () => {
    const before = await queueRuns(log, 1);
    const key = aRun();
    await append(log, queued(key), 0);
    const fact = await append(log, webhookStarted(key), 0);
    const seen: number[] = [];
    await using following = await follow(log, {
      stream: 'RUNS',
      subjects: [ALL_WEBHOOKS],
      after: before,
      onBatch: async (messages) => void seen.push(...sequencesOf(messages)),
    });
    const sequence = fact.kind === 'appended' ? fact.sequence : 0;
    await expect.poll(() => following.position(), { timeout: 10_000 }).toBe(sequence);
    expect(seen).toEqual([sequence]);
  });

  it('ends with an error at an event of a later release', async () => {
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

  it('cannot begin behind the end of the log', async () => {
    const last = await queueRuns(log, 1);
    const following = follow(log, { ...runs, after: last + 1, onBatch: async () => undefined });
    await expect(following).rejects.toBeInstanceOf(PositionBeyondEnd);
  });

  it('cannot begin in a log that ends before what the reader knows of it, such as at a former leader', async () => {
    const last = await queueRuns(log, 1);
    const begin = async (atLeast: number) => {
      await using following = await follow(log, {
        ...runs,
        after: 0,
        atLeast,
        onBatch: async () => undefined,
      });
      return following.state();
    };
    expect(await begin(last)).toEqual({ ok: true });
    await expect(begin(last + 1)).rejects.toBeInstanceOf(PositionBeyondEnd);
  });

  it('gets each message as a single read gives it, with the same time', async () => {
    const before = await queueRuns(log, 1);
    const seen: StoredMessage[] = [];
    await using following = await follow(log, {
      ...runs,
      after: before,
      onBatch: async (messages) => void seen.push(...messages),
    });
    const last = await queueRuns(log, 100);
    await expect.poll(() => following.position(), { timeout: 10_000 }).toBe(last);
    const read = await Promise.all(seen.map(({ sequence }) => readStored(log, sequence)));
    expect(seen.map(contentOf)).toEqual(read.map((message) => message && contentOf(message)));
    expect(await readStored(log, last + 1_000)).toBeUndefined();
  });
});
