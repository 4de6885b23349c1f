import { newUuid, orgId } from '@runledger/contracts/ids';
import { expect, it } from 'vitest';
import { retentionRecords } from '../../../src/records/retention.ts';
import { aLog } from '../../fixtures/gateway/a-log.ts';

it('what each organisation chose last is read, also when it chooses meanwhile', async () => {
  await using test = await aLog();
  const records = retentionRecords(test.log);
  const [first, second, third] = [orgId(newUuid()), orgId(newUuid()), orgId(newUuid())];
  const choose = (org_id: typeof first, runs_days: number) =>
    records.change(org_id, async (before) => ({ kind: 'changed', record: { ...before, runs_days } }));
  for (const days of [30, 20, 10]) for (const org_id of [first, second, third]) await choose(org_id, days);
  const read: (readonly [string, number | null])[] = [];
  for await (const { org_id, runs_days } of records.all()) {
    if (read.length === 0) await choose(second, 40);
    read.push([org_id, runs_days]);
  }
  expect(read).toEqual([
    [first, 10],
    [third, 10],
    [second, 40],
  ]);
});
