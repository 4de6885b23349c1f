import { describe, expect, it } from 'vitest';
import { violationsIn } from '../../src/checks/all-checks.ts';
import { aSoak } from '../fixtures/a-soak.ts';

describe('a soak in which every guarantee holds', () => {
  it('has no violations', () => {
    expect(violationsIn(aSoak())).toEqual([]);
  });
});
