import { describe, expect, it } from 'vitest';
import {
  fairnessOverTime,
  jainIndex,
  maxMin,
  slotsOverTime,
  stepsBetween,
  waitsOverTime,
  type PlayedRun,
} from '../src/statistics.ts';
import { quantile } from '@runledger/testing/measuring';

const run = (
  organisation: string,
  queuedMs: number,
  assignedMs: number | null,
  endedMs: number,
): PlayedRun => ({
  organisation,
  deployment: organisation,
  gpu: 'L4',
  queuedMs,
  assignedMs,
  endedMs,
  slot: null,
});
const byOrganisation = ({ organisation }: PlayedRun): string => organisation;

describe('statistics of runs', () => {
  it('slots in use are the average of each step', () => {
    const steps = stepsBetween(0, 300, 3);
    const slots = slotsOverTime(
      [run('a', 0, 50, 250), run('a', 0, 100, 900), run('a', 0, null, 300)],
      steps,
      byOrganisation,
    );
    expect([...(slots.get('a') ?? [])]).toEqual([0.5, 2, 1.5]);
  });

  it('waits are those of the runs that were queued in a step', () => {
    const waits = waitsOverTime(
      [run('a', 10, 20, 99), run('a', 20, 90, 99), run('a', 210, null, 250)],
      stepsBetween(0, 300, 3),
      0.9,
    );
    expect(waits.get('a')).toEqual([70, null, 40]);
  });

  it('a quantile is a value that so many do not exceed', () => {
    expect([0, 0.5, 0.9, 1].map((part) => quantile([3, 1, 2], part))).toEqual([1, 2, 3, 3]);
    expect(quantile([], 0.5)).toBe(0);
  });

  it("Jain's index is 1 for equal parts, and 1/n when one gets all", () => {
    expect(jainIndex([2, 2, 2])).toBe(1);
    expect(jainIndex([5, 0, 0, 0])).toBe(0.25);
    expect(jainIndex([])).toBeNull();
  });

  it('max-min gives nobody more than it wants, and the rest by weight', () => {
    const shares = [
      { demand: 1, weight: 1 },
      { demand: 10, weight: 1 },
      { demand: 10, weight: 2 },
    ];
    expect(maxMin(shares, 10)).toEqual([1, 3, 6]);
  });

  it('is fair when one needs little, and unfair when it waits while another one has all', () => {
    const steps = stepsBetween(0, 100, 1);
    const equal = (): number => 1;
    const modest = [run('a', 0, 0, 100), run('a', 0, 0, 100), run('b', 0, 0, 100)];
    expect(fairnessOverTime(modest, steps, equal)).toEqual([1]);
    const greedy = [run('a', 0, 0, 100), run('a', 0, 0, 100), run('b', 0, null, 100)];
    expect(fairnessOverTime(greedy, steps, equal)).toEqual([0.5]);
    expect(fairnessOverTime([], steps, equal)).toEqual([null]);
  });
});
