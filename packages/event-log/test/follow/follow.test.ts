import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { ALL_LIFECYCLES } from '@runledger/contracts/subjects/run-subjects';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append } from '../../src/append/append.ts';
import { type EventLog } from '../../src/connect/event-log.ts';
import { follow, NewerVersion, PositionBeyondEnd } from '../../src/follow/follow.ts';
import { readStored } from '../../src/messages/stream-identity.ts';
import { aLog, type TestLog } from '../fixtures/test-log.ts';
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
