import { assigned, started, succeeded } from '@runledger/testing/events/run-events';
import { describe, expect, it } from 'vitest';
import { openFaultScenario, FAULTS, type FaultScenario } from '../fixtures/fault-scenario.ts';
import { aReceiver, status } from '@runledger/testing/stand-ins/webhook-receiver';
import { openTestBed } from '../fixtures/test-bed.ts';
import { expectSoon } from '../fixtures/expect-soon.ts';
import { expectGuarantees, expectTimer, finalsOf } from '../fixtures/expect-guarantees.ts';
import { startNotifier } from '../fixtures/notifier-process.ts';
import {
  answeredWhileBrokerPaused,
  behindIntermediate,
  inFlight,
  nextInFlight,
  nextWaits,
  type Reached,
  type Step,
} from '../fixtures/delivery-steps.ts';

const LIMIT_MS = 120_000;

/** Lets each step have a delivery that has come to it, strikes, and sees what becomes of them. */
const expectSurvived = async (place: FaultScenario, steps: readonly Step[]): Promise<void> => {
  await using open = new AsyncDisposableStack();
  const all: Reached[] = [];
  for (const step of steps) all.push(await step(place.world, open));
  await place.injectFault();
  for (const { release } of all) release();
  await place.recover();
  await expectGuarantees(place.world, [place.notifier()], all);
  for (const { step, arrivals, tries, ...told } of all) {
    expect(arrivals, step).toContain(finalsOf(told).length);
    const webhook = await place.world.webhook(told.key);
    expect(tries, step).toContain(webhook?.status === 'success' && webhook.tries);
  }
};

describe.concurrent.each(FAULTS)(
  'a final notification survives a kill -9 of %s',
  { timeout: LIMIT_MS },
  (blow) => {
    it('while it is in flight, while it waits, and behind an intermediate one', async () => {
      await using place = await openFaultScenario(blow);
      await expectSurvived(place, [nextInFlight, inFlight, behindIntermediate, nextWaits]);
    });

    it('after the answer, before the fact', async () => {
      await using place = await openFaultScenario(blow);
      await expectSurvived(place, [answeredWhileBrokerPaused(200)]);
    });

    it('after a failed try, before the next one is planned', async () => {
      await using place = await openFaultScenario(blow);
      await expectSurvived(place, [answeredWhileBrokerPaused(500)]);
    });

    it('before the end of the run is read, and while the next attempt is due', async () => {
      await using place = await openFaultScenario(blow);
      await using receiver = await aReceiver(status(500));
      const { world } = place;
      const due = { key: await world.succeed(`${receiver.url}/hook`), receiver };
      const unread = { key: await world.queue(`${receiver.url}/hook`), receiver };
      await expectTimer(world, due.key, 'wait');
      receiver.answer = status(200);
      place.notifier().freeze();
      await world.happen(unread.key, assigned(unread.key), started(unread.key), succeeded(unread.key));
      await expectTimer(world, due.key, 'due');
      await place.injectFault();
      await place.recover();
      await expectGuarantees(world, [place.notifier()], [due, unread]);
      expect(finalsOf(due)).toHaveLength(2);
      expect(await world.webhook(due.key)).toMatchObject({ tries: 2 });
      expect(finalsOf(unread)).toHaveLength(1);
    });
  },
);

describe('a broker that is paused for longer than a notifier keeps its partitions', () => {
  it('delays notifications, and loses none', { timeout: LIMIT_MS }, async () => {
    await using world = await openTestBed();
    await using notifier = await startNotifier(world);
    const letGo = Promise.withResolvers<void>();
    await using slow = await aReceiver((_arrived, response) => void response.once('close', letGo.resolve));
    await using refusing = await aReceiver(status(500));
    const held = { key: await world.succeed(`${slow.url}/hook`), receiver: slow };
    const waiting = { key: await world.succeed(`${refusing.url}/hook`), receiver: refusing };
    await expectTimer(world, waiting.key, 'wait');
    await expectSoon('it to be in flight', () => expect(slow.arrived).toHaveLength(1));
    slow.answer = refusing.answer = status(200);
    await world.nats.pause();
    // By then the shares are lost: what was in flight is given up.
    await letGo.promise;
    world.nats.resume();
    await expectGuarantees(world, [notifier], [held, waiting]);
    expect(finalsOf(held)).toHaveLength(2);
    expect(finalsOf(waiting)).toHaveLength(2);
  });
});
