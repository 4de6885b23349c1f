import { runId } from '@runledger/contracts/ids';
import { describe, expect, it } from 'vitest';
import { isSortKey, sortKeyBefore, sortKeyOf, sortKeysIn } from '../../src/views/sort-key.decide.ts';

const ID = runId('0199a1b2-0000-7000-8000-000000000001');
const LATER_ID = runId('0199a1b2-0000-7000-8000-000000000002');

const at = (created_at: string, number = 7, run_id = ID) => sortKeyOf({ created_at, number, run_id });

describe('sort keys', () => {
  it('are in the order of creation, then of numbers, then of ids', () => {
    const inOrder = [
      at('2026-01-31T23:59:59.999Z', 99),
      at('2026-02-01T00:00:00.000123456Z', 9),
      at('2026-02-01T00:00:00Z', 10),
      at('2026-02-01T00:00:00Z', 10, LATER_ID),
      at('2026-02-01T00:00:00.001Z', 1),
    ];
    expect(inOrder.toReversed().sort()).toEqual(inOrder);
    expect(inOrder.every(isSortKey)).toBe(true);
  });

  it.each([
    '',
    ID,
    `2026-02-01T00:00:00.000Z.7.${ID}`,
    `2026-02-01T00:00:00Z.000000000007.${ID}`,
    `2026-02-01T00:00:00.000Z.000000000007.${ID.toUpperCase().replace('7000', 'ABCD')}`,
    `2026-02-01T00:00:00.000Z.000000000007.${ID}\n`,
    `x${at('2026-02-01T00:00:00Z')}`,
  ])('do not include %j', (text) => expect(isSortKey(text)).toBe(false));

  it('that begin a list with a run are newer than it, and older than runs that were queued later', () => {
    const run = { created_at: '2026-02-01T00:00:00.000Z', number: 7, run_id: ID };
    const inOrder = [
      sortKeyOf(run),
      sortKeyBefore(run),
      at(run.created_at, 9),
      at('2026-02-01T00:00:00.001Z', 8),
    ];
    expect(inOrder.toReversed().sort()).toEqual(inOrder);
    expect(isSortKey(sortKeyBefore(run))).toBe(true);
  });

  it('include the first millisecond of a span, and not its last', () => {
    const time = '2026-02-01T00:00:00.500Z';
    const { from, before = '' } = sortKeysIn({
      createdAfter: new Date(time),
      createdBefore: new Date('2026-02-01T00:00:00.600Z'),
    });
    const isIn = (created_at: string) => from <= at(created_at) && at(created_at) < before;
    expect(isIn('2026-02-01T00:00:00.499999Z')).toBe(false);
    expect(isIn(time)).toBe(true);
    expect(isIn('2026-02-01T00:00:00.599999Z')).toBe(true);
    expect(isIn('2026-02-01T00:00:00.600Z')).toBe(false);
  });

  it('end a span at the earlier of its end and the cursor', () => {
    const behind = at('2026-02-01T00:00:00Z');
    expect(sortKeysIn({ behind, createdBefore: new Date('2026-03-01') }).before).toBe(behind);
    expect(sortKeysIn({ behind, createdBefore: new Date('2026-01-01') }).before).toMatch(/^2026-01-01/);
    expect(sortKeysIn({}).before).toBeUndefined();
  });
});
