import type { Run } from '@runledger/contracts/fold/run';
import { runListQuery, type ListQuery, type SoughtRuns } from '../list-query.ts';
import { FINAL_STATUSES, OPEN_STATUSES } from '../run-view.ts';
import type { ListPart, ListReader } from '../scan-list.ts';
import { sortKeysIn } from '../sort-key.ts';

/** How many runs have each status. */
export interface RunCounts {
  readonly counts: Readonly<Record<Run['status'], number>>;
  /** Whether all runs were looked at. Otherwise there may be more. */
  readonly isComplete: boolean;
}

/** How a database counts. */
export interface CountReader extends Pick<ListReader<never>, 'sortKeyAt'> {
  /** The number of runs of a part by their status; a status that none has may be left out. */
  countByStatus(part: ListPart): Promise<Readonly<Record<string, number>>>;
}

/** Runs of one index that a count looks at, the newest first. */
export const MAX_COUNTED = 100_000;
const PIECE = 10_000;

/** A query whose search is decided. */
type SoughtCount = Omit<SoughtRuns, 'limit' | 'behind'>;

/** Each part of an index is read in pieces, and at most `MAX_COUNTED` runs of it. */
export const countRuns = async (reader: CountReader, query: SoughtCount): Promise<RunCounts> => {
  const parts = await Promise.all(listsToCount(query).map((list) => countList(reader, list)));
  const counts = Object.fromEntries(
    [...OPEN_STATUSES, ...FINAL_STATUSES].map((status) => [
      status,
      parts.reduce((sum, part) => sum + (part.counts[status] ?? 0), 0),
    ]),
  ) as RunCounts['counts'];
  return { counts, isComplete: parts.every(({ isComplete }) => isComplete) };
};

/**
 * One list for each status that few runs have. The statuses that runs end with are counted together when another filter has an index,
 * or a text is looked for: that is then read once.
 */
const listsToCount = (query: SoughtCount): ListQuery[] => {
  const isAsked = (status: Run['status']): boolean => query.statuses?.includes(status) ?? true;
  const listOf = (statuses: readonly Run['status'][]): ListQuery =>
    runListQuery({ ...query, statuses, limit: 1 });
  if (query.sought?.kind === 'ids') return [runListQuery({ ...query, limit: 1 })];
  const isFiltered = query.sought !== undefined || listOf(['success']).conditions.length > 1;
  const final = FINAL_STATUSES.filter(isAsked);
  return [
    ...OPEN_STATUSES.filter(isAsked).map((status) => listOf([status])),
    ...(isFiltered ? (final.length > 0 ? [listOf(final)] : []) : final.map((status) => listOf([status]))),
  ];
};

interface CountedList {
  readonly counts: Readonly<Record<string, number>>;
  readonly isComplete: boolean;
}

const countList = async (
  reader: CountReader,
  { org_id, conditions, sought, range }: ListQuery,
): Promise<CountedList> => {
  const sum: Record<string, number> = {};
  let rest = sortKeysIn(range);
  // By which the pieces are made.
  const index = sought?.kind === 'ids' ? { conditions: [], sought } : { conditions: conditions.slice(0, 1) };
  for (let counted = 0; counted < MAX_COUNTED; counted += PIECE) {
    const end = await reader.sortKeyAt({ org_id, ...index, range: rest }, PIECE);
    const piece = await reader.countByStatus({
      org_id,
      conditions,
      sought,
      range: { ...rest, from: end ?? rest.from },
    });
    for (const [status, count] of Object.entries(piece)) sum[status] = (sum[status] ?? 0) + count;
    if (end === undefined) return { counts: sum, isComplete: true };
    rest = { ...rest, before: end };
  }
  return { counts: sum, isComplete: false };
};
