import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readChain, walkChain } from '../../src/fold/read-chain.ts';
import { RUN_CHAIN } from '../../src/fold/run-chain.ts';
import { logOf, someSteps } from '../fixtures/possible-histories.ts';
import { anEvent, stored } from '../fixtures/run-events.ts';

const chain = [
  stored(anEvent('RunQueued'), 5, 0),
  stored(anEvent('RunAssigned'), 8, 5),
  stored(anEvent('RunStarted'), 9, 8),
  stored(anEvent('RunSucceeded'), 12, 9),
];
const without = (...sequences: readonly number[]) =>
  chain.filter(({ sequence }) => !sequences.includes(sequence));
const shown = (messages: typeof chain): unknown[] =>
  walkChain(RUN_CHAIN, messages).map((step) => {
    switch (step.kind) {
      case 'fact':
        return [step.fact.event.type, step.states?.before?.status, step.states?.after.status];
      case 'gap':
        return ['gap', step.after, step.expected];
      case 'refused':
        return ['refused', step.refusal];
      case 'newer':
        return ['newer', step.type];
    }
  });

describe('the steps of a chain', () => {
  it('are its facts, with the run before and after each', () =>
    expect(shown(chain.toReversed())).toEqual([
      ['RunQueued', undefined, 'queued'],
      ['RunAssigned', 'queued', 'started'],
      ['RunStarted', 'started', 'running'],
      ['RunSucceeded', 'running', 'success'],
    ]));

  it('go on after a gap, without what the facts changed', () => {
    expect(shown(without(8))).toEqual([
      ['RunQueued', undefined, 'queued'],
      ['gap', 5, 8],
      ['RunStarted', undefined, undefined],
      ['RunSucceeded', undefined, undefined],
    ]);
    expect(shown(without(5))).toEqual([
      ['gap', 0, 5],
      ['RunAssigned', undefined, undefined],
      ['RunStarted', undefined, undefined],
      ['RunSucceeded', undefined, undefined],
    ]);
    expect(shown(without(8, 12)).slice(1)).toEqual([
      ['gap', 5, 8],
      ['RunStarted', undefined, undefined],
    ]);
  });

  it('know the run again after a fact that says everything', () => {
    const end = stored(anEvent('RunDeleted', {}, { attempt: 1, executor: null }), 20, 12);
    expect(shown([...without(8), end]).at(-1)).toEqual(['RunDeleted', undefined, 'deleted']);
  });

  it('have messages that are no facts, which change nothing', () => {
    const forged = { ...stored(anEvent('RunStarted'), 9, 8), fence: null };
    const honest = stored(anEvent('RunFailed'), 14, 9);
    expect(shown([...chain.slice(0, 2), forged, honest]).slice(2)).toEqual([
      ['refused', 'forged_fence'],
      ['RunFailed', 'started', 'failed'],
    ]);
  });

  it('have facts of later releases, and go on after them without what follows changed', () => {
    const newer = {
      ...stored(anEvent('RunAssigned'), 8, 5),
      body: { ...anEvent('RunAssigned'), version: 99 },
    };
    const paused = { ...newer, body: { type: 'RunPaused', version: 1 } };
    for (const [message, name] of [
      [newer, 'RunAssigned in version 99'],
      [paused, 'RunPaused in version 1'],
    ] as const)
      expect(shown([...without(8), message]).slice(1)).toEqual([
        ['newer', name],
        ['RunStarted', undefined, undefined],
        ['RunSucceeded', undefined, undefined],
      ]);
  });

  it('fold to what a reader of each beginning folds', () =>
    fc.assert(
      fc.property(someSteps(1, 30), (steps) => {
        const { messages } = logOf(steps);
        const walked = walkChain(RUN_CHAIN, messages);
        expect(walked).toHaveLength(messages.length);
        for (const [n, step] of walked.entries()) {
          const read = readChain(RUN_CHAIN, messages.slice(0, n + 1));
          expect(step).toMatchObject({ kind: 'fact' });
          if (step.kind !== 'fact' || read.kind !== 'whole') continue;
          expect(step.states?.after).toEqual(read.history.state);
        }
      }),
    ));

  it('lose no message that is there, whichever are missing', () =>
    fc.assert(
      fc.property(someSteps(1, 30), fc.infiniteStream(fc.boolean()), (steps, keep) => {
        const kept = logOf(steps).messages.filter(() => keep.next().value);
        const walked = walkChain(RUN_CHAIN, kept);
        const there = walked.flatMap((step) => (step.kind === 'fact' ? [step.fact.sequence] : []));
        expect(there).toEqual(kept.map(({ sequence }) => sequence));
      }),
    ));
});
