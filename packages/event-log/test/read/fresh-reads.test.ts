import { aRun, queued } from '@runledger/testing/run-events';
import { expect, it } from 'vitest';
import { append } from '../../src/append/append.ts';
import { withFreshReads } from '../../src/read/fresh-reads.ts';
import { runsIdentity } from '../../src/read/stream-identity.ts';
import { lastOfRun } from '../../src/read/read-run.ts';
import { aLog } from '../fixtures/test-log.ts';

it('with one copy of the log, a read stores no marker', async () => {
  await using test = await aLog();
  const log = withFreshReads(test.log, () => performance.now());
  const key = aRun();
  expect(await lastOfRun(log, key)).toBe(0);
  const appended = await append(log, queued(key), 0);
  expect(appended).toEqual({ kind: 'appended', sequence: await lastOfRun(log, key) });
  expect(await runsIdentity(log)).toMatchObject({ lastSequence: 1 });
});
