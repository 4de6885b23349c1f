import { Machine } from '@runledger/contracts/catalogue/records';
import { newUuid } from '@runledger/contracts/ids';
import type { Bucket } from '@runledger/event-log/streams/bucket';
import { openTables } from '@runledger/event-log/table/table';
import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catalogue } from '../../../src/records/catalogue/catalogue.ts';
import { listed, sortKeyOf, type Records } from '../../../src/records/catalogue/records.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';

let bed: TestBed;
let records: Records<Machine>;
/** Of another gateway. */
let others: Bucket<Machine>;
beforeAll(async () => {
  bed = await openTestBed();
  records = catalogue(bed.log).machines;
  others = openTables(bed.log, {
    bucket: 'CATALOGUE',
    prefix: 'machines',
    schema: Machine,
    ...listed<Machine>(),
  });
});
afterAll(() => bed[Symbol.asyncDispose]());

const aMachine = (org_id: string, request: Partial<Machine> = {}): Machine => ({
  ...bed.tenant.machine,
  id: newUuid(),
  org_id,
  ...request,
});
const keyOf = ({ org_id, id }: Machine): string => `machines.${org_id}.${id}`;

/** As another gateway does it. */
const store = (machine: Machine): Promise<number> => others.put(keyOf(machine), machine);

const ids = (machines: readonly Machine[]): string[] => machines.map(({ id }) => id);

const any = (): boolean => true;
const FIRST = { archived: false, limit: 20, after: undefined };

/** All pages, one behind the other. */
const walk = async (org: string, archived: boolean): Promise<Machine[]> => {
  const found: Machine[] = [];
  let after: string | undefined;
  for (;;) {
    const { items, end } = await records.page(org, { archived, limit: 3, after }, any);
    found.push(...items);
    if (end === undefined) return found;
    after = end;
  }
};

/** How many messages the broker sends for some work. */
const messagesFor = async (work: () => Promise<unknown>): Promise<number> => {
  const before = bed.log.nc.stats().inMsgs;
  await work();
  return bed.log.nc.stats().inMsgs - before;
};

describe('an organisation with 5,000 records', () => {
  it('is read once, and from then on a request reads only what it needs', async () => {
    const org = newUuid();
    const newestFirst = Array.from({ length: 5_000 }, () => aMachine(org)).toReversed();
    for (let begin = 0; begin < newestFirst.length; begin += 500) {
      await Promise.all(newestFirst.slice(begin, begin + 500).map(store));
    }
    expect(await messagesFor(() => records.page(org, FIRST, any))).toBeGreaterThan(5_000);

    const [last] = newestFirst.slice(-21).map(sortKeyOf);
    const lastPage = { ...FIRST, after: last };
    expect(ids((await records.page(org, FIRST, any)).items)).toEqual(ids(newestFirst.slice(0, 20)));
    expect(await messagesFor(() => records.page(org, FIRST, any))).toBe(1);
    expect(ids((await records.page(org, lastPage, any)).items)).toEqual(ids(newestFirst.slice(-20)));
    expect(await messagesFor(() => records.page(org, lastPage, any))).toBe(1);
    expect(await messagesFor(() => records.page(org, { ...FIRST, archived: true }, any))).toBe(1);
    expect(await messagesFor(() => records.find(org, (machine) => sortKeyOf(machine) === last))).toBe(1);
    expect(await messagesFor(() => records.create(aMachine(org)))).toBe(1);
    expect(await messagesFor(() => records.all(org))).toBe(2);
    expect(await messagesFor(() => records.page(org, FIRST, any))).toBe(1);
  });

  it('is read once for concurrent requests', async () => {
    const org = newUuid();
    await Promise.all(Array.from({ length: 1_000 }, () => store(aMachine(org))));
    const pages = () =>
      Promise.all(Array.from({ length: 50 }, () => records.page(org, { ...FIRST, archived: true }, any)));
    expect(await messagesFor(pages)).toBeLessThan(1_200);
    expect(await messagesFor(pages)).toBe(1);
  });
});

describe('the lists of a gateway', () => {
  it('show every change by another gateway at once', async () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
    const change = fc.oneof(
      fc.record({ kind: fc.constant('put' as const), name, archived: fc.boolean() }),
      fc.record({ kind: fc.constant('erase' as const), name }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 3, maxLength: 12 }), async (changes) => {
        const org = newUuid();
        const machines = new Map<string, Machine>();
        const there = new Map<string, Machine>();
        for (const { name: which, ...what } of changes) {
          const known = machines.get(which) ?? aMachine(org);
          machines.set(which, known);
          if (what.kind === 'put') {
            const machine = { ...known, archived: what.archived };
            await store(machine);
            there.set(which, machine);
          } else {
            await others.erase(keyOf(known));
            there.delete(which);
          }
          for (const archived of [false, true]) {
            const expected = Array.from(there.values())
              .filter((machine) => machine.archived === archived)
              .sort((one, other) => (one.id < other.id ? 1 : -1));
            expect(await walk(org, archived)).toEqual(expected);
            const found = await records.find(org, (entry) => entry.archived === archived);
            expect(found?.newest).toEqual(expected[0]);
          }
        }
      }),
      { numRuns: casesOf(3) },
    );
  });

  it('stay correct after more changes than are read one by one', async () => {
    const org = newUuid();
    const [first, ...others] = Array.from({ length: 300 }, () => aMachine(org));
    if (!first) throw new Error('There are 300 machines');
    await store(first);
    expect(ids(await walk(org, false))).toEqual([first.id]);
    await Promise.all(others.map(store));
    await store({ ...first, archived: true });
    expect(ids(await walk(org, true))).toEqual([first.id]);
    expect(ids(await walk(org, false))).toEqual(ids(others.toReversed()));
  });
});
