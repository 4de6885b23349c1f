import type { PackedRows, RowRequest, RowTexts } from './packed-rows.ts';
import { startDeadlineOf, type TimingWheel } from './deadlines.ts';
import type { FairQueue } from './fair-queue.ts';
import type { Place } from './fair-share.ts';
import {
  type KnownRun,
  type Row,
  requestWithKey,
  type SharedRequest,
  type SharedRequests,
} from './known-run.ts';
import type { RunTable } from './run-table.ts';

interface Empty {
  readonly table: RunTable;
  readonly queue: FairQueue;
  readonly deadlines: TimingWheel;
  readonly requests: SharedRequests;
}

/** Rows with equal requests. */
interface Group {
  readonly shared: SharedRequest;
  /** Where all of them wait; undefined when each is added by itself. */
  readonly place: Place | undefined;
  readonly rows: Row[];
  /** The number of the row that was added last. */
  last: number;
  inOrder: boolean;
}

/**
 * Adds rows that were frozen. What equal runs have in common is done once, not a million times: they enter their line together. `schedule`
 * takes a run of which more is to be known than that it waits from now on.
 */
export const restoreRows = (
  pages: readonly PackedRows[],
  { table, queue, deadlines, requests }: Empty,
  schedule: (run: KnownRun) => void,
): void => {
  const groups = new Groups(requests, queue);
  table.reserve(pages.reduce((count, { numbers }) => count + numbers.length, 0));
  for (const rows of pages) {
    if (rows.numbers.length === 0) continue;
    const groupOfRow = rows.requests.map((request, index) => groups.of(request, rows.texts.get(index)));
    const first = table.addPage(rows, groupOfRow);
    // In the order of the table, so that what belongs to one page is done while it is in the cache.
    let row = first;
    for (const group of groupOfRow) {
      add(group, row, rows.numbers[row - first] ?? 0);
      if (group.place)
        deadlines.set(row, startDeadlineOf(rows.createdMs[row - first] ?? 0, group.shared.request));
      row += 1;
    }
  }
  for (const { shared, place, rows } of groups.inOrder((row) => table.numberOf(row))) {
    if (place) queue.addAll(rows, shared, place);
    else for (const row of rows) schedule(table.at(row));
  }
};

const add = (group: Group, row: Row, number: number): void => {
  group.inOrder &&= group.last < number;
  group.last = number;
  group.rows.push(row);
};

class Groups {
  /** Of each request: runs with a concurrency key wait in a line of their own, and those that start later in none yet. */
  readonly #groups = new Map<RowRequest, (Group | undefined)[]>();
  readonly #requests: SharedRequests;
  readonly #queue: FairQueue;

  constructor(requests: SharedRequests, queue: FairQueue) {
    this.#requests = requests;
    this.#queue = queue;
  }

  of(request: RowRequest, texts: RowTexts | undefined): Group {
    let groups = this.#groups.get(request);
    if (!groups) {
      groups = [undefined, undefined, undefined, undefined];
      this.#groups.set(request, groups);
    }
    const kind = (texts?.concurrency_key === undefined ? 0 : 1) + (texts?.not_before === undefined ? 0 : 2);
    const group = groups[kind] ?? this.#newGroup(request, texts);
    groups[kind] = group;
    return group;
  }

  #newGroup(
    { org_id, request }: RowRequest,
    { concurrency_key, not_before }: Pick<RowTexts, 'concurrency_key' | 'not_before'> = {},
  ): Group {
    const shared = this.#requests.of({ org_id, request: requestWithKey({ request }, concurrency_key) });
    const { later } = shared.requirements;
    const isAlike = not_before === undefined && later.length === 0 && request.warm_wait_s === undefined;
    const place = isAlike ? this.#queue.enter(shared) : undefined;
    return { shared, place, rows: [], last: 0, inOrder: true };
  }

  /** Each in the order of the numbers of its rows, and the one with the lowest number first. */
  inOrder(numberOf: (row: Row) => number): Group[] {
    const compare = (one: Row = 0, other: Row = 0): number => numberOf(one) - numberOf(other);
    const groups = [...this.#groups.values()].flatMap((kinds) => kinds.filter((one) => one !== undefined));
    for (const { inOrder, rows } of groups) if (!inOrder) rows.sort(compare);
    return groups.toSorted(({ rows: [one] }, { rows: [other] }) => compare(one, other));
  }
}
