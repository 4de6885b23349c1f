import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FlowHeap, newFlow, type Flow, type FlowOrder } from '../../../src/core/runs/flow-heap.ts';

const newNumbered = (number: number): Flow => ({ ...newFlow(`${number}`, 1), number, since: number });

const ranksOf = (flow: Flow, order: FlowOrder): number[] => {
  const { share, startTag, waiting, since } = flow;
  return [order === 'share' ? share : 0, startTag, waiting === 1 ? 0 : 1, since];
};

const compare = (one: readonly number[], other: readonly number[]): number => {
  const index = one.findIndex((rank, at) => rank !== other[at]);
  return index < 0 ? 0 : (one[index] ?? 0) - (other[index] ?? 0);
};

describe('a heap of flows', () => {
  const few = fc.nat({ max: 3 });
  const state = fc.record({ share: few, startTag: few, waiting: fc.integer({ min: 1, max: 3 }) });
  const change = fc.record({ number: fc.nat({ max: 30 }), state: fc.option(state, { freq: 3 }) });

  it('asks them in their order, after any change, until one has an answer', () => {
    fc.assert(
      fc.property(
        fc.constantFrom<FlowOrder[]>('share', 'startTag'),
        fc.array(change, { maxLength: 100, size: 'max' }),
        fc.nat(),
        fc.nat({ max: 3 }),
        (order, changes, any, most) => {
          const heap = new FlowHeap(order);
          const flows = Array.from({ length: 31 }, (_, number) => newNumbered(number));
          const waiting = new Set<Flow>();
          for (const { number, state } of changes) {
            const flow = flows[number] as Flow;
            if (state) {
              heap.set(Object.assign(flow, state));
              waiting.add(flow);
            } else {
              heap.delete(flow);
              waiting.delete(flow);
            }
          }
          const holds = (number: number): boolean => (ranksOf(flows[number] as Flow, order)[0] ?? 0) <= most;
          const within = [...waiting]
            .toSorted((one, other) => compare(ranksOf(one, order), ranksOf(other, order)))
            .map(({ number }) => number)
            .filter(holds);
          const answers = any % (within.length + 1);
          const asked: number[] = [];
          const answer = heap.first((number) => {
            asked.push(number);
            return asked.length > answers ? number : undefined;
          }, holds);
          expect(asked).toEqual(within.slice(0, answers + 1));
          expect(answer).toBe(within[answers]);
        },
      ),
      { numRuns: casesOf(100) },
    );
  });
});
