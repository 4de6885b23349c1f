import type { Run, FinalStatus } from '@runledger/contracts/fold/run';
import { runListQuery, type ListQuery, type CountQuery, type ActivityQuery } from './list-query.decide.ts';
import type { Sought } from './run-search.decide.ts';
import { FINAL_STATUSES, OPEN_STATUSES } from './run-view.ts';
import { inPieces, type ListPart, type SortKeyReader } from './scan-list.ts';
import { sortKeysIn, type SortKeyRange } from './sort-key.decide.ts';

/** How many runs have each status. */
export interface RunCounts {
  readonly counts: Readonly<Record<Run['status'], number>>;
  /** Whether all runs were looked at. Otherwise there may be more. */
  readonly isComplete: boolean;
}

/** How a database counts. */
export interface CountReader extends SortKeyReader {
  /** The number of runs of a part by their status; a status that none has may be left out. */
  countByStatus(part: ListPart): Promise<Readonly<Record<string, number>>>;
}

/** Runs of one index that a count looks at, the newest first. */
export const MAX_COUNTED = 100_000;
const PIECE = 10_000;

/** Each part of an index is read in pieces, and at most `MAX_COUNTED` runs of it. `sought`: what the search of the query became. */
export const countRuns = async (
  reader: CountReader,
  query: CountQuery,
  sought?: Sought,
): Promise<RunCounts> => {
  const parts = await Promise.all(listsToCount(query, sought).map((list) => countList(reader, list)));
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
const listsToCount = (query: CountQuery, sought: Sought | undefined): ListQuery[] => {
  const isAsked = (status: Run['status']): boolean => query.statuses?.includes(status) ?? true;
  const listOf = (statuses: readonly Run['status'][]): ListQuery =>
    runListQuery({ ...query, statuses, limit: 1 }, sought);
  if (sought?.kind === 'ids') return [runListQuery({ ...query, limit: 1 }, sought)];
  const isFiltered = sought !== undefined || listOf(['success']).conditions.length > 1;
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

const countList = async (reader: CountReader, list: ListQuery): Promise<CountedList> => {
  const counts: Record<string, number> = {};
  let left = MAX_COUNTED;
  for await (const { part, end } of inPieces(reader, { ...list, range: sortKeysIn(list.range) }, PIECE)) {
    const piece = await reader.countByStatus(part);
    for (const [status, count] of Object.entries(piece)) counts[status] = (counts[status] ?? 0) + count;
    left -= PIECE;
    if (end !== undefined && left <= 0) return { counts, isComplete: false };
  }
  return { counts, isComplete: true };
};

/** What runs did in each of some intervals, which follow one another. Every list has one number for each of them. */
export interface RunActivity {
  readonly queued: readonly number[];
  readonly started: readonly number[];
  readonly ended: Readonly<Record<FinalStatus, readonly number[]>>;
  /** At the end of the interval: runs that had not begun to execute, nor ended. */
  readonly waiting: readonly number[];
  /** At the end of the interval: runs that had begun to execute, and had not ended. */
  readonly running: readonly number[];
}

/** Runs that did the same in the same intervals. An interval is its place; -1 is before the first one, their number after the last one, or never. */
export interface ActivityGroup {
  readonly created: number;
  readonly started: number;
  readonly ended: number;
  readonly status: string;
  readonly runs: number;
}

/** Ends of runs from the first on and before the second, in milliseconds since 1970; undefined for no end. */
interface EndedSpan {
  readonly from: number;
  readonly before: number | undefined;
}

/** How a database reads what runs did. */
export interface ActivityReader extends SortKeyReader {
  /** When the run ended that follows `count` others which ended then or later; undefined when there are fewer. */
  endedAfter(query: ActivityQuery, from: number, count: number): Promise<number | undefined>;
  /** Of the runs that ended in a span, those that were created before the end of the query. */
  groupEnded(query: ActivityQuery, span: EndedSpan): Promise<readonly ActivityGroup[]>;
  /** Of the runs with a status that were created in a span. */
  groupOpen(query: ActivityQuery, status: string, span: SortKeyRange): Promise<readonly ActivityGroup[]>;
}

/** Runs that had not ended at the beginning, or came later: as many are read for one answer, of an index alone for the most part. */
export const MAX_ACTIVE = 1_000_000;
const ACTIVITY_PIECE = 20_000;

/** @returns undefined when there are more than `MAX_ACTIVE` of them */
export const runActivity = async (
  reader: ActivityReader,
  query: ActivityQuery,
): Promise<RunActivity | undefined> => {
  const sums = sumsOf(pointsOf(query));
  let read = 0;
  for (const status of OPEN_STATUSES) {
    const conditions = [{ field: 'status', values: [status] }] as const;
    const whole = { org_id: query.org_id, conditions, range: sortKeysIn({ createdBefore: query.to }) };
    for await (const { part, end } of inPieces(reader, whole, ACTIVITY_PIECE)) {
      (await reader.groupOpen(query, status, part.range)).forEach(sums.add);
      if (end === undefined) break;
      read += ACTIVITY_PIECE;
      if (read >= MAX_ACTIVE) return undefined;
    }
  }
  for (let from = query.from.getTime(); ;) {
    const next = await reader.endedAfter(query, from, ACTIVITY_PIECE);
    // All of them may have ended in one millisecond.
    const before = next === from ? from + 1 : next;
    (await reader.groupEnded(query, { from, before })).forEach(sums.add);
    if (before === undefined) return sums.total();
    read += ACTIVITY_PIECE;
    if (read >= MAX_ACTIVE) return undefined;
    from = before;
  }
};

/** How many intervals it has. */
export const pointsOf = ({ from, to, stepMs }: ActivityQuery): number =>
  (to.getTime() - from.getTime()) / stepMs;

interface Sums {
  readonly add: (group: ActivityGroup) => void;
  readonly total: () => RunActivity;
}

const sumsOf = (points: number): Sums => {
  const zeros = (): number[] => Array.from({ length: points }, () => 0);
  const [queued, started, waiting, running] = [zeros(), zeros(), zeros(), zeros()];
  const ended = Object.fromEntries(FINAL_STATUSES.map((status) => [status, zeros()])) as Record<
    FinalStatus,
    number[]
  >;
  const isIn = (place: number): boolean => place >= 0 && place < points;
  const addTo = (list: number[], place: number, runs: number): void => {
    if (isIn(place)) list[place] = (list[place] ?? 0) + runs;
  };
  /** Changes that came before count from the first interval on. */
  const change = (list: number[], place: number, runs: number): void => addTo(list, Math.max(place, 0), runs);
  return {
    add: ({ created, started: start, ended: end, status, runs }) => {
      addTo(queued, created, runs);
      addTo(started, start, runs);
      if (isFinal(status)) addTo(ended[status], end, runs);
      change(waiting, created, runs);
      change(waiting, Math.min(start, end), -runs);
      if (start > end) return;
      change(running, start, runs);
      change(running, end, -runs);
    },
    total: () => ({ queued, started, ended, waiting: added(waiting), running: added(running) }),
  };
};

const isFinal = (status: string): status is FinalStatus => FINAL_STATUSES.some((final) => final === status);

/** Each number with all before it. */
const added = (changes: readonly number[]): number[] => {
  let sum = 0;
  return changes.map((change) => (sum += change));
};
