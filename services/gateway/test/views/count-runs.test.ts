import { newUuid, orgId } from '@runledger/contracts/ids';
import { expect, it } from 'vitest';
import { countRuns, MAX_COUNTED, type CountReader } from '../../src/views/counts.decide.ts';
import type { ListPart } from '../../src/views/scan-list.ts';
import { asSortKey } from '../../src/views/sort-key.decide.ts';

const org_id = orgId(newUuid());
const PREFIX = '2026-01-01T00:00:00.000Z';
const keyOf = (number: number) =>
  asSortKey(`${PREFIX}.${String(number).padStart(12, '0')}.01920000-0000-7000-8000-000000000001`);

/** So many runs have each status. */
const runsOf = (numbers: Readonly<Record<string, number>>): CountReader => {
  const of = ({ conditions }: ListPart): number =>
    Math.max(0, ...(conditions[0]?.values ?? []).map((status) => numbers[status] ?? 0));
  const within = ({ range, ...part }: ListPart): readonly [number, number] => [
    range.from === '0' ? 1 : Number(range.from.split('.')[2]),
    range.before === undefined ? of({ range, ...part }) + 1 : Number(range.before.split('.')[2]),
  ];
  return {
    sortKeyAt: async (part, count) => {
      const [from, before] = within(part);
      return before - count < from ? undefined : keyOf(before - count);
    },
    countByStatus: async (part) => {
      const [from, before] = within(part);
      return { [part.conditions[0]?.values[0] ?? '']: before - from };
    },
  };
};

it('counts all runs of a status up to a bound, and says when there are more', async () => {
  const most = await countRuns(runsOf({ queued: 1, success: MAX_COUNTED - 1, failed: 25_000 }), { org_id });
  expect(most).toMatchObject({
    counts: { queued: 1, started: 0, success: MAX_COUNTED - 1, failed: 25_000 },
    isComplete: true,
  });
  const more = await countRuns(runsOf({ queued: 1, success: MAX_COUNTED + 5 }), { org_id });
  expect(more).toMatchObject({ counts: { queued: 1, success: MAX_COUNTED }, isComplete: false });
});
