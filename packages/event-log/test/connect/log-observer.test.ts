import { aRun, queued, started } from '@runledger/testing/events/run-events';
import { waitFor } from '@runledger/testing/time/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append, appendOwn } from '../../src/append/append.ts';
import { openEventLog } from '../../src/connect/event-log.ts';
import { silentLogger } from '../../src/connect/logger.ts';
import type { LogObserver } from '../../src/connect/log-observer.ts';
import { storeDeadLetter } from '../../src/streams/dead-letters.ts';
import { readStored } from '../../src/messages/stream-identity.ts';
import { aLog, aLogOnOwnBroker, type TestLog } from '../fixtures/test-log.ts';

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
});
afterAll(() => test[Symbol.asyncDispose]());

const recorder = (): LogObserver & { readonly told: string[] } => {
  const told: string[] = [];
  return {
    told,
    connected: (now) => told.push(now ? 'connected' : 'away'),
    appended: (how, seconds) => told.push(seconds > 0 ? how : 'in no time'),
    resent: () => told.push('sent again'),
    deadLettered: (consumer) => told.push(`parked for ${consumer}`),
    notAllowed: () => told.push('not allowed'),
  };
};

describe('who observes a log', () => {
  it('is told of what was appended, what came second, and what was parked', async () => {
    const observer = recorder();
    const log = { ...test.log, observer };
    const key = aRun();
    const first = await append(log, queued(key), 0);
    if (first.kind !== 'appended') throw new Error('a new run was not appended');
    await append(log, started(key), first.sequence + 1_000);
    await appendOwn(log, started(key), first.sequence + 1_000);
    const stored = await readStored(log, first.sequence);
    if (!stored) throw new Error('what was appended is not there');
    await storeDeadLetter(log, { consumer: 'tester', stored, reason: 'nobody can read it' });
    expect(observer.told).toEqual(['appended', 'conflict', 'conflict', 'parked for tester']);
  });

  it('is told when the broker is there, away, and does not answer what is sent', async () => {
    await using other = await aLogOnOwnBroker();
    const observer = recorder();
    await using log = await openEventLog(
      { ...other.nats.login, name: 'observed' },
      silentLogger,
      undefined,
      observer,
    );
    await other.nats.kill9();
    await waitFor('the broker to be missed', () => observer.told.includes('away'));
    const late = append(log, queued(aRun()), 0, { withinMs: 1_000 });
    await expect(late).rejects.toThrow('did not respond');
    expect(observer.told).toEqual(expect.arrayContaining(['connected', 'away', 'sent again', 'failed']));
  });
});
