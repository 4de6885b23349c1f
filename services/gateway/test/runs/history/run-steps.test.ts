import { logOf, someSteps } from '@runledger/contracts/test/fixtures/possible-histories';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldedOf, foldMessage, type Folded } from '../../../src/views/fold-run.decide.ts';
import { isUpTo, runSteps } from '../../../src/runs/waterfall.decide.ts';

describe('the run after a message of it', () => {
  it('is what its view was then, for every history', () =>
    fc.assert(
      fc.property(someSteps(1, 30), (choices) => {
        const { messages } = logOf(choices);
        const steps = runSteps({ life: messages, webhook: [] });
        let view: Folded = foldedOf(undefined);
        for (const [n, message] of messages.entries()) {
          const next = foldMessage(view, 'lifecycle', message);
          if (next.kind !== 'changed') throw new Error(`the projection says ${next.kind}`);
          view = next.folded;
          expect(steps[n]?.after.run).toEqual(view.history.state);
          expect(steps.findLast((step) => isUpTo({ sequence: message.sequence }, step))).toBe(steps[n]);
          expect(
            steps.findLast((step) => isUpTo({ time: Date.parse(message.time) }, step))?.sequence,
          ).toBeGreaterThanOrEqual(message.sequence);
        }
      }),
    ));
});
