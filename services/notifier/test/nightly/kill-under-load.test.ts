import { setTimeout as pause } from 'node:timers/promises';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { openFaultScenario, FAULTS } from '../fixtures/fault-scenario.ts';
import { expectGuarantees } from '../fixtures/expect-guarantees.ts';
import { aLoad, seeded } from '../fixtures/load.ts';

const SEED = 20_260_728;
const KILLS = 5;
const RUNS = 200;

describe.concurrent.each(FAULTS)('200 runs while %s is killed again and again', (fault) => {
  it(
    'are all notified, in order, and only notifications in flight are sent twice',
    { timeout: 180_000 },
    async () => {
      const random = seeded(SEED);
      await using scenario = await openFaultScenario(fault);
      await using load = await aLoad(scenario.bed, random);
      for (let kills = 0; kills < KILLS; kills += 1) {
        await waitFor('the partitions', async () => (await scenario.notifier().partitions()) === 16);
        await load.add(Math.floor(RUNS / (KILLS + 1)));
        // The moment is left to chance.
        await pause(random() * 400);
        const killed = new Date();
        await scenario.injectFault();
        await scenario.recover();
        await load.noteInFlight(killed);
      }
      await load.add(RUNS - load.runs.length);
      await expectGuarantees(scenario.bed, [scenario.notifier()], load.runs);
      load.expectFewDuplicates();
      expect(load.runs).toHaveLength(RUNS);
    },
  );
});
