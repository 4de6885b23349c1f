import type { RunEvent } from '@runledger/contracts/events/run-event';
import { lifecycleFilter, runEventSubject, type RunKey } from '@runledger/contracts/events/subjects';
import { aRun, assigned, OTHER_EXECUTOR, queued, requeued, started } from '@runledger/testing/run-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newerVersionOfExecutor } from '../../src/read/newer-version.ts';
import { head } from '../../src/read/read-run.ts';
import { readStored } from '../../src/read/run-messages.ts';
import { aLog, forge, type TestLog } from '../fixtures/test-log.ts';

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
});
afterAll(() => test[Symbol.asyncDispose]());

/** Stores it at the head of the run. Returns what a reader of this message alone finds. */
const foundUnder = async (subject: string, key: RunKey, event: RunEvent) => {
  const fence = { filter: lifecycleFilter(key), sequence: await head(test.log, key) };
  const stored = await readStored(test.log, await forge(test.log, subject, event, fence));
  return stored && newerVersionOfExecutor(test.log, stored);
};
const foundOf = (key: RunKey, event: RunEvent) => foundUnder(runEventSubject(event), key, event);
const underStarted = (key: RunKey, event: RunEvent) => foundUnder(runEventSubject(started(key)), key, event);
const inVersion = (event: RunEvent, version: number): RunEvent => ({ ...event, version });

describe('a fact of an executor that only a later release can read', () => {
  it('has a version that the assignment of its attempt names', async () => {
    const key = aRun();
    await foundOf(key, queued(key));
    await foundOf(key, assigned(key, { data: { fact_versions: { RunStarted: 3 } } }));
    expect(await foundOf(key, started(key))).toBeUndefined();
    expect(await foundOf(key, inVersion(started(key), 3))).toMatchObject({ type: 'RunStarted', version: 3 });
    expect(await foundOf(key, inVersion(started(key), 4))).toBeUndefined();
    expect(await foundOf(key, inVersion(started(key, 1, OTHER_EXECUTOR), 3))).toBeUndefined();
    expect(await foundOf(key, inVersion(started(key, 2), 3))).toBeUndefined();
    expect(await foundOf(key, inVersion(requeued(key), 3))).toBeUndefined();
  });

  it('has a type that the assignment of its attempt names', async () => {
    const key = aRun();
    await foundOf(key, queued(key));
    await foundOf(key, assigned(key, { data: { fact_versions: { RunPaused: 1 } } }));
    const ofType = (type: string): RunEvent => ({ ...started(key), type }) as RunEvent;
    expect(await underStarted(key, ofType('RunPaused'))).toMatchObject({ type: 'RunPaused', version: 1 });
    expect(await underStarted(key, ofType('RunInvented'))).toBeUndefined();
  });

  it('is none where the assignment names nothing', async () => {
    const key = aRun();
    await foundOf(key, queued(key));
    await foundOf(key, assigned(key));
    expect(await foundOf(key, inVersion(started(key), 2))).toBeUndefined();
  });

  it('may be one where only a later release can read the assignment', async () => {
    const key = aRun();
    await foundOf(key, queued(key));
    await foundOf(key, inVersion(assigned(key), 2));
    expect(await foundOf(key, inVersion(started(key), 2))).toMatchObject({ type: 'RunAssigned', version: 2 });
  });
});
