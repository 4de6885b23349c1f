import type { NumberedVersion } from '@runledger/contracts/catalogue/records';
import { describe, expect, it } from 'vitest';
import { numberedPage } from '../../../src/records/catalogue/known-records.ts';

const aVersion = (number: number, archived: boolean): NumberedVersion => ({
  id: '',
  org_id: '',
  workflow_id: '',
  number,
  sha256: '',
  bytes: 1,
  inputs: [],
  archived,
  created_at: '',
});

/** Versions up to a number; it counts how many are read. */
const versionsUpTo = (newest: number, isArchived: (number: number) => boolean = () => false) => {
  const reads = { count: 0 };
  const at = async (number: number): Promise<NumberedVersion | undefined> => {
    reads.count += 1;
    return number <= newest ? aVersion(number, isArchived(number)) : undefined;
  };
  return { at, reads };
};

describe('a page of versions', () => {
  it('costs the same for any number of versions', async () => {
    const { at, reads } = versionsUpTo(99_999);
    const { versions, below } = await numberedPage(at, {
      limit: 20,
      archived: false,
      below: 50_000,
      newest: 99_999,
    });
    expect(versions.map(({ number }) => number)).toEqual(
      Array.from({ length: 20 }, (_, index) => 49_999 - index),
    );
    expect(below).toBe(49_980);
    expect(reads.count).toBeLessThan(100);
  });

  it('ends early after many reads, and the next page continues', async () => {
    const { at, reads } = versionsUpTo(2_500, (number) => number > 3);
    const numbers: number[] = [];
    let pages = 0;
    let span: { readonly below?: number } = {};
    for (;;) {
      reads.count = 0;
      const { versions, below } = await numberedPage(at, {
        limit: 100,
        archived: false,
        newest: 2_500,
        ...span,
      });
      expect(reads.count).toBeLessThan(1_200);
      pages += 1;
      numbers.push(...versions.map(({ number }) => number));
      if (below === undefined) break;
      span = { below };
    }
    expect({ pages, numbers }).toEqual({ pages: 3, numbers: [3, 2, 1] });
  });

  it('leaves out numbers whose versions were deleted', async () => {
    const { at } = versionsUpTo(9);
    const some = async (number: number) => (number % 3 === 0 ? at(number) : undefined);
    const { versions, below } = await numberedPage(some, { limit: 2, archived: false, newest: 9 });
    expect([versions.map(({ number }) => number), below]).toEqual([[9, 6], 6]);
  });
});
