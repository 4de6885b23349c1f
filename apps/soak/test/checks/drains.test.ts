import { EXECUTOR } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { drains } from '../../src/checks/drains.ts';
import { aSoak, RUN, second } from '../fixtures/a-soak.ts';

const [name = ''] = EXECUTOR.split('.');
/** The run is assigned in the second second. */
const drained = (from: number, to: number, one = name) =>
  aSoak({ records: { drains: [{ name: one, drainedAt: second(from), resumedAt: second(to) }] } });

describe('a drained name', () => {
  it('gets no run', () => {
    expect(drains(drained(0.5, 3))).toMatchObject([
      {
        run: RUN.run_id,
        message: expect.stringContaining(`It was assigned to ${EXECUTOR} at`) as unknown,
      },
    ]);
  });

  it('may get one that was being assigned, and any after it was resumed', () => {
    expect(drains(drained(1.5, 3))).toEqual([]);
    expect(drains(drained(0.5, 1.9))).toEqual([]);
    expect(drains(drained(0.5, 3, 'another'))).toEqual([]);
  });
});
