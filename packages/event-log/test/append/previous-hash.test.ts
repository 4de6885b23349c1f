import { createHash } from 'node:crypto';
import { EXECUTOR, aRun, assigned, cancelRequested, queued, started } from '@runledger/testing/run-events';
import { webhookStarted } from '@runledger/testing/webhook-events';
import { runEventSubject, type RunKey } from '@runledger/contracts/events/subjects';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append, appendOwn, type ChainEvent } from '../../src/append/append.ts';
import { rememberMessage } from '../../src/append/previous-hash.ts';
import type { EventLog } from '../../src/connect/event-log.ts';
import { readAllOfRun } from '../../src/read/read-all-of-run.ts';
import { aLog, type TestLog } from '../fixtures/test-log.ts';

let test: TestLog;
let log: EventLog;
let other: EventLog;
beforeAll(async () => {
  test = await aLog();
  ({ log } = test);
  other = await test.open();
});
afterAll(() => test[Symbol.asyncDispose]());

const stored = async (of: EventLog, event: ChainEvent, expected: number): Promise<number> => {
  const appended = await append(of, event, expected);
  if (appended.kind !== 'appended') throw new Error('something else came first');
  return appended.sequence;
};

/** Of each fact after the first: the hash that it has, and that of the bytes before it. */
const linksOf = async (of: EventLog, run: RunKey): Promise<[unknown, unknown][]> => {
  const { life = [] } = (await readAllOfRun(of, run)) ?? {};
  return life.slice(1).map(({ body }, n) => [
    Object(body).previous_sha256,
    createHash('sha256')
      .update(life[n]?.data ?? '')
      .digest('base64url'),
  ]);
};
const expectLinked = async (of: EventLog, run: RunKey, facts: number): Promise<void> => {
  const links = await linksOf(of, run);
  expect(links).toHaveLength(facts - 1);
  for (const [has, is] of links) expect(has).toBe(is);
};

describe('a fact of a run', () => {
  it('has the hash of the one before, which the same process stored', async () => {
    const run = aRun();
    const first = await stored(log, queued(run), 0);
    const second = await stored(log, assigned(run), first);
    await stored(log, started(run), second);
    await expectLinked(log, run, 3);
  });

  it('has the hash of one that another process stored, which is read', async () => {
    const run = aRun();
    const first = await stored(other, queued(run), 0);
    await stored(log, assigned(run), first);
    await expectLinked(log, run, 2);
  });

  it('has it although a log before this one had another message at that position', async () => {
    const run = aRun();
    const first = await stored(other, queued(run), 0);
    const data = new TextEncoder().encode('of the log that was there before');
    rememberMessage(log, { subject: runEventSubject(queued(aRun())), sequence: first, data });
    await stored(log, assigned(run), first);
    await expectLinked(log, run, 2);
  });

  it('has it when its writer reads its own subjects only', async () => {
    const run = aRun();
    const second = await stored(other, assigned(run), await stored(other, queued(run), 0));
    const third = await appendOwn(log, started(run), second);
    if (third.kind !== 'appended') throw new Error('something else came first');
    await stored(other, cancelRequested(run, 1, EXECUTOR), third.sequence);
    await expectLinked(log, run, 4);
  });

  it('has none where it is the first one, or of notifications', async () => {
    const run = aRun();
    await stored(log, assigned(run), await stored(log, queued(run), 0));
    await stored(log, webhookStarted(run), 0);
    const { life, webhook } = (await readAllOfRun(log, run)) ?? { life: [], webhook: [] };
    for (const first of [life[0], webhook[0]]) expect(first?.body).not.toHaveProperty('previous_sha256');
  });
});
