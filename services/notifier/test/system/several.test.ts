import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { IS_NIGHTLY } from '@runledger/testing/random/cases';
import { aReceiver, type Receiver } from '@runledger/testing/stand-ins/webhook-receiver';
import { openTestBedOnOwnBroker, type TestBed } from '../fixtures/test-bed.ts';
import { expectSoon } from '../fixtures/expect-soon.ts';
import { holdResponses } from '../fixtures/held-responses.ts';
import { expectGuarantees, finalsOf, type NotifiedRun } from '../fixtures/expect-guarantees.ts';
import { aLoad, seeded } from '../fixtures/load.ts';
import {
  expectPartitionsDivided,
  startNotifier,
  type NotifierProcess,
} from '../fixtures/notifier-process.ts';

const SEED = 20_260_729;
const KILLS = IS_NIGHTLY ? 6 : 3;
/** A member that is unresponsive for 3 s loses its partitions; the rest is for a slow machine. */
const TAKEN_OVER_MS = 15_000;

let bed: TestBed;
const living: NotifierProcess[] = [];

const join = async (): Promise<NotifierProcess> => {
  const joined = await startNotifier(bed);
  living.push(joined);
  return joined;
};
const leave = (one: NotifierProcess): void => {
  living.splice(living.indexOf(one), 1);
};
/** The one of which the number is greatest. */
const mostOf = async (number: (one: NotifierProcess) => Promise<number>): Promise<NotifierProcess> => {
  const numbered = await Promise.all(living.map(async (one) => ({ one, n: await number(one) })));
  const [first] = numbered.toSorted((a, b) => b.n - a.n);
  if (!first) throw new Error('there is no notifier');
  return first.one;
};
const inFlight = (one: NotifierProcess): Promise<number> => one.metric('runledger_notifier_in_flight');

beforeAll(async () => {
  bed = await openTestBedOnOwnBroker();
});
beforeEach(async () => {
  await Promise.all(Array.from({ length: 3 - living.length }, join));
  await expectPartitionsDivided(...living);
}, 60_000);
afterAll(async () => {
  await Promise.all(living.map((one) => one[Symbol.asyncDispose]()));
  await bed[Symbol.asyncDispose]();
});

describe('three notifiers', { timeout: 120_000 }, () => {
  it('divide the origins, and take over the notifications of one that is killed', async () => {
    await using opened = new AsyncDisposableStack();
    const { answer, release } = holdResponses();
    const receivers: Receiver[] = [];
    for (let n = 0; n < 12; n += 1) receivers.push(opened.use(await aReceiver(answer)));
    const notified: NotifiedRun[] = [];
    for (const receiver of receivers)
      notified.push({ key: await bed.succeed(`${receiver.url}/hook`), receiver });
    await expectSoon('all to be in flight', () => {
      for (const one of notified) expect(finalsOf(one)).toHaveLength(1);
    });
    const victim = await mostOf(inFlight);
    const itsOwn = await inFlight(victim);
    expect(itsOwn).toBeGreaterThan(0);
    leave(victim);
    const killed = performance.now();
    await victim.kill9();
    for (const receiver of receivers) release(receiver);
    await expectGuarantees(bed, living, notified, { withinMs: TAKEN_OVER_MS });
    const twice = notified.filter((one) => finalsOf(one).length > 1);
    expect(twice).toHaveLength(itsOwn);
    for (const one of twice) expect(finalsOf(one)).toHaveLength(2);
    const late = Math.max(...twice.map((one) => (finalsOf(one)[1]?.at ?? 0) - killed));
    expect(late).toBeLessThan(TAKEN_OVER_MS);
  });

  it('give partitions to a fourth one without a duplicate', async () => {
    await using load = await aLoad(bed, seeded(SEED), 12);
    const [joined] = await Promise.all([join(), load.add(60)]);
    const adding = load.add(60);
    await expectPartitionsDivided(...living);
    await adding;
    // On a busy machine one loses its lease meanwhile, and gets it again.
    await expectSoon('the fourth one to have its part', async () =>
      expect(await joined.partitions()).toBe(4),
    );
    await expectGuarantees(bed, living, load.runs);
    expect(load.duplicates()).toBe(0);
  });

  it('continue when one is stopped, which hands over without a duplicate', async () => {
    await using load = await aLoad(bed, seeded(SEED), 12);
    await load.add(60);
    const leaving = await mostOf(inFlight);
    leave(leaving);
    const [code] = await Promise.all([leaving.stop(), load.add(60)]);
    expect(code).toBe(0);
    await expectPartitionsDivided(...living);
    await expectGuarantees(bed, living, load.runs);
    expect(load.duplicates()).toBe(0);
  });

  it('keep the order of every run while one of them is paused and resumed', async () => {
    await using load = await aLoad(bed, seeded(SEED), 12);
    await load.add(60);
    const frozen = await mostOf(inFlight);
    const since = new Date();
    frozen.freeze();
    await load.noteInFlight(since);
    await load.add(30);
    await expectPartitionsDivided(...living.filter((one) => one !== frozen));
    await load.add(30);
    const thawed = new Date();
    frozen.thaw();
    await load.add(30);
    await expectPartitionsDivided(...living);
    await expectGuarantees(bed, living, load.runs);
    // What the others were sending at that time it may have begun to send too, before it knew.
    await load.noteInFlight(thawed);
    load.expectFewDuplicates();
  });

  it('send everything while each is killed and replaced in turn', async () => {
    const random = seeded(SEED);
    await using load = await aLoad(bed, random, 12);
    for (let kills = 0; kills < KILLS; kills += 1) {
      await load.add(20);
      // The moment is left to chance, and so is whom it hits.
      await pause(random() * 300);
      const victim = living[Math.floor(random() * living.length)];
      if (!victim) throw new Error('there is no notifier');
      leave(victim);
      const killed = new Date();
      await victim.kill9();
      await load.noteInFlight(killed);
      await join();
    }
    await expectGuarantees(bed, living, load.runs);
    load.expectFewDuplicates();
  });
});
