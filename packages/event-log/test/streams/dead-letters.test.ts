import { aRun, assigned } from '@runledger/testing/run-events';
import { runEventSubject } from '@runledger/contracts/events/subjects';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventLog } from '../../src/connect/event-log.ts';
import { listDeadLetters, storeDeadLetter, readDeadLetter } from '../../src/streams/dead-letters.ts';
import { readStored } from '../../src/read/run-messages.ts';
import { aLog, type TestLog } from '../fixtures/test-log.ts';

let test: TestLog;
let log: EventLog;
beforeAll(async () => {
  test = await aLog();
  log = test.log;
});
afterAll(() => test[Symbol.asyncDispose]());

const poison = async (): Promise<StoredMessage> => {
  const { seq } = await log.js.publish(runEventSubject(assigned(aRun())), 'no { json');
  const stored = await readStored(log, seq);
  if (!stored) throw new Error('what was published is not there');
  return stored;
};

describe('a dead letter', () => {
  it('is stored once when it is stored twice', async () => {
    const request = { consumer: 'twice', stored: await poison(), reason: 'it is no JSON' };
    await storeDeadLetter(log, request);
    await storeDeadLetter(log, request);
    expect(await listDeadLetters(log, { consumer: 'twice' })).toHaveLength(1);
  });

  it('is stored also when another user stored one under a predictable id', async () => {
    const stored = await poison();
    const msgID = `dead_letters.RUNS.scheduler.message.${stored.sequence}.${stored.sequence}`;
    await log.js.publish('dead_letters.RUNS.executor-a.executor.a', '{}', { msgID });
    await storeDeadLetter(log, { consumer: 'scheduler', stored, reason: 'it is forged' });
    expect(await listDeadLetters(log, { consumer: 'scheduler' })).toMatchObject([
      { sequence: stored.sequence },
    ]);
  });
});

describe('a dead letter that does not match its subject', () => {
  it.each([
    ['consumer', { consumer: 'scheduler' }],
    ['stream', { stream: 'FLEET' }],
  ])('is logged and not listed when it claims another %s', async (what, claimed) => {
    const logged: object[] = [];
    const logger = { ...log.logger, warn: (fields: object) => void logged.push(fields) };
    const honest = {
      reason: 'take it again',
      consumer: `executor-${what}`,
      stream: 'RUNS',
      subject: 'runs.a.b.life.queued.gateway.0.none',
      sequence: 1,
      time: '2026-01-01T00:00:00.000Z',
      headers: {},
      data: null,
    };
    const subject = `dead_letters.RUNS.executor-${what}.executor.${what}`;
    const { seq } = await log.js.publish(subject, JSON.stringify({ ...honest, ...claimed }));
    const after = await log.js.publish(subject, JSON.stringify(honest));
    const listed = await listDeadLetters({ ...log, logger }, { consumer: `executor-${what}` });
    expect(listed.map(({ position }) => position)).toEqual([after.seq]);
    expect(logged).toEqual([{ position: seq, subject }]);
    expect(await readDeadLetter(log, seq)).toBeUndefined();
  });
});
