import { describe, expect, it } from 'vitest';
import { openFaultScenario, FAULTS } from '../fixtures/fault-scenario.ts';
import { aReceiver, status, type Answer } from '@runledger/testing/stand-ins/webhook-receiver';
import { expectSoon } from '../fixtures/expect-soon.ts';
import { expectGuarantees, finalsOf, type NotifiedRun } from '../fixtures/expect-guarantees.ts';
import { storedTimers } from '../fixtures/stored-timers.ts';

const RUNS = 24;
/** So many a receiver gets at once while its breaker closes. */
const MOST_WHILE_PROBING = 8;

const slowly: Answer = (arrived, response) => void setTimeout(() => status(200)(arrived, response), 100);

describe.concurrent.each(FAULTS)('parked deliveries survive a kill -9 of %s', (blow) => {
  it('while they are deferred, and while they are sent again', { timeout: 180_000 }, async () => {
    await using place = await openFaultScenario(blow);
    const { world } = place;
    await using receiver = await aReceiver(status(503));
    const told: NotifiedRun[] = [];
    for (let n = 0; n < RUNS; n += 1)
      told.push({ key: await world.succeed(`${receiver.url}/hook`), receiver });
    await expectSoon('all to be parked', async () => {
      const pending = await storedTimers(world.log);
      expect(pending.filter((subject) => subject.endsWith('.deferred'))).toHaveLength(RUNS);
    });
    receiver.answer = slowly;
    const refused = receiver.arrived.length;
    expect(refused).toBeLessThan(RUNS);
    await place.injectFault();
    await place.recover();

    await expectSoon(
      'the drain to be under way',
      () => expect(receiver.arrived.length).toBeGreaterThan(refused + 4),
      { withinMs: 60_000 },
    );
    await place.injectFault();
    await place.recover();
    await expectGuarantees(world, [place.notifier()], told, { withinMs: 60_000 });
    const accepted = told.flatMap(finalsOf).length - refused;
    expect(accepted).toBeLessThanOrEqual(RUNS + MOST_WHILE_PROBING);
  });
});
