import { lifecycleFilter, webhookFilter, webhookEventSubject } from '@runledger/contracts/events/subjects';
import { aRun, assigned, started } from '@runledger/testing/run-events';
import {
  redeliveryRequested,
  webhookDelivered,
  webhookGivenUp,
  webhookStarted,
} from '@runledger/testing/webhook-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append } from '../../src/append/append.ts';
import type { EventLog } from '../../src/connect/event-log.ts';
import { newerVersionOf } from '../../src/read/newer-version.ts';
import { head, lastOfRun, readRun } from '../../src/read/read-run.ts';
import { readStored } from '../../src/read/run-messages.ts';
import { aLog, forge, type TestLog } from '../fixtures/test-log.ts';

import { sequenceOf, aQueuedRun, appendChain } from '../fixtures/webhook-facts.ts';

let test: TestLog;
let log: EventLog;
beforeAll(async () => {
  test = await aLog();
  log = test.log;
});
afterAll(() => test[Symbol.asyncDispose]());

describe('webhook facts', () => {
  it('are read with their run', async () => {
    const key = await aQueuedRun(log);
    expect(await readRun(log, key)).toMatchObject({ webhook: { head: 0 } });
    const last = await appendChain(
      log,
      webhookStarted(key),
      webhookGivenUp(key),
      redeliveryRequested(key),
      webhookDelivered(key, 2, { tries: 3 }),
    );
    expect(await readRun(log, key)).toMatchObject({
      kind: 'found',
      run: { status: 'queued' },
      webhook: { head: last, state: { status: 'success', round: 2, tries: 3 } },
      refused: [],
    });
  });

  it('are appended by one of several writers', async () => {
    const key = await aQueuedRun(log);
    const before = await appendChain(log, webhookStarted(key));
    const results = await Promise.all([
      append(log, webhookDelivered(key), before),
      append(log, webhookGivenUp(key), before),
      append(log, redeliveryRequested(key), before),
    ]);
    const won = results.find(({ kind }) => kind === 'appended');
    const lost = results.filter(({ kind }) => kind === 'conflict');
    expect(lost).toHaveLength(2);
    for (const conflict of lost) {
      expect(conflict).toEqual({
        kind: 'conflict',
        head: won?.kind === 'appended' ? won.sequence : undefined,
      });
    }
  });

  it('are stored once when another process appends them again', async () => {
    const key = await aQueuedRun(log);
    const event = webhookStarted(key);
    const first = await sequenceOf(append(log, event, 0));
    await sequenceOf(append(log, webhookDelivered(key), first));
    expect(await append(log, event, 0)).toEqual({ kind: 'appended', sequence: first });
  });

  it('with an invalid id are refused by a rejected promise', async () => {
    const event = { ...webhookStarted(aRun()), run_id: 'not.a-run' };
    await expect(append(log, event, 0)).rejects.toBeInstanceOf(TypeError);
  });

  it('never conflict with the lifecycle', async () => {
    const key = await aQueuedRun(log);
    const began = await appendChain(log, webhookStarted(key, 'intermediate'));
    const mine = await sequenceOf(append(log, assigned(key), key.first));
    const givenUp = await sequenceOf(append(log, webhookGivenUp(key), began));
    const running = await sequenceOf(append(log, started(key), mine));
    expect(await readRun(log, key)).toMatchObject({
      run: { status: 'running' },
      history: { head: running },
      facts: { length: 3 },
      webhook: { head: givenUp, state: { status: 'failed' } },
    });
  });

  it('count for the last message of a run, not for its head', async () => {
    const key = await aQueuedRun(log);
    expect(await lastOfRun(log, key)).toBe(key.first);
    const last = await appendChain(log, webhookStarted(key));
    expect(await lastOfRun(log, key)).toBe(last);
    expect(await head(log, key)).toBe(key.first);
    expect(await lastOfRun(log, aRun())).toBe(0);
  });

  it('are in a response that must reach the last message of a run', async () => {
    const key = await aQueuedRun(log);
    const last = await appendChain(log, webhookStarted(key));
    expect(await readRun(log, key, { atLeast: last })).toMatchObject({ webhook: { head: last } });
  });
});

describe('a webhook fact of a later release', () => {
  it('stops followers of the log, unless its fence is forged', async () => {
    const key = await aQueuedRun(log);
    const event = { ...webhookStarted(key), version: 2 };
    const subject = webhookEventSubject(webhookStarted(key));
    const newer = async (fence?: { filter: string; sequence: number }) => {
      const stored = await readStored(log, await forge(log, subject, event, fence));
      return stored && newerVersionOf('RUNS', stored);
    };
    expect(await newer({ filter: webhookFilter(key), sequence: 0 })).toMatchObject({
      code: 'newer_version',
      type: 'WebhookStarted',
      version: 2,
    });
    expect(await newer()).toBeUndefined();
    expect(await newer({ filter: lifecycleFilter(key), sequence: key.first })).toBeUndefined();
  });

  it('stops no follower when its fence is forged', async () => {
    const key = await aQueuedRun(log);
    await forge(log, webhookEventSubject(webhookGivenUp(key)), { ...webhookGivenUp(key), version: 2 });
    expect(await readRun(log, key)).toMatchObject({ kind: 'found', refused: { length: 1 } });
  });
});
