import { aRun, queued, started } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append, appendOwn } from '../../src/append/append.ts';
import { LogUnavailable, openEventLog } from '../../src/connect/event-log.ts';
import { silentLogger, type LogObserver } from '../../src/connect/observability.ts';
import { storeDeadLetter } from '../../src/streams/dead-letters.ts';
import { readStored } from '../../src/read/run-messages.ts';
import { aLog, aLogOnOwnBroker, type TestLog } from '../fixtures/test-log.ts';

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
});
afterAll(() => test[Symbol.asyncDispose]());

const recorder = (): LogObserver & { readonly seen: string[] } => {
  const seen: string[] = [];
  return {
    seen,
    connected: (now) => seen.push(now ? 'connected' : 'disconnected'),
    appended: (how, seconds) => seen.push(seconds > 0 ? how : 'without a duration'),
    resent: () => seen.push('sent again'),
    deadLettered: (consumer) => seen.push(`dead letter of ${consumer}`),
    notAllowed: () => seen.push('not allowed'),
  };
};

describe('an observer of a log', () => {
  it('counts appends, conflicts and dead letters', async () => {
    const observer = recorder();
    const log = { ...test.log, observer };
    const key = aRun();
    const first = await append(log, queued(key), 0);
    if (first.kind !== 'appended') throw new Error('a new run was not appended');
    await append(log, started(key), first.sequence + 1_000);
    await appendOwn(log, started(key), first.sequence + 1_000);
    const stored = await readStored(log, first.sequence);
    if (!stored) throw new Error('the appended message is missing');
    await storeDeadLetter(log, { consumer: 'tester', stored, reason: 'nobody can read it' });
    expect(observer.seen).toEqual(['appended', 'conflict', 'conflict', 'dead letter of tester']);
  });

  it('counts connections, disconnections, repeated messages and failed appends', async () => {
    await using other = await aLogOnOwnBroker();
    const observer = recorder();
    await using log = await openEventLog(
      { ...other.nats.login, name: 'observed' },
      silentLogger,
      undefined,
      observer,
    );
    await other.nats.kill9();
    await waitFor('the disconnection to be noticed', () => observer.seen.includes('disconnected'));
    const late = append(log, queued(aRun()), 0);
    await waitFor('the event to be sent again', () => observer.seen.includes('sent again'));
    await log.nc.close();
    await expect(late).rejects.toBeInstanceOf(LogUnavailable);
    expect(observer.seen).toEqual(
      expect.arrayContaining(['connected', 'disconnected', 'sent again', 'failed']),
    );
  });
});
