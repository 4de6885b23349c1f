import { newUuid } from '@runledger/contracts/ids';
import { isSettled, type WebhookHistory } from '@runledger/contracts/fold/webhook';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { aRun, assigned, cancelRequested, EXECUTOR, queued, started } from '@runledger/testing/run-events';
import { redeliveryRequested, webhookGivenUp } from '@runledger/testing/webhook-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append } from '../../src/append/append.ts';
import { decideAndAppend, type Decision } from '../../src/append/decide-and-append.ts';
import { LogUnavailable, type EventLog } from '../../src/connect/event-log.ts';
import { readRun, type ReadRun } from '../../src/read/read-run.ts';
import { aLog, type TestLog } from '../fixtures/test-log.ts';

type Found = Extract<ReadRun, { kind: 'found' }>;

describe('deciding and appending to a log', () => {
  let test: TestLog;
  let log: EventLog;
  beforeAll(async () => {
    test = await aLog();
    ({ log } = test);
  });
  afterAll(() => test[Symbol.asyncDispose]());

  const found = async (key: RunKey, atLeast?: number): Promise<Found> => {
    const read = await readRun(log, key, atLeast === undefined ? {} : { atLeast });
    if (read.kind !== 'found') throw new Error(`the run is ${read.kind}`);
    return read;
  };

  const aStartedRun = async (): Promise<RunKey> => {
    const key = aRun();
    let head = 0;
    for (const event of [queued(key), assigned(key), started(key)]) {
      const appended = await append(log, event, head);
      if (appended.kind === 'conflict') throw new Error('unreachable');
      head = appended.sequence;
    }
    return key;
  };

  const cancelOnce =
    (key: RunKey) =>
    ({ run, history }: Found): Decision<'cancelled' | 'cancelled before'> =>
      'cancel' in run && run.cancel !== null
        ? { kind: 'answer', answer: 'cancelled before' }
        : {
            kind: 'append',
            event: cancelRequested(key, 1, EXECUTOR),
            expected: history.head,
            answer: 'cancelled',
          };

  describe('a decision on a history', () => {
    it('is appended at the head that it rests on', async () => {
      const key = await aStartedRun();
      const decided = await decideAndAppend(log, { read: () => found(key), decide: cancelOnce(key) });
      expect(decided).toMatchObject({ kind: 'appended', answer: 'cancelled' });
      expect(await found(key)).toMatchObject({
        run: { cancel: { by: 'client' } },
        history: { head: decided.kind === 'appended' ? decided.sequence : 0 },
      });
    });

    it('may be to write nothing', async () => {
      const key = await aStartedRun();
      await decideAndAppend(log, { read: () => found(key), decide: cancelOnce(key) });
      expect(await decideAndAppend(log, { read: () => found(key), decide: cancelOnce(key) })).toEqual({
        kind: 'answered',
        answer: 'cancelled before',
      });
    });

    it('is made again after a conflict, on the newer history', async () => {
      const key = await aStartedRun();
      const stale = await found(key);
      const first = await append(log, cancelRequested(key, 1, EXECUTOR), stale.history.head);
      const asked: (number | undefined)[] = [];
      let conflicts = 0;
      const decided = await decideAndAppend(log, {
        read: async (atLeast) => {
          asked.push(atLeast);
          return atLeast === undefined ? stale : found(key, atLeast);
        },
        decide: cancelOnce(key),
        onConflict: () => {
          conflicts += 1;
        },
      });
      expect(decided).toEqual({ kind: 'answered', answer: 'cancelled before' });
      expect(asked).toEqual([undefined, first.kind === 'appended' ? first.sequence : 0]);
      expect(conflicts).toBe(1);
    });

    it('is given up when every append ends with a conflict', async () => {
      const key = await aStartedRun();
      const { history } = await found(key);
      let decisions = 0;
      const decided = await decideAndAppend(log, {
        read: async () => history.head - 1,
        decide: (expected) => {
          decisions += 1;
          return { kind: 'append', event: cancelRequested(key, 1, EXECUTOR), expected, answer: null };
        },
        maxAttempts: 3,
      });
      expect(decided).toEqual({ kind: 'too_busy', head: history.head });
      expect(decisions).toBe(3);
      expect((await found(key)).history).toEqual(history);
    });

    it('allows the caller to wrap each read and append, for example with retries', async () => {
      const key = await aStartedRun();
      let calls = 0;
      const around = async <Result>(work: () => Promise<Result>): Promise<Result> => {
        for (;;) {
          calls += 1;
          try {
            return await work();
          } catch (error) {
            if (!(error instanceof LogUnavailable)) throw error;
          }
        }
      };
      let unavailable = true;
      const read = async (): Promise<Found> => {
        if (!unavailable) return found(key);
        unavailable = false;
        throw new LogUnavailable('unavailable');
      };
      expect(await decideAndAppend(log, { read, decide: cancelOnce(key), around })).toMatchObject({
        kind: 'appended',
      });
      expect(calls).toBe(3);
    });

    it('of many concurrent writers is written by one, and the others see it', async () => {
      const key = await aStartedRun();
      const decided = await Promise.all(
        Array.from({ length: 10 }, () =>
          decideAndAppend(log, { read: (atLeast) => found(key, atLeast), decide: cancelOnce(key) }),
        ),
      );
      const answers = decided.map((one) => (one.kind === 'too_busy' ? one.kind : one.answer));
      expect(answers.toSorted()).toEqual(['cancelled', ...Array<string>(9).fill('cancelled before')]);
      expect((await found(key)).facts).toHaveLength(4);
    });
  });

  it('decisions on the chain of webhook facts work in the same way', async () => {
    const key = await aStartedRun();
    const rounds = 8;
    const first = await append(log, webhookGivenUp(key), 0);
    expect(first.kind).toBe('appended');
    /** Asks for a redelivery of a settled round, and gives up the round that is under way. */
    const decide = ({ state, head }: WebhookHistory): Decision<number> => {
      const round = state?.round ?? 1;
      if (round > rounds) return { kind: 'answer', answer: round };
      const event = isSettled(state)
        ? { ...redeliveryRequested(key), round: round + 1 }
        : { ...webhookGivenUp(key), round };
      return { kind: 'append', event: { ...event, event_id: newUuid() }, expected: head, answer: round };
    };
    const writer = async (): Promise<void> => {
      for (;;) {
        const decided = await decideAndAppend(log, {
          read: async (atLeast) => (await found(key, atLeast)).webhook ?? { head: 0, state: undefined },
          decide,
          maxAttempts: 100,
        });
        if (decided.kind === 'answered') return;
      }
    };
    await Promise.all([writer(), writer(), writer()]);
    const { webhookFacts, refused } = await found(key);
    expect(refused).toEqual([]);
    // One fact to begin each round but the first, and one to end each round.
    expect(webhookFacts).toHaveLength(2 * rounds);
  });
});
