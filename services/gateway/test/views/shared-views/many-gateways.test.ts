import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { readPages } from '@runledger/event-log/read/read-pages';
import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runName } from '../../../src/views/stored-run.decide.ts';
import { aLog } from '../../fixtures/gateway/a-log.ts';
import { modelGateways } from '../../fixtures/views/model-gateways.ts';
import { modelDatabase } from '../../fixtures/views/model-views.ts';
import { storeRuns } from '../../fixtures/views/projected-runs.ts';
import { viewOf } from '../../fixtures/views/stale-views.ts';

type Happening =
  /** A gateway takes its next step. */
  | { readonly kind: 'step'; readonly which: number }
  | { readonly kind: 'copy' | 'restore' }
  | { readonly kind: 'take_over'; readonly knows: boolean };

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 18, arbitrary: fc.record({ kind: fc.constant('step' as const), which: fc.nat(7) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('copy' as const, 'restore' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('take_over' as const), knows: fc.boolean() }) },
);

it('views are those of the log, however gateways take over from each other while copies of the database are restored', async () => {
  await using test = await aLog();
  const { log } = test;
  const keys = await storeRuns(log, 4);
  const { lastSequence: upTo } = await runsIdentity(log);
  const messages = (await Array.fromAsync(readPages(log, 'RUNS', { upTo }))).flat();
  const folded = await Promise.all(keys.map((key) => viewOf(test, key)));
  const play = async (happenings: readonly Happening[]) => {
    const database = modelDatabase();
    const gateways = modelGateways({ log, messages, database });
    gateways.takeOver(false);
    for (const one of happenings) {
      const steps = await gateways.steps();
      if (one.kind === 'step') steps[one.which % Math.max(steps.length, 1)]?.();
      else if (one.kind === 'take_over') gateways.takeOver(one.knows);
      else database[one.kind]();
    }
    // Then nothing more happens, and the last one comes to the end.
    gateways.takeOver(true);
    for (let steps = await gateways.steps(); steps.length > 0; steps = await gateways.steps()) steps[0]?.();
    await gateways.ended();
    return keys.map((key) => database.views().get(runName(key)));
  };
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { maxLength: 150, size: 'max' }), async (happenings) => {
      expect(await play(happenings)).toEqual(folded);
    }),
    { numRuns: casesOf(40) },
  );
});
