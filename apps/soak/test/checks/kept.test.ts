import { describe, expect, it } from 'vitest';
import { violationsIn } from '../../src/checks/all-checks.ts';
import { aSoak } from '../fixtures/a-soak.ts';

describe('a soak in which everything was as it should be', () => {
  it('has no violations', () => {
    expect(violationsIn(aSoak())).toEqual([]);
  });
});
