import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBucket, InvalidRecord, type Bucket } from '../../src/streams/bucket.ts';
import { openTable } from '../../src/table/table.ts';
import { aLog, type TestLog } from '../fixtures/test-log.ts';

const Machine = Type.Object({ name: Type.String({ minLength: 1 }) });

let test: TestLog;
let machines: Bucket<{ name: string }>;
/** Its erasures leave a marker. */
let marking: Bucket<{ name: string }>;
const NAMED = {
  prefix: 'machines',
  schema: Machine,
  keep: () => true,
} as const;
beforeAll(async () => {
  test = await aLog();
  machines = openBucket(test.log, 'CATALOGUE', Machine);
  marking = openTable(test.log, { bucket: 'CATALOGUE', ...NAMED });
});
afterAll(() => test[Symbol.asyncDispose]());

describe('a bucket', () => {
  it('erases a key at a revision, and not a later one', async () => {
    const first = await machines.put('machines.e.1', { name: 'one' });
    const second = await machines.put('machines.e.1', { name: 'two' });
    expect(await machines.eraseAt('machines.e.1', first)).toBe(false);
    expect((await machines.get('machines.e.1'))?.value).toEqual({ name: 'two' });
    expect(await machines.eraseAt('machines.e.1', second)).toBe(true);
    expect(await machines.get('machines.e.1')).toBeUndefined();
    expect(await machines.eraseAt('machines.e.1', second)).toBe(true);
    expect(await machines.create('machines.e.1', { name: 'three' })).toBeGreaterThan(second);
  });

  it('gives its entries in the order of their last changes', async () => {
    const files = openBucket(test.log, 'FILES', Machine);
    const first = await files.put('n.1', { name: 'one' });
    for (const key of ['n.2', 'nn.1', 'n.3']) await files.put(key, { name: key });
    await files.update('n.1', { name: 'changed' }, first);
    await openTable(test.log, { bucket: 'FILES', ...NAMED }).erase('n.2');
    const third = await files.next('n', 0);
    expect(third).toMatchObject({ key: 'n.3', value: { name: 'n.3' }, changedAt: expect.any(Date) });
    const changed = await files.next('n', third?.revision ?? 0);
    expect(changed).toMatchObject({ key: 'n.1', value: { name: 'changed' } });
    expect(await files.next('n', changed?.revision ?? 0)).toBeUndefined();
  });

  it('returns the stored value', async () => {
    const revision = await machines.put('machines.a.1', { name: 'one' });
    expect(await machines.get('machines.a.1')).toEqual({
      key: 'machines.a.1',
      value: { name: 'one' },
      revision,
      changedAt: expect.any(Date),
    });
    expect(await machines.get('machines.a.2')).toBeUndefined();
  });

  it('creates a key once for concurrent writers, and again after it was deleted', async () => {
    const tries = Array.from({ length: 8 }, (_, n) => machines.create('machines.b.1', { name: `n${n}` }));
    const created = (await Promise.all(tries)).filter((revision) => revision !== false);
    expect(created).toHaveLength(1);
    await marking.erase('machines.b.1');
    expect(await machines.get('machines.b.1')).toBeUndefined();
    expect(await machines.create('machines.b.1', { name: 'again' })).toBeGreaterThan(0);
    expect(await machines.create('machines.b.1', { name: 'twice' })).toBe(false);
  });

  it('updates only the revision that was read', async () => {
    const first = await machines.put('machines.c.1', { name: 'one' });
    const tries = Array.from({ length: 8 }, (_, n) =>
      machines.update('machines.c.1', { name: `n${n}` }, first),
    );
    const updated = (await Promise.all(tries)).filter((revision) => revision !== false);
    expect(updated).toHaveLength(1);
    expect(await machines.update('machines.c.1', { name: 'late' }, first)).toBe(false);
  });

  it('puts a key while another one has a revision, and not after it was changed or erased', async () => {
    const key = 'machines.w.1';
    const first = await machines.put(key, { name: 'one' });
    expect(await machines.putWhile('machines.w.2', { name: 'a' }, { key, revision: first })).toBeGreaterThan(
      first,
    );
    const second = await machines.put(key, { name: 'two' });
    expect(await machines.putWhile('machines.w.2', { name: 'b' }, { key, revision: first })).toBe(false);
    expect(await machines.putWhile('machines.w.2', { name: 'c' }, { key, revision: second })).toBeGreaterThan(
      second,
    );
    await machines.erase(key);
    expect(await machines.putWhile('machines.w.2', { name: 'd' }, { key, revision: second })).toBe(false);
    expect((await machines.get('machines.w.2'))?.value).toEqual({ name: 'c' });
  });

  it('updates with one request, and reports a certain conflict', async () => {
    const first = await machines.put('machines.o.1', { name: 'one' });
    const second = await machines.updateOnce('machines.o.1', { name: 'two' }, first);
    expect(second).toBeGreaterThan(first);
    expect(await machines.updateOnce('machines.o.1', { name: 'two' }, first)).toBe(false);
    expect((await machines.get('machines.o.1'))?.revision).toBe(second);
  });

  it('erases a key without a marker, and accepts it again', async () => {
    const messages = async () => (await test.log.jsm.streams.info('KV_CATALOGUE')).state.messages;
    await machines.put('machines.x.10', { name: 'stays' });
    const before = await messages();
    await machines.put('machines.x.1', { name: 'one' });
    await machines.put('machines.x.1', { name: 'two' });
    await machines.erase('machines.x.1');
    await machines.erase('machines.x.1');
    expect(await machines.get('machines.x.1')).toBeUndefined();
    expect(await messages()).toBe(before);
    expect(await machines.get('machines.x.10')).toMatchObject({ value: { name: 'stays' } });
    expect(await machines.create('machines.x.1', { name: 'again' })).toBeGreaterThan(0);
    await expect(machines.erase('machines.x.>')).rejects.toThrow('is not a valid key');
  });

  it('lists the keys under a prefix, without deleted ones', async () => {
    for (const key of ['machines.d.1', 'machines.d.2', 'machines.d.3', 'machines.dd.4']) {
      await machines.put(key, { name: key });
    }
    await machines.put('machines.d.2', { name: 'changed' });
    await marking.erase('machines.d.3');
    const listed = await machines.list('machines.d');
    expect(listed.map(({ key, value }) => [key, value.name])).toEqual([
      ['machines.d.1', 'machines.d.1'],
      ['machines.d.2', 'changed'],
    ]);
    expect(await machines.list('machines.none')).toEqual([]);
  });

  it('lists more keys than one response of the broker holds', async () => {
    const keys = Array.from({ length: 1_500 }, (_, n) => `machines.e.${n}`);
    await Promise.all(keys.map((key) => machines.put(key, { name: key })));
    expect(await machines.list('machines.e')).toHaveLength(1_500);
  });

  it('reports every write under a prefix in order, and no other write', async () => {
    const written: string[] = [];
    let last = 0;
    const read = async (): Promise<void> => {
      for (;;) {
        const write = await machines.nextWrite('machines.h', last);
        if (!write) return;
        written.push(write.key);
        last = write.revision;
      }
    };
    await read();
    const first = await machines.put('machines.h.1', { name: 'one' });
    await machines.put('machines.hh.1', { name: 'elsewhere' });
    await machines.put('machines.h.2', { name: 'two' });
    await read();
    await machines.update('machines.h.1', { name: 'changed' }, first);
    await marking.erase('machines.h.2');
    await machines.put('machines.h.3', { name: 'three' });
    await machines.erase('machines.h.3');
    await read();
    expect(written).toEqual(['machines.h.1', 'machines.h.2', 'machines.h.1', 'machines.h.2']);
  });

  it('rejects an invalid value', async () => {
    await expect(machines.put('machines.f.1', { name: '' })).rejects.toBeInstanceOf(InvalidRecord);
    await expect(machines.create('machines.f.1', { name: '' })).rejects.toThrow('machines.f.1 of CATALOGUE');
    expect(await machines.get('machines.f.1')).toBeUndefined();
  });

  it('returns no invalid value', async () => {
    await test.log.js.publish('$KV.CATALOGUE.machines.g.1', '{"name": 7}');
    await expect(machines.get('machines.g.1')).rejects.toThrow(/machines\.g\.1 of CATALOGUE .*\/name/);
    await test.log.js.publish('$KV.CATALOGUE.machines.g.2', 'no json');
    await expect(machines.get('machines.g.2')).rejects.toBeInstanceOf(InvalidRecord);
  });

  it.each(['', '.a', 'a.', 'a..b', 'a.*', 'a.>', 'a b', 'ä'])('rejects the key %j', async (key) => {
    await expect(machines.get(key)).rejects.toThrow('is not a valid key');
    await expect(machines.put(key, { name: 'x' })).rejects.toThrow('is not a valid key');
  });
});
