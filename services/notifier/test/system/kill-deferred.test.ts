import { describe, expect, it } from 'vitest';
import { openFaultScenario, FAULTS } from '../fixtures/fault-scenario.ts';
import { aReceiver, status, type Answer } from '@runledger/testing/stand-ins/webhook-receiver';
import { someOf } from '@runledger/testing/random/cases';
import { expectSoon } from '../fixtures/expect-soon.ts';
import { expectGuarantees, finalsOf, type NotifiedRun } from '../fixtures/expect-guarantees.ts';
import { storedTimers } from '../fixtures/stored-timers.ts';

const RUNS = 24;
/** How many a receiver gets at once while its breaker closes. */
const MOST_WHILE_PROBING = 8;

const slowly: Answer = (arrived, response) => void setTimeout(() => status(200)(arrived, response), 100);

describe.concurrent.each(someOf(FAULTS, (fault) => fault === 'the notifier and the broker'))(
  'deferred deliveries survive a kill -9 of %s',
  (fault) => {
    it('while they are deferred, and while they are sent again', { timeout: 180_000 }, async () => {
      await using scenario = await openFaultScenario(fault);
      const { bed } = scenario;
      await using receiver = await aReceiver(status(503));
      const notified: NotifiedRun[] = [];
      for (let n = 0; n < RUNS; n += 1)
        notified.push({ key: await bed.succeed(`${receiver.url}/hook`), receiver });
      await expectSoon('all to be deferred', async () => {
        const pending = await storedTimers(bed.log);
        expect(pending.filter((subject) => subject.endsWith('.deferred'))).toHaveLength(RUNS);
      });
      receiver.answer = slowly;
      const refused = receiver.arrived.length;
      expect(refused).toBeLessThan(RUNS);
      await scenario.injectFault();
      await scenario.recover();

      await expectSoon(
        'the drain to be under way',
        () => expect(receiver.arrived.length).toBeGreaterThan(refused + 4),
        { withinMs: 60_000 },
      );
      await scenario.injectFault();
      await scenario.recover();
      await expectGuarantees(bed, [scenario.notifier()], notified, { withinMs: 60_000 });
      const accepted = notified.flatMap(finalsOf).length - refused;
      expect(accepted).toBeLessThanOrEqual(RUNS + MOST_WHILE_PROBING);
    });
  },
);
