import type { LoggedAttempt } from '@runledger/contracts/run-logs';
import type { OrgId } from '@runledger/contracts/ids';
import { countLogSlots, logsFill, readLog } from '@runledger/event-log/streams/logs';
import { aRun } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { openTestBed } from '../fixtures/gateway/test-bed.ts';
import { aChunk, attemptOf, store } from '../runs/logs/some-logs.ts';

const MiB = 1024 ** 2;
/** Of about 8 KiB. */
const chunks = (count: number) =>
  Array.from({ length: count }, (_, at) => aChunk(at * 4, 4, 'x'.repeat(2_000)));

it('an organisation whose attempts leave many logs loses its oldest ones, and no other one loses any', async () => {
  await using bed = await openTestBed({ logsMaxBytes: 4 * MiB });
  const { log } = bed;
  await bed.gateway({ projecting: true });
  const slotsOf = async (org_id: OrgId): Promise<number> => (await countLogSlots(log)).get(org_id) ?? 0;
  const chunksOf = async (of: LoggedAttempt): Promise<number> => (await readLog(log, of)).chunks.length;

  // The oldest of all, and its run still executes.
  const quiet = attemptOf(aRun());
  await store(log, quiet, ...chunks(40));
  const { org_id } = aRun();
  const crashed: LoggedAttempt[] = [];
  // More than the stream can hold, in steps that are smaller than what stays free.
  while (crashed.length < 16) {
    const of = attemptOf(aRun(org_id));
    crashed.push(of);
    await store(log, of, ...chunks(40));
    await waitFor('room', async () => (await logsFill(log)) < 0.75);
  }
  expect(await chunksOf(quiet)).toBe(40);
  expect(await slotsOf(quiet.org_id)).toBe(40);
  expect(await chunksOf(crashed[0] ?? quiet)).toBe(0);
  expect(await chunksOf(crashed.at(-1) ?? quiet)).toBe(40);
});
