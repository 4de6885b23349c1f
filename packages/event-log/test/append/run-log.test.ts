import { newUuid } from '@runledger/contracts/ids';
import {
  lifecycleFilter,
  runEventSubject,
  runFilter,
  webhookEventSubject,
  webhookFilter,
  type RunKey,
} from '@runledger/contracts/events/subjects';
import {
  aRun,
  assigned,
  cancelRequested,
  EXECUTOR,
  OTHER_EXECUTOR,
  queued,
  LATER_TYPE,
  requeued,
  started,
  succeeded,
} from '@runledger/testing/run-events';
import { webhookDelivered, webhookGivenUp, webhookStarted } from '@runledger/testing/webhook-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append, EventTooLarge, type ChainEvent } from '../../src/append/append.ts';
import { head, lastOfRun, readRun } from '../../src/read/read-run.ts';
import { aLog, forge, type TestLog } from '../fixtures/test-log.ts';

describe('a log of runs', () => {
  let test: TestLog;
  beforeAll(async () => {
    test = await aLog();
  });
  afterAll(() => test[Symbol.asyncDispose]());

  const appendAll = async (first: number, ...events: readonly ChainEvent[]): Promise<number> => {
    let at = first;
    for (const event of events) {
      const appended = await append(test.log, event, at);
      if (appended.kind === 'conflict') throw new Error(`conflict at ${appended.head}`);
      at = appended.sequence;
    }
    return at;
  };
  const aStartedRun = async (): Promise<{ key: RunKey; last: number }> => {
    const key = aRun();
    return { key, last: await appendAll(0, queued(key), assigned(key), started(key)) };
  };

  describe('append', () => {
    it('stores each fact behind the one before, and they are read back', async () => {
      const { key, last } = await aStartedRun();
      expect(await head(test.log, key)).toBe(last);
      expect(await readRun(test.log, key)).toMatchObject({
        kind: 'found',
        run: { status: 'running', attempt: { number: 1 } },
        history: { head: last },
        facts: [{ event: { type: 'RunQueued' } }, { event: { type: 'RunAssigned' } }, { sequence: last }],
        webhook: { head: 0 },
        refused: [],
      });
    });

    it('refuses an event on an old head, and reports the present one', async () => {
      const { key, last } = await aStartedRun();
      expect(await append(test.log, succeeded(key), last - 1)).toEqual({ kind: 'conflict', head: last });
      expect(await append(test.log, queued(key), 0)).toEqual({ kind: 'conflict', head: last });
      expect(await head(test.log, key)).toBe(last);
    });

    it('accepts one of many events at the same head', async () => {
      const { key, last } = await aStartedRun();
      const appended = await Promise.all(
        Array.from({ length: 8 }, () => append(test.log, succeeded(key), last)),
      );
      const won = appended.filter(({ kind }) => kind === 'appended');
      expect(won).toHaveLength(1);
      const at = await head(test.log, key);
      expect(won).toEqual([{ kind: 'appended', sequence: at }]);
      expect(appended.filter(({ kind }) => kind === 'conflict')).toEqual(
        Array.from({ length: 7 }, () => ({ kind: 'conflict', head: at })),
      );
    });

    it('stores an event once when it is appended repeatedly', async () => {
      const key = aRun();
      const event = queued(key);
      const first = await append(test.log, event, 0);
      expect(await append(test.log, event, 0)).toEqual(first);
      expect(await readRun(test.log, key)).toMatchObject({ facts: { length: 1 } });
    });

    it('accepts only RunQueued as the first event of a run', async () => {
      await expect(append(test.log, assigned(aRun()), 0)).rejects.toThrow('cannot be appended at head 0');
    });

    it('refuses an event that is too large', async () => {
      const key = aRun();
      const inputs = { text: 'x'.repeat(2 * 1024 * 1024) };
      await expect(append(test.log, queued(key, { inputs }), 0)).rejects.toBeInstanceOf(EventTooLarge);
      expect(await readRun(test.log, key)).toEqual({ kind: 'none', head: 0 });
    });

    it('keeps runs apart', async () => {
      const { key } = await aStartedRun();
      const other = aRun(key.org_id);
      await appendAll(0, queued(other));
      expect(await readRun(test.log, other)).toMatchObject({
        run: { status: 'queued' },
        facts: { length: 1 },
      });
    });
  });

  describe('the chain of webhook facts', () => {
    it('is fenced independently of the lifecycle', async () => {
      const { key, last } = await aStartedRun();
      const settled = await appendAll(0, webhookStarted(key), webhookDelivered(key));
      const end = await appendAll(last, succeeded(key));
      expect(await readRun(test.log, key)).toMatchObject({
        run: { status: 'success' },
        history: { head: end },
        webhook: { head: settled, state: { status: 'success', round: 1 } },
        webhookFacts: { length: 2 },
      });
      expect(await head(test.log, key)).toBe(end);
      expect(await lastOfRun(test.log, key)).toBe(end);
    });

    it('refuses a fact on an old head', async () => {
      const { key } = await aStartedRun();
      const at = await appendAll(0, webhookStarted(key));
      expect(await append(test.log, webhookDelivered(key), 0)).toEqual({ kind: 'conflict', head: at });
    });
  });

  describe('a forged message', () => {
    it('without a fence, or with another one, is stored and not folded', async () => {
      const { key, last } = await aStartedRun();
      const first = await forge(test.log, runEventSubject(cancelRequested(key)), cancelRequested(key));
      const second = await forge(test.log, runEventSubject(succeeded(key)), succeeded(key), {
        filter: runFilter(key),
        sequence: first,
      });
      expect(await readRun(test.log, key)).toMatchObject({
        kind: 'found',
        run: { status: 'running' },
        history: { head: second },
        refused: [
          { refusal: 'forged_fence', message: { sequence: first } },
          { refusal: 'forged_fence', message: { sequence: second } },
        ],
      });
      expect(await append(test.log, succeeded(key), last)).toEqual({ kind: 'conflict', head: second });
      await appendAll(second, succeeded(key));
      expect(await readRun(test.log, key)).toMatchObject({ run: { status: 'success' } });
    });

    it('does not hide the genuine fact under the same subject', async () => {
      const { key, last } = await aStartedRun();
      const forged = await forge(test.log, runEventSubject(started(key)), { hello: 'there' });
      expect(await readRun(test.log, key)).toMatchObject({
        run: { status: 'running' },
        history: { head: forged },
        facts: [{}, {}, { sequence: last }],
        refused: { length: 1 },
      });
    });

    it('in the chain of webhook facts leaves the run readable', async () => {
      const { key } = await aStartedRun();
      const genuine = await appendAll(0, webhookStarted(key));
      const event = webhookGivenUp(key);
      const forged = await forge(test.log, webhookEventSubject(event), event);
      expect(await readRun(test.log, key)).toMatchObject({
        kind: 'found',
        webhook: { head: forged, state: { status: 'running' } },
        webhookFacts: [{ sequence: genuine }],
        refused: [{ refusal: 'forged_fence' }],
      });
    });

    it('does not create a run', async () => {
      const key = aRun();
      const forged = await forge(test.log, runEventSubject(queued(key)), queued(key));
      expect(await readRun(test.log, key)).toEqual({ kind: 'none', head: forged });
    });
  });

  describe('what an executor stores under a run that it is not assigned to', () => {
    /** More than a run can have, each behind the one before, under as many subjects. */
    const MORE = 2_010;
    const disturb = async (
      key: RunKey,
      messages: number,
      about = { attempt: 1, executor: OTHER_EXECUTOR },
    ) => {
      // In turns, so that a slow disk does not let the driver's time limit pass.
      for (let sent = 0; sent < messages; sent += 201) {
        const attempts = Array.from({ length: 201 }, (_, n) => about.attempt + ((sent + n) % 1_500));
        await Promise.all(
          attempts.map((attempt) => {
            const event = started(key, attempt, about.executor);
            return forge(test.log, runEventSubject(event), event);
          }),
        );
      }
      const event = started(key, about.attempt, about.executor);
      const fence = { filter: lifecycleFilter(key), sequence: await head(test.log, key) };
      return forge(test.log, runEventSubject(event), event, fence);
    };

    it('is neither read nor counted, and the run and its notifications go on', async () => {
      const { key, last } = await aStartedRun();
      const notified = await appendAll(0, webhookStarted(key));
      const stray = await disturb(key, MORE);
      const read = await readRun(test.log, key, { atLeast: stray });
      expect(read).toMatchObject({
        kind: 'found',
        run: { status: 'running' },
        history: { head: stray },
        facts: [{}, {}, { sequence: last }],
        webhook: { head: notified },
      });
      const refused = read.kind === 'found' ? read.refused : [];
      expect(refused.at(-1)).toMatchObject({ message: { sequence: stray }, refusal: 'impossible' });
      const end = await appendAll(stray, succeeded(key));
      const later = await disturb(key, 1);
      await appendAll(notified, webhookDelivered(key));
      expect(await readRun(test.log, key)).toMatchObject({
        run: { status: 'success' },
        history: { head: later },
        facts: [{}, {}, {}, { sequence: end }],
        webhook: { state: { status: 'success' } },
      });
    });

    it('also hides nothing once its own attempt is over', async () => {
      const { key, last } = await aStartedRun();
      const next = await appendAll(last, requeued(key));
      const stray = await disturb(key, MORE, { attempt: 1, executor: EXECUTOR });
      expect(await readRun(test.log, key)).toMatchObject({
        run: { status: 'queued', attempt: { number: 1 } },
        facts: [{}, {}, { sequence: last }, { sequence: next }],
        history: { head: stray },
      });
      const about = { attempt: 2, executor: OTHER_EXECUTOR };
      await appendAll(stray, assigned(key, about), started(key, 2, OTHER_EXECUTOR));
      expect(await readRun(test.log, key)).toMatchObject({
        run: { status: 'running', attempt: { number: 2 } },
      });
    });

    it('makes no run, and one that it disturbed before its first fact is found', async () => {
      const key = aRun();
      const strays = [await disturb(key, 1), await disturb(key, 1)];
      expect(await readRun(test.log, key)).toEqual({ kind: 'none', head: strays[1] });
      await appendAll(strays[1] ?? 0, queued(key));
      expect(await readRun(test.log, key)).toMatchObject({ kind: 'found', facts: { length: 1 } });
    });

    it('damages a run only while that is assigned to it', async () => {
      const { key } = await aStartedRun();
      const at = await disturb(key, MORE);
      const own = Array.from({ length: MORE }, () => started(key));
      for (let sent = 0; sent < MORE; sent += 201)
        await Promise.all(
          own.slice(sent, sent + 201).map((event) => forge(test.log, runEventSubject(event), event)),
        );
      expect(await readRun(test.log, key)).toMatchObject({
        kind: 'damaged',
        why: `run ${key.run_id} has more than 2000 messages of its own executors, so most of them are forged`,
        sequence: at + MORE,
      });
    });
  });

  it('an event of a later release stops the reader', async () => {
    const { key, last } = await aStartedRun();
    const event = requeued(key);
    const fence = { filter: lifecycleFilter(key), sequence: last };
    const sequence = await forge(test.log, runEventSubject(event), { ...event, version: 2 }, fence);
    const newer = { kind: 'newer_version', type: 'RunRequeued', version: 2, sequence };
    expect(await readRun(test.log, key)).toEqual(newer);
  });

  it('a type of a later release stops the reader, unless an executor made it up', async () => {
    const { key, last } = await aStartedRun();
    const body = { ...requeued(key), type: LATER_TYPE };
    const filter = lifecycleFilter(key);
    const at = await forge(test.log, runEventSubject(succeeded(key)), body, { filter, sequence: last });
    expect(await readRun(test.log, key)).toMatchObject({ kind: 'found', refused: [{ refusal: 'invalid' }] });
    const sequence = await forge(test.log, runEventSubject(requeued(key)), body, { filter, sequence: at });
    const newer = { kind: 'newer_version', type: LATER_TYPE, version: 1, sequence };
    expect(await readRun(test.log, key)).toEqual(newer);
  });

  it('what an executor writes in a later version is a fact if its assignment names that version, otherwise none', async () => {
    for (const [fact_versions, expected] of [
      [{}, { kind: 'found', run: { status: 'running' }, refused: [{ refusal: 'invalid' }] }],
      [{ RunSucceeded: 2 }, { kind: 'newer_version', type: 'RunSucceeded', version: 2 }],
    ] as const) {
      const key = aRun();
      const last = await appendAll(0, queued(key), assigned(key, { data: { fact_versions } }), started(key));
      const event = succeeded(key);
      const fence = { filter: lifecycleFilter(key), sequence: last };
      await forge(test.log, runEventSubject(event), { ...event, version: 2 }, fence);
      expect(await readRun(test.log, key)).toMatchObject(expected);
    }
  });

  it('a webhook fact of a later release stops the reader too', async () => {
    const { key } = await aStartedRun();
    const event = { ...webhookStarted(key), event_id: newUuid(), version: 2 };
    const fence = { filter: webhookFilter(key), sequence: 0 };
    const sequence = await forge(test.log, webhookEventSubject(webhookStarted(key)), event, fence);
    expect(await readRun(test.log, key)).toMatchObject({ kind: 'newer_version', sequence });
  });

  it('an unknown run is reported as none', async () => {
    expect(await readRun(test.log, aRun())).toEqual({ kind: 'none', head: 0 });
    expect(await head(test.log, aRun())).toBe(0);
  });
});
