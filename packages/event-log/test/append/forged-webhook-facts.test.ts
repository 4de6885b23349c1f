import { webhookEventSubject } from '@runledger/contracts/events/subjects';
import { aRun, queued } from '@runledger/testing/run-events';
import {
  redeliveryRequested,
  webhookDelivered,
  webhookGivenUp,
  webhookStarted,
} from '@runledger/testing/webhook-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append } from '../../src/append/append.ts';
import type { EventLog } from '../../src/connect/event-log.ts';
import { readRun } from '../../src/read/read-run.ts';
import { aLog, forge, type TestLog } from '../fixtures/test-log.ts';

import { sequenceOf, aQueuedRun, appendChain } from '../fixtures/webhook-facts.ts';

let test: TestLog;
let log: EventLog;
beforeAll(async () => {
  test = await aLog();
  log = test.log;
});
afterAll(() => test[Symbol.asyncDispose]());

describe('a forged webhook fact is stored by the broker, and the run stays readable', () => {
  it('when it hides an earlier genuine one under its subject', async () => {
    const key = await aQueuedRun(log);
    const last = await appendChain(log, webhookStarted(key), webhookGivenUp(key), redeliveryRequested(key));
    await forge(log, webhookEventSubject(webhookStarted(key)), { type: 'nonsense' });
    const forged = await forge(log, webhookEventSubject(redeliveryRequested(key)), redeliveryRequested(key));
    expect(forged).toBeGreaterThan(last);
    expect(await readRun(log, key)).toMatchObject({
      kind: 'found',
      webhook: { head: forged, state: { status: 'running', round: 2 } },
      refused: { length: 2 },
    });
  });

  it('when it hides the only one', async () => {
    const key = await aQueuedRun(log);
    await appendChain(log, webhookGivenUp(key));
    await forge(log, webhookEventSubject(webhookGivenUp(key)), {});
    expect(await readRun(log, key)).toMatchObject({
      webhook: { state: { status: 'failed' } },
      refused: { length: 1 },
    });
  });

  it('when it is older than the run, and the first genuine one is fenced on it', async () => {
    const key = aRun();
    const forged = await forge(log, webhookEventSubject(webhookDelivered(key)), webhookDelivered(key));
    await sequenceOf(append(log, queued(key), 0));
    expect(await readRun(log, key)).toMatchObject({ kind: 'found', webhook: { head: forged } });
    const last = await sequenceOf(append(log, webhookStarted(key), forged));
    expect(await readRun(log, key)).toMatchObject({
      webhook: { head: last, state: { status: 'running' } },
      refused: [{ refusal: 'forged_fence', message: { sequence: forged } }],
    });
  });

  it('when a hidden genuine one is fenced on one older than the run', async () => {
    const key = aRun();
    const forged = await forge(log, webhookEventSubject(webhookDelivered(key)), {});
    await sequenceOf(append(log, queued(key), 0));
    await sequenceOf(append(log, webhookStarted(key), forged));
    await forge(log, webhookEventSubject(webhookDelivered(key)), {});
    const last = await forge(log, webhookEventSubject(webhookStarted(key)), {});
    expect(await readRun(log, key)).toMatchObject({
      webhook: { head: last, state: { status: 'running' } },
      refused: { length: 3 },
    });
  });

  it('and the facts continue behind it', async () => {
    const key = await aQueuedRun(log);
    await appendChain(log, webhookStarted(key));
    const forged = await forge(log, webhookEventSubject(webhookStarted(key)), {});
    const last = await sequenceOf(append(log, webhookDelivered(key), forged));
    expect(await readRun(log, key)).toMatchObject({
      webhook: { head: last, state: { status: 'success' } },
      refused: { length: 1 },
    });
  });

  it('and creates no run', async () => {
    const key = aRun();
    await appendChain(log, webhookStarted(key));
    expect(await readRun(log, key)).toEqual({ kind: 'none', head: 0 });
  });

  it('when there are too many to find the facts', async () => {
    const key = await aQueuedRun(log);
    await appendChain(log, webhookStarted(key));
    const subject = webhookEventSubject(webhookStarted(key));
    await Promise.all(Array.from({ length: 510 }, () => forge(log, subject, {})));
    const read = await readRun(log, key);
    expect(read).toMatchObject({ kind: 'found', run: { status: 'queued' } });
    expect(read).toHaveProperty('webhook', undefined);
  });
});
