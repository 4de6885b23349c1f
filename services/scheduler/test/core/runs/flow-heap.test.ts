import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newFlow, type Flow } from '../../../src/core/runs/fair-share.ts';
import { FlowHeap } from '../../../src/core/runs/flow-heap.ts';

const byShare = (one: Flow, other: Flow): boolean =>
  one.share === other.share ? one.name < other.name : one.share < other.share;

describe('a heap of flows', () => {
  const change = fc.record({ name: fc.integer({ min: 10, max: 40 }), share: fc.option(fc.nat({ max: 9 })) });

  it('asks them in their order, after any change, until one has an answer', () => {
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 100, size: 'max' }),
        fc.nat(),
        fc.nat(),
        (changes, any, most) => {
          const heap = new FlowHeap<Flow>(1, byShare);
          const flows = new Map<string, Flow>();
          for (const { name, share } of changes) {
            const flow = flows.get(`${name}`) ?? newFlow(`${name}`, 1);
            flows.set(flow.name, flow);
            flow.share = share ?? -1;
            if (share === null) heap.delete(flow);
            else heap.set(flow);
          }
          const inOrder = [...flows.values()]
            .filter(({ share }) => share >= 0)
            .toSorted((one, other) => (byShare(one, other) ? -1 : 1));
          const within = inOrder.filter(({ share }) => share <= most % 10);
          const answers = any % (within.length + 1);
          const asked: Flow[] = [];
          const answer = heap.first(
            (flow) => {
              asked.push(flow);
              return asked.length > answers ? flow.name : undefined;
            },
            ({ share }) => share <= most % 10,
          );
          expect(asked).toEqual(within.slice(0, answers + 1));
          expect(answer).toBe(within[answers]?.name);
        },
      ),
      { numRuns: 300 },
    );
  });
});
