import { partitionOf, type OpenBreaker, type PendingDelivery } from '@runledger/contracts/deliveries/timers';
import { newUuid } from '@runledger/contracts/ids';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { followDue, readExpired, type Due } from '../src/follow-timers.ts';
import {
  countDeferred,
  findPending,
  readOpenings,
  readPosition,
  storedAt,
  type StoredAt,
  removeOpening,
  removePending,
  removeTimer,
  storeOpening,
  storePosition,
  scheduleDelivery,
  deferDelivery,
} from '../src/timers.ts';
import { aLog, type TestLog } from '@runledger/event-log/test/fixtures/test-log';

let test: TestLog;
let log: EventLog;
beforeAll(async () => {
  test = await aLog();
  log = test.log;
});
afterAll(() => test[Symbol.asyncDispose]());

const aDelivery = (changes: Partial<PendingDelivery> = {}): PendingDelivery => ({
  version: 1,
  org_id: newUuid(),
  run_id: newUuid(),
  origin: `https://${newUuid()}.example`,
  round: 1,
  tries: 1,
  due_at: '2026-01-01T00:00:00.000Z',
  expires_at: '2026-01-07T00:00:00.000Z',
  sequence: 7,
  ...changes,
});

const soon = (): Date => new Date(Date.now() + 300);
const farAway = (): Date => new Date(Date.now() + 3_600_000);

/** Everything that becomes due in a partition, until it is disposed. */
const followPartition = async (partition: number): Promise<{ seen: Due[] } & AsyncDisposable> => {
  const seen: Due[] = [];
  const following = await followDue(
    log,
    partition,
    async (due) => void seen.push(...due),
    () => undefined,
  );
  return { seen, [Symbol.asyncDispose]: () => following[Symbol.asyncDispose]() };
};

const runsIn = (seen: readonly Due[]): string[] =>
  seen.flatMap((due) => (due.kind === 'delivery' ? [due.delivery.run_id] : []));

describe('a delivery that waits', () => {
  it('expires once, in its own partition', async () => {
    const delivery = aDelivery();
    await using followed = await followPartition(partitionOf(delivery.origin));
    await scheduleDelivery(log, delivery, soon());
    const due = await waitFor('the timer', () =>
      followed.seen.find((one) => one.kind === 'delivery' && one.delivery.run_id === delivery.run_id),
    );
    expect(due).toMatchObject({ kind: 'delivery', delivery });
    expect(runsIn(followed.seen)).toEqual([delivery.run_id]);
  });

  it('is replaced by a later one of the same run', async () => {
    const delivery = aDelivery();
    await scheduleDelivery(log, delivery, farAway());
    await using followed = await followPartition(partitionOf(delivery.origin));
    await scheduleDelivery(log, { ...delivery, tries: 2 }, soon());
    // The partition may hold what other tests have left there.
    const mine = () =>
      followed.seen.filter((due) => due.kind === 'delivery' && due.delivery.run_id === delivery.run_id);
    await waitFor('the timer', () => mine().length > 0);
    expect(mine()).toMatchObject([{ delivery: { tries: 2 } }]);
  });

  it('is found until it is removed', async () => {
    const delivery = aDelivery();
    await scheduleDelivery(log, delivery, farAway());
    expect(await findPending(log, delivery)).toMatchObject({ delivery });
    await removePending(log, delivery);
    expect(await findPending(log, delivery)).toBeUndefined();
  });
});

const stored = async (at: Parameters<typeof storedAt>[1], after = 0): Promise<StoredAt[]> => {
  const found: StoredAt[] = [];
  for await (const one of storedAt(log, at, after, (work) => work())) found.push(one);
  return found;
};

describe('deferred deliveries', () => {
  it('are returned one after the other, of one organisation or of all, the first deferred first', async () => {
    const first = aDelivery();
    const { origin } = first;
    const others = [aDelivery({ origin }), aDelivery({ origin, org_id: first.org_id })];
    for (const delivery of [first, ...others]) await deferDelivery(log, delivery);
    const of = async (org_id: string | null): Promise<string[]> => {
      const found = await stored({ origin, org_id });
      return found.map(({ delivery }) => delivery.run_id);
    };
    expect(await of(null)).toEqual([first, ...others].map(({ run_id }) => run_id));
    expect(await of(first.org_id)).toEqual([first.run_id, others[1]?.run_id]);
  });

  it('are returned among those that are due, in the order of their sequences', async () => {
    const early = aDelivery();
    const late = aDelivery({ origin: early.origin });
    await deferDelivery(log, early);
    const due = aDelivery({ origin: early.origin });
    await scheduleDelivery(log, due, new Date());
    const all = { origin: early.origin, org_id: null };
    await waitFor('it to be due', async () => (await stored(all)).length === 2);
    await deferDelivery(log, late);
    const found = await stored(all);
    expect(found.map(({ state, delivery }) => [state, delivery.run_id])).toEqual([
      ['deferred', early.run_id],
      ['due', due.run_id],
      ['deferred', late.run_id],
    ]);
    expect(await stored(all, found[1]?.sequence)).toMatchObject([{ delivery: late }]);
  });

  it('are counted until they are removed; removing twice is harmless', async () => {
    const before = await countDeferred(log);
    const delivery = aDelivery();
    await deferDelivery(log, delivery);
    expect(await countDeferred(log)).toBe(before + 1);
    const at = { origin: delivery.origin, org_id: delivery.org_id };
    const [deferred] = await stored(at);
    if (!deferred) throw new Error('it was stored');
    await removeTimer(log, deferred.sequence);
    await removeTimer(log, deferred.sequence);
    expect(await stored(at)).toEqual([]);
    expect(await countDeferred(log)).toBe(before);
  });

  it('are found when their time is over, and only then', async () => {
    const expires_at = '2026-01-02T00:00:00.000Z';
    const over = aDelivery({ expires_at });
    const partition = partitionOf(over.origin);
    await deferDelivery(log, over);
    await deferDelivery(log, aDelivery({ origin: over.origin }));
    await scheduleDelivery(log, aDelivery({ origin: over.origin, expires_at }), farAway());
    const read = (now: string): Promise<StoredAt[]> => readExpired(log, partition, new Date(now), 10);
    expect(await read('2026-01-01T00:00:00.000Z')).toEqual([]);
    expect(await read('2026-01-03T00:00:00.000Z')).toMatchObject([{ delivery: over }]);
  });

  it('that cannot be read are removed, and the next one is returned', async () => {
    const delivery = aDelivery();
    await deferDelivery(log, delivery);
    const subject = `timers.${partitionOf(delivery.origin)}.x.${delivery.org_id}.${newUuid()}.deferred`;
    const origin = 'x';
    await log.js.publish(
      subject.replace(`.${partitionOf(delivery.origin)}.`, `.${partitionOf(origin)}.`),
      'no JSON',
    );
    expect(await stored({ origin, org_id: null })).toEqual([]);
    expect(await stored(delivery)).toMatchObject([{ delivery }]);
  });
});

describe('the opening of a breaker', () => {
  it('is read by the next holder of its partition until it expires', async () => {
    const origin = `https://${newUuid()}.example`;
    const opening: OpenBreaker = { version: 1, origin, org_id: null, opens: 2, until: soon().toISOString() };
    const partition = partitionOf(origin);
    await storeOpening(log, opening);
    expect(await readOpenings(log, partition)).toContainEqual(opening);
    await using followed = await followPartition(partition);
    await waitFor('its end', () =>
      followed.seen.some((due) => due.kind === 'breaker' && due.breaker.origin === origin),
    );
    expect(await readOpenings(log, partition)).not.toContainEqual(opening);
  });

  it('is left to the holder of its partition by who reads the deliveries of the receiver', async () => {
    const delivery = aDelivery();
    const { origin, org_id } = delivery;
    await storeOpening(log, { version: 1, origin, org_id, opens: 1, until: new Date().toISOString() });
    await scheduleDelivery(log, delivery, new Date());
    await waitFor('the delivery to be due', async () => (await stored({ origin, org_id })).length === 1);
    await using followed = await followPartition(partitionOf(origin));
    await waitFor('the end of the opening', () =>
      followed.seen.some((due) => due.kind === 'breaker' && due.breaker.origin === origin),
    );
  });

  it('is not read once it is removed', async () => {
    const origin = `https://${newUuid()}.example`;
    const opening: OpenBreaker = {
      version: 1,
      origin,
      org_id: newUuid(),
      opens: 1,
      until: farAway().toISOString(),
    };
    await storeOpening(log, opening);
    await removeOpening(log, opening);
    expect(await readOpenings(log, partitionOf(origin))).not.toContainEqual(opening);
  });
});

describe('the position of a partition', () => {
  it('is the last one stored, and undefined before', async () => {
    const position = {
      version: 1,
      created: '2026-01-01T00:00:00Z',
      runs: 9,
      activity: 6,
      swept: 5,
      left: 0,
    } as const;
    expect(await readPosition(log, 3)).toBeUndefined();
    await storePosition(log, 3, { ...position, runs: 5 });
    await storePosition(log, 3, position);
    expect(await readPosition(log, 3)).toEqual(position);
  });
});
