import { aRun, assigned, queued } from '@runledger/testing/run-events';
import { requestArchiveCheck } from '@runledger/request-reply/archive-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { archiveRecords, SEGMENTS } from '../../src/archive/archive-records.ts';
import { openTestBed, type TestBed } from '../fixtures/gateway/test-bed.ts';
import { appendAll } from '../fixtures/runs/appended-facts.ts';
import { forgetAll } from '../fixtures/runs/forgotten-log.ts';
import { call } from '../fixtures/requests/requests.ts';
import { archiveAll, objectsOf, segmentsIn } from './archived-runs.ts';

let bed: TestBed;
beforeEach(async () => {
  bed = await openTestBed();
});
afterEach(() => bed[Symbol.asyncDispose]());

const check = async (behind = 0) => {
  const response = await requestArchiveCheck(bed.log, { behind, compare: true }, 10_000);
  if (!response) throw new Error('no gateway responds');
  return response.segment;
};

it('a gateway verifies segments one after the other, against the log as long as it has the facts', async () => {
  const run = aRun(bed.tenant.org_id);
  await appendAll(bed.log, queued(run), assigned(run));
  await archiveAll(bed.log);
  await bed.gateway();
  const segment = await check();
  expect(segment).toMatchObject({ org_id: run.org_id, messages: 2, compared: 2, problems: [] });
  expect(await check(segment?.revision)).toBeNull();
  await forgetAll(bed.log);
  expect(await check()).toMatchObject({ messages: 2, compared: 0, problems: [] });
});

it('a damaged segment is told in words, and no read takes it for an answer', async () => {
  const run = aRun(bed.tenant.org_id);
  await appendAll(bed.log, queued(run), assigned(run));
  await archiveAll(bed.log);
  const { api } = await bed.gateway();
  const [record] = await segmentsIn(bed.log);
  if (!record) throw new Error('it is archived');
  const objects = objectsOf(bed.log);
  const read = await objects.find(record.object);
  const bytes = Buffer.from((await read?.({ offset: 0, bytes: record.bytes })) ?? []);
  bytes.writeUInt8(bytes.readUInt8(40) ^ 1, 40);
  await objects.put(record.object, bytes);
  await forgetAll(bed.log);
  expect((await check())?.problems).toEqual(['its object has other bytes than were written']);
  const damaged = await call(`${api}/run/${run.run_id}`, bed.tenant.key);
  expect(damaged).toMatchObject({
    status: 503,
    body: { detail: expect.stringContaining('archive'), code: 'archive_unavailable' },
  });
  await objects.remove(record.object);
  expect((await check())?.problems).toEqual(['its object is missing']);
  expect((await call(`${api}/run/${run.run_id}`, bed.tenant.key)).status).toBe(503);
});

it('a message that the log does not have is found', async () => {
  const run = aRun(bed.tenant.org_id);
  await appendAll(bed.log, queued(run), assigned(run));
  await archiveAll(bed.log);
  await bed.gateway();
  // The messages of a range lie in the record of the one behind it.
  const { segments } = archiveRecords(bed.log);
  const [entry] = await segments.list(SEGMENTS);
  if (!entry) throw new Error('it is archived');
  await segments.put(entry.key, { ...entry.value, last_sequence: 1 });
  expect((await check())?.problems).toEqual(['it has message 2, which the log does not have']);
});
