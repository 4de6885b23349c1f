import { aRun, assigned } from '@runledger/testing/run-events';
import { subjectOf } from '@runledger/contracts/subjects';
import type { StoredMessage } from '@runledger/contracts/history';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventLog } from '../src/event-log.ts';
import { listParked, park } from '../src/park.ts';
import { readStored } from '../src/read-run.ts';
import { aLog, type TestLog } from './logs.ts';

let test: TestLog;
let log: EventLog;
beforeAll(async () => {
  test = await aLog();
  log = test.log;
});
afterAll(() => test[Symbol.asyncDispose]());

const poison = async (): Promise<StoredMessage> => {
  const { seq } = await log.js.publish(subjectOf(assigned(aRun())), 'no { json');
  const stored = await readStored(log, seq);
  if (!stored) throw new Error('what was published is not there');
  return stored;
};

describe('a message that is parked', () => {
  it('is parked once when it is parked twice', async () => {
    const request = { consumer: 'twice', stored: await poison(), reason: 'it is no JSON' };
    await park(log, request);
    await park(log, request);
    expect(await listParked(log, { consumer: 'twice' })).toHaveLength(1);
  });

  it('is there also when somebody has parked another under an id that could be foreseen', async () => {
    const stored = await poison();
    const msgID = `parked.RUNS.scheduler.${stored.sequence}`;
    await log.js.publish('parked.RUNS.executor-a', '{}', { msgID });
    await park(log, { consumer: 'scheduler', stored, reason: 'it is forged' });
    expect(await listParked(log, { consumer: 'scheduler' })).toMatchObject([{ sequence: stored.sequence }]);
  });
});
