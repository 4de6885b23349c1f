import { assigned, started, succeeded } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { openFaultScenario, FAULTS, type FaultScenario } from '../fixtures/fault-scenario.ts';
import { aReceiver, status } from '@runledger/testing/stand-ins/webhook-receiver';
import { openTestBedOnOwnBroker } from '../fixtures/test-bed.ts';
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

/** Brings a delivery to each step, injects the fault, and checks the outcome. */
const expectSurvived = async (scenario: FaultScenario, steps: readonly Step[]): Promise<void> => {
  await using open = new AsyncDisposableStack();
  const all: Reached[] = [];
  for (const step of steps) all.push(await step(scenario.bed, open));
  await scenario.injectFault();
  for (const { release } of all) release();
  await scenario.recover();
  await expectGuarantees(scenario.bed, [scenario.notifier()], all);
  for (const { step, arrivals, tries, ...notified } of all) {
    expect(arrivals, step).toContain(finalsOf(notified).length);
    const webhook = await scenario.bed.webhook(notified.key);
    expect(tries, step).toContain(webhook?.status === 'success' && webhook.tries);
  }
};

/** The next attempt of one delivery is due, and of another one the notifier has not read that its run has ended. */
const expectDueAndUnreadSurvive = async ({ bed, notifier, ...fault }: FaultScenario): Promise<void> => {
  await using receiver = await aReceiver(status(500));
  const due = { key: await bed.succeed(`${receiver.url}/hook`), receiver };
  const unread = { key: await bed.queue(`${receiver.url}/hook`), receiver };
  await expectTimer(bed, due.key, 'wait');
  receiver.answer = status(200);
  notifier().freeze();
  await bed.happen(unread.key, assigned(unread.key), started(unread.key), succeeded(unread.key));
  await expectTimer(bed, due.key, 'due');
  await fault.injectFault();
  await fault.recover();
  await expectGuarantees(bed, [notifier()], [due, unread]);
  expect(finalsOf(due)).toHaveLength(2);
  expect(await bed.webhook(due.key)).toMatchObject({ tries: 2 });
  expect(finalsOf(unread)).toHaveLength(1);
};

describe('a final notification', () => {
  // One broker and one notifier for all steps: what is killed starts again anyway.
  it.concurrent.each(FAULTS)(
    'survives a kill -9 of %s at each step of its delivery',
    { timeout: 3 * LIMIT_MS },
    async (fault) => {
      await using scenario = await openFaultScenario(fault);
      await expectSurvived(scenario, [nextInFlight, inFlight, behindIntermediate, nextWaits]);
      // After the response, before the fact is stored.
      await expectSurvived(scenario, [answeredWhileBrokerPaused(200)]);
      // After a failed attempt, before the next one is planned.
      await expectSurvived(scenario, [answeredWhileBrokerPaused(500)]);
      await expectDueAndUnreadSurvive(scenario);
    },
  );
});

describe('a broker that is paused for longer than a notifier keeps its partitions', () => {
  it('delays notifications, and loses none', { timeout: LIMIT_MS }, async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using notifier = await startNotifier(bed);
    const letGo = Promise.withResolvers<void>();
    await using slow = await aReceiver((_arrived, response) => void response.once('close', letGo.resolve));
    await using refusing = await aReceiver(status(500));
    const held = { key: await bed.succeed(`${slow.url}/hook`), receiver: slow };
    const waiting = { key: await bed.succeed(`${refusing.url}/hook`), receiver: refusing };
    await expectTimer(bed, waiting.key, 'wait');
    await expectSoon('it to be in flight', () => expect(slow.arrived).toHaveLength(1));
    slow.answer = refusing.answer = status(200);
    await bed.nats.pause();
    // By then the shares are lost: what was in flight is given up.
    await letGo.promise;
    bed.nats.resume();
    await expectGuarantees(bed, [notifier], [held, waiting]);
    expect(finalsOf(held)).toHaveLength(2);
    expect(finalsOf(waiting)).toHaveLength(2);
  });
});
