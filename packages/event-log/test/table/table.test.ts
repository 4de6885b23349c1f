import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { Type, type Static } from 'typebox';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { EventLog } from '../../src/connect/event-log.ts';
import { LogFull } from '../../src/append/publish.ts';
import { openBucket } from '../../src/streams/bucket.ts';
import { leftOutState, openTable, openTables, type Table, type TableIndex } from '../../src/table/table.ts';
import { waitFor } from '@runledger/testing/wait-for';
import { aLog, type TestLog } from '../fixtures/test-log.ts';

const Person = Type.Object({ email: Type.String(), org: Type.String() });
type Person = Static<typeof Person>;

let test: TestLog;
let other: EventLog;
beforeAll(async () => {
  test = await aLog();
  other = await test.open();
});
afterAll(() => test[Symbol.asyncDispose]());
afterEach(() => {
  vi.restoreAllMocks();
});

const optionsOf = (prefix: string) => ({
  bucket: 'KEYS' as const,
  prefix,
  schema: Person,
  keep: (person: Person) => person,
  indexes: { email: ({ email }: Person) => email, org: ({ org }: Person) => org },
  sortKey: ({ email }: Person) => email,
});
const peopleAt = (log: EventLog, prefix: string): Table<Person, Person, 'email' | 'org'> =>
  openTable(log, optionsOf(prefix));

const aPerson = (email: string, org = 'x'): Person => ({ email, org });
const emails = (index: TableIndex<Person, 'email' | 'org'>): string[] =>
  index.newestFirst().map(({ value }) => value.email);

/** How many messages the broker sends for some work. */
const messagesFor = async (work: () => Promise<unknown>): Promise<number> => {
  const before = test.log.nc.stats().inMsgs;
  await work();
  return test.log.nc.stats().inMsgs - before;
};

/** So much time has passed for the tables since the beginning of the test. */
const passes = (ms: number): void => {
  vi.restoreAllMocks();
  const real = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => real() + ms);
};
const MINUTES = 60_000;

const messagesOf = async (log: EventLog, key: string): Promise<number> =>
  (await log.jsm.streams.info('KV_KEYS', { subjects_filter: `$KV.KEYS.${key}` })).state.subjects?.[
    `$KV.KEYS.${key}`
  ] ?? 0;

describe('a table', () => {
  it('shows every change of another process at once, whatever it is', async () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd');
    const change = fc.oneof(
      fc.record({ kind: fc.constant('put' as const), name, org: fc.constantFrom('x', 'y') }),
      fc.record({ kind: fc.constant('erase' as const), name }),
      fc.record({ kind: fc.constant('eraseAt' as const), name }),
    );
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 3, maxLength: 12 }), async (changes) => {
        run += 1;
        const [here, there] = [peopleAt(test.log, `p${run}`), peopleAt(other, `p${run}`)];
        const expected = new Map<string, string>();
        for (const { name: which, ...what } of changes) {
          const key = `p${run}.${which}`;
          if (what.kind === 'put') {
            await there.put(key, aPerson(which, what.org));
            expected.set(which, what.org);
          } else {
            const { revision = 0 } = (await there.get(key)) ?? {};
            await (what.kind === 'erase' ? there.erase(key) : there.eraseAt(key, revision));
            expected.delete(which);
          }
          const now = await here.now();
          expect(emails(now)).toEqual([...expected.keys()].sort().toReversed());
          for (const org of ['x', 'y'])
            expect(
              now
                .of('org', org)
                .map(({ value }) => value.email)
                .sort(),
            ).toEqual(
              [...expected]
                .filter(([, one]) => one === org)
                .map(([one]) => one)
                .sort(),
            );
          expect(now.get(key)?.revision).toBe((await here.get(key))?.revision);
        }
      }),
      { numRuns: casesOf(8) },
    );
  });

  it('is read once, and from then on a proof is one question, which concurrent calls share', async () => {
    const people = peopleAt(test.log, 'once');
    await Promise.all(Array.from({ length: 500 }, (_, n) => people.put(`once.${n}`, aPerson(String(n)))));
    expect(await messagesFor(() => people.now())).toBeGreaterThan(500);
    expect(await messagesFor(() => people.now())).toBe(1);
    expect(await messagesFor(() => Promise.all(Array.from({ length: 50 }, () => people.now())))).toBe(1);
    expect(await messagesFor(() => people.now(10_000))).toBe(0);
    await people.put('once.1', aPerson('changed'));
    expect(await messagesFor(() => people.now())).toBe(2);
    expect((await people.now()).by('email', 'changed')?.key).toBe('once.1');
  });

  it('has all of many changes at once', async () => {
    const [here, there] = [peopleAt(test.log, 'many'), peopleAt(other, 'many')];
    await there.put('many.first', aPerson('first'));
    await here.now();
    await Promise.all(Array.from({ length: 300 }, (_, n) => there.put(`many.${n}`, aPerson(String(n)))));
    await there.erase('many.first');
    const now = await here.now();
    expect([now.size, now.get('many.first')]).toEqual([300, undefined]);
  });

  it('is content with a proof that is young enough, and with no other', async () => {
    const [here, there] = [peopleAt(test.log, 'young'), peopleAt(other, 'young')];
    expect(here.recent(60_000)).toBeUndefined();
    await here.now();
    await there.put('young.1', aPerson('new'));
    expect((await here.now(60_000)).size).toBe(0);
    passes(1_000);
    expect(here.recent(500)).toBeUndefined();
    expect((await here.now(500)).size).toBe(1);
  });

  it('names a record that it cannot read, until it can, and leaves it out', async () => {
    const reported: unknown[] = [];
    const logger = { ...test.log.logger, error: (what: unknown) => void reported.push(what) };
    const log = { ...test.log, logger };
    const people = peopleAt(log, 'odd');
    const state = leftOutState(log);
    await people.put('odd.1', aPerson('one'));
    await people.put('odd.2', aPerson('two'));
    expect((await people.now()).size).toBe(2);
    expect(state()).toEqual({ ok: true });
    await test.log.js.publish('$KV.KEYS.odd.1', '{"email": 7}');
    await test.log.js.publish('$KV.KEYS.odd.3', 'no json');
    expect(emails(await people.now())).toEqual(['two']);
    expect(reported).toEqual([
      expect.objectContaining({ stream: 'KV_KEYS', key: 'odd.1' }),
      expect.objectContaining({ stream: 'KV_KEYS', key: 'odd.3' }),
    ]);
    expect(state()).toEqual({
      ok: true,
      note: expect.stringMatching(/^Records.*: 2\. .*KEYS odd\.1: .*KEYS odd\.3: /),
    });
    await people.put('odd.1', aPerson('again'));
    expect(emails(await people.now())).toEqual(['two', 'again']);
    expect(state()).toEqual({ ok: true, note: expect.stringMatching(/^Records.*: 1\. .*KEYS odd\.3: /) });
    await people.erase('odd.3');
    await people.now();
    expect(state()).toEqual({ ok: true });
  });

  it('erases at a revision, and not a later one', async () => {
    const people = peopleAt(test.log, 'at');
    const first = await people.put('at.1', aPerson('one'));
    const second = await people.put('at.1', aPerson('two'));
    expect(await people.eraseAt('at.1', first)).toBe(false);
    expect((await people.now()).size).toBe(1);
    expect(await people.eraseAt('at.1', second)).toBe(true);
    expect(await people.eraseAt('at.1', second)).toBe(true);
    expect((await people.now()).size).toBe(0);
    expect(await people.create('at.1', aPerson('three'))).toBeGreaterThan(second);
  });

  it('purges the marker of an erased record after an hour, and not the record that came back', async () => {
    const people = peopleAt(test.log, 'hour');
    for (const one of ['gone', 'back']) await people.put(`hour.${one}`, aPerson(one));
    for (const one of ['gone', 'back']) await people.erase(`hour.${one}`);
    await people.now();
    await people.create('hour.back', aPerson('back'));
    expect(await messagesOf(test.log, 'hour.gone')).toBe(1);
    passes(59 * MINUTES);
    await people.now();
    expect(await messagesOf(test.log, 'hour.gone')).toBe(1);
    passes(61 * MINUTES);
    await people.now();
    await waitFor('the purge', async () => (await messagesOf(test.log, 'hour.gone')) === 0 || undefined);
    expect(emails(await people.now())).toEqual(['back']);
  });

  it('loses the marker of an erased record after an hour to whoever walks through the records', async () => {
    const people = peopleAt(test.log, 'walk');
    for (const one of ['gone', 'last']) await people.put(`walk.${one}`, aPerson(one));
    await people.erase('walk.gone');
    expect(await people.next('walk', 0)).toMatchObject({ key: 'walk.last' });
    await people.put('walk.last', aPerson('later'));
    expect(await people.next('walk', 0)).toMatchObject({ key: 'walk.last', value: aPerson('later') });
    expect(await messagesOf(test.log, 'walk.gone')).toBe(1);
    const { streams } = test.log.jsm;
    const read = streams.getMessage.bind(streams);
    vi.spyOn(streams, 'getMessage').mockImplementation(async (stream, query) => {
      const message = await read(stream, query);
      if (message?.header?.has('KV-Operation') !== true) return message;
      const { subject, data, header, seq, time } = message;
      return Object.assign(Object.create(null), {
        subject,
        data,
        header,
        seq,
        time: new Date(time.getTime() - 61 * MINUTES),
      });
    });
    expect(await people.next('walk', 0)).toMatchObject({ key: 'walk.last' });
    expect(await messagesOf(test.log, 'walk.gone')).toBe(0);
    expect(await people.next('walk', 0)).toMatchObject({ key: 'walk.last' });
  });

  it('erases a record of a full bucket, and every other table sees it', async () => {
    await using own = await aLog({ keysMaxBytes: 256 * 1024 });
    const [here, there] = [peopleAt(own.log, 'full'), peopleAt(await own.open(), 'full')];
    const long = 'x'.repeat(8_000);
    let last = 0;
    const fill = async (): Promise<void> => {
      for (; last < 100; last += 1) await here.put(`full.${last}`, aPerson(`${last}${long}`));
    };
    await expect(fill()).rejects.toBeInstanceOf(LogFull);
    // The rest too, so that not even a marker has room.
    const small = async (): Promise<void> => {
      for (let n = 0; n < 1_000; n += 1) await here.put(`full.s${n}`, aPerson('s'));
    };
    await expect(small()).rejects.toBeInstanceOf(LogFull);
    const before = (await there.now()).size;
    await here.erase('full.0');
    const entry = await here.get('full.1');
    expect(await here.eraseAt('full.1', entry?.revision ?? 0)).toBe(true);
    expect((await there.now()).size).toBe(before - 2);
  });

  it('reads everything again when it has not asked for so long that it may have missed a marker', async () => {
    const [here, there] = [peopleAt(test.log, 'idle'), peopleAt(other, 'idle')];
    const revision = await there.put('idle.1', aPerson('one'));
    await here.now();
    // As after the marker was purged.
    await openBucket(other, 'KEYS', Person).eraseAt('idle.1', revision);
    expect((await here.now()).size).toBe(1);
    passes(31 * MINUTES);
    expect((await here.now()).size).toBe(0);
  });
});

describe('tables of owners', () => {
  it('are read one by one, and the least recently used are forgotten when all together are too many', async () => {
    const tables = openTables(test.log, optionsOf('own'), 40 * 1024);
    for (const owner of ['a', 'b', 'c']) await tables.put(`own.${owner}.1`, aPerson(owner));
    const use = (owner: string) => messagesFor(() => tables.of(owner).now());
    expect(emails(await tables.of('a').now())).toEqual(['a']);
    expect(await use('b')).toBeGreaterThan(1);
    expect(await use('a')).toBe(1);
    expect(await use('c')).toBeGreaterThan(1);
    expect(await use('a')).toBe(1);
    expect(await use('b')).toBeGreaterThan(1);
    await tables.erase('own.b.1');
    expect((await tables.of('b').now()).size).toBe(0);
  });
});
