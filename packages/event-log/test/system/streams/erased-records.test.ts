import { waitFor } from '@runledger/testing/wait-for';
import { Type } from 'typebox';
import { expect, it } from 'vitest';
import { eraseSubjects } from '../../../src/streams/erase-messages.ts';
import { openBucket, type Bucket, type BucketName } from '../../../src/streams/bucket.ts';
import { openTable } from '../../../src/table/table.ts';
import { aLogOnOwnBroker } from '../../fixtures/test-log.ts';

const Session = Type.Object({ name: Type.String() });
const BUCKETS = [
  'ACCOUNTS',
  'ARCHIVE',
  'CATALOGUE',
  'FILES',
  'KEYS',
  'SCHEDULES',
  'WEBHOOK_SECRETS',
] as const;

/** Created, and changed in every way there is. */
const changedOften = async (bucket: Bucket<{ name: string }>, key: string): Promise<number> => {
  const created = await bucket.create(key, { name: 'first' });
  if (created === false) throw new Error('the key is new');
  await bucket.update(key, { name: 'second' }, created);
  await bucket.put(key, { name: 'third' });
  const other = `${key}.other`;
  const revision = await bucket.put(other, { name: 'other' });
  const last = await bucket.putWhile(key, { name: 'fourth' }, { key: other, revision });
  if (last === false) throw new Error('the other is as it was');
  return last;
};

it(
  'a record that was changed and erased stays erased when the broker is killed',
  { timeout: 60_000 },
  async () => {
    await using test = await aLogOnOwnBroker();
    const open = (name: BucketName) => openBucket(test.log, name, Session);
    for (const name of BUCKETS) {
      const bucket = open(name);
      await changedOften(bucket, 'a.erased');
      await bucket.erase('a.erased');
      expect(await bucket.eraseAt('a.at', await changedOften(bucket, 'a.at'))).toBe(true);
      const table = openTable(test.log, {
        bucket: name,
        prefix: 'a',
        schema: Session,
        keep: (session) => session,
      });
      await changedOften(bucket, 'a.marked');
      await table.erase('a.marked');
      expect(await table.eraseAt('a.marked_at', await changedOften(bucket, 'a.marked_at'))).toBe(true);
      await changedOften(bucket, 'b.1');
      await eraseSubjects(test.log, `KV_${name}`, `$KV.${name}.b.>`);
      await changedOften(bucket, 'a.kept');
    }
    await test.nats.kill9();
    await test.nats.restart();
    for (const name of BUCKETS) {
      const left = await waitFor('the broker', () =>
        open(name)
          .list()
          .catch(() => undefined),
      );
      const names = left
        .filter(({ key }) => !key.endsWith('.other'))
        .map(({ key, value }) => [key, value.name]);
      expect(names, name).toEqual([['a.kept', 'fourth']]);
    }
  },
);
