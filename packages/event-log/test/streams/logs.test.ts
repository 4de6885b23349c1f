import { logSlot, logSubject, type LogChunk, type LoggedAttempt } from '@runledger/contracts/run-logs';
import { aRun, EXECUTOR, OTHER_EXECUTOR } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  clearLogSlot,
  eraseLogs,
  publishLogChunk,
  readLog,
  subscribeToLogs,
} from '../../src/streams/logs.ts';
import { aLog, type TestLog } from '../fixtures/test-log.ts';

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
});
afterAll(() => test[Symbol.asyncDispose]());

const anAttempt = (run = aRun()): LoggedAttempt => ({ ...run, attempt: 1, executor_id: EXECUTOR });
const aChunk = (first: number, line = `line ${first}`): LogChunk => ({
  first,
  before: first * 7,
  bytes: 7,
  lines: [[1_700_000_000_000, 'stdout', line, false]],
});
const firsts = async (of: LoggedAttempt): Promise<number[]> =>
  (await readLog(test.log, of)).chunks.map(({ first }) => first);

describe('the stored log of an attempt', () => {
  it('has its chunks in order, and none of another attempt, executor or run', async () => {
    const of = anAttempt();
    publishLogChunk(test.log, of, 1, aChunk(1));
    publishLogChunk(test.log, of, 0, aChunk(0));
    publishLogChunk(test.log, { ...of, attempt: 2 }, 0, aChunk(20));
    publishLogChunk(test.log, { ...of, executor_id: OTHER_EXECUTOR }, 0, aChunk(30));
    publishLogChunk(test.log, anAttempt(aRun(of.org_id)), 0, aChunk(40));
    await expect.poll(() => firsts(of), { timeout: 10_000 }).toEqual([0, 1]);
    expect(await readLog(test.log, anAttempt())).toEqual({ chunks: [], isCleared: false });
  });

  it('takes no more room than its slots, however much is written', async () => {
    const of = anAttempt();
    for (let n = 0; n < 1_000; n += 1) publishLogChunk(test.log, of, logSlot(n), aChunk(n));
    await expect.poll(async () => (await firsts(of)).at(-1), { timeout: 10_000 }).toBe(999);
    expect(await firsts(of)).toEqual([
      ...Array(64).keys(),
      ...Array.from({ length: 64 }, (_, at) => 936 + at),
    ]);
  });

  it('leaves out what is invalid, and says that it was cleared', async () => {
    const of = anAttempt();
    await test.log.js.publish(logSubject(of, 0), 'no JSON');
    await test.log.js.publish(logSubject(of, 1), JSON.stringify({ ...aChunk(1), first: -1 }));
    expect(await readLog(test.log, of)).toEqual({ chunks: [], isCleared: false });
    clearLogSlot(test.log, of, 0);
    await expect.poll(async () => (await readLog(test.log, of)).isCleared, { timeout: 10_000 }).toBe(true);
    const cleared = await test.log.jsm.streams.getMessage('LOGS', { last_by_subj: logSubject(of, 0) });
    expect(cleared?.header.get('Nats-TTL')).toBe('1m');
    expect((await test.log.jsm.streams.info('LOGS')).config).toMatchObject({
      allow_msg_ttl: true,
      allow_rollup_hdrs: false,
    });
  });

  it('is erased with all attempts of its run, and with no other run', async () => {
    const of = anAttempt();
    const other = anAttempt(aRun(of.org_id));
    publishLogChunk(test.log, of, 0, aChunk(0));
    publishLogChunk(test.log, { ...of, attempt: 2, executor_id: OTHER_EXECUTOR }, 0, aChunk(0));
    publishLogChunk(test.log, other, 0, aChunk(0));
    await expect.poll(() => firsts(other), { timeout: 10_000 }).toEqual([0]);
    await eraseLogs(test.log, of);
    expect(await firsts(of)).toEqual([]);
    expect(await firsts({ ...of, attempt: 2, executor_id: OTHER_EXECUTOR })).toEqual([]);
    expect(await firsts(other)).toEqual([0]);
  });
});

describe('a subscription to logs', () => {
  it('receives what is stored of this run, and drops what is invalid', async () => {
    const of = anAttempt();
    const received: unknown[] = [];
    const stop = subscribeToLogs(test.log, of, (...chunk) => received.push(chunk));
    publishLogChunk(test.log, anAttempt(aRun(of.org_id)), 0, aChunk(0));
    test.log.nc.publish(logSubject(of, 0), 'no JSON');
    publishLogChunk(test.log, { ...of, attempt: 2 }, 0, aChunk(0));
    await waitFor('the chunk', () => received.length > 0);
    expect(received).toEqual([[{ ...of, attempt: 2 }, aChunk(0)]]);
    stop();
  });
});
