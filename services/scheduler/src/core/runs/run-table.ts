import type { RunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import {
  packIds,
  unpackIds,
  type PackableIds,
  type PackedRows,
  type RowTexts,
  packUuid,
  UUID_WORDS,
  newRowPage,
  PAGE_BITS,
  PAGE_ROWS,
  ROW_WORDS,
  type RowPage,
} from './packed-rows.ts';
import { RowIndex } from './row-index.ts';
import { timeOf, timeText } from './time-text.ts';
import type { Place } from './fair-share.ts';
import { isPlain, knownPlainRun, type KnownRun, type Row, type SharedRequest } from './known-run.ts';

interface Page {
  readonly columns: RowPage;
  readonly shared: (SharedRequest | undefined)[];
  readonly places: (Place | undefined)[];
  /** Runs of which their rows do not say everything. Undefined while no row is of such a run, as the columns below. */
  known: (KnownRun | undefined)[] | undefined;
  /** Ids that are no UUIDs, concurrency keys, and times before which runs do not start (0 for none). */
  texts: (Partial<PackableIds> | undefined)[] | undefined;
  concurrencyKeys: (string | undefined)[] | undefined;
  notBeforeMs: Float64Array | undefined;
  /** The next run of the key, and 1 more; 0 for none. */
  nextOfKey: Int32Array | undefined;
  used: number;
  /** The rows from this index on were never used. */
  end: number;
  /** Indices of free rows before it. */
  readonly free: number[];
  /** A frozen table needs its rows as they are: they are copied before they change. */
  frozen: Frozen | undefined;
}

/** Of a page. */
interface Frozen {
  copy: PackedRows | undefined;
}

/** All runs at one moment. */
export interface FrozenRuns {
  /** Those of which their rows do not say everything. */
  readonly kept: readonly KnownRun[];
  /** The others, page by page. They can be read once. */
  readonly rows: Iterable<PackedRows>;
  readonly rowCount: number;
}

const MASK = PAGE_ROWS - 1;

/**
 * The runs that have not ended. One that was queued, and to which nothing has happened since, is a row of numbers: a million of them take
 * little memory, and no time of the garbage collector. Of every other run the table holds the object.
 */
export class RunTable {
  readonly #pages: (Page | undefined)[] = [];
  /** Numbers of pages with a free row. */
  readonly #roomy: number[] = [];
  /** Numbers without a page. */
  readonly #unused: number[] = [];
  /** Has no run. A table with few runs would make a page for each of them otherwise, which takes longer than everything else about it. */
  #spare: Page | undefined;
  readonly #index = new RowIndex({
    wordsOf: (row) => this.#page(row).columns.ids,
    firstWordOf: (row) => (row & MASK) * ROW_WORDS,
  });
  readonly #sought = new Uint32Array(UUID_WORDS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  find({ org_id, run_id }: RunKey): KnownRun | undefined {
    if (!packUuid(run_id, this.#sought, 0)) return undefined;
    const row = this.#index.find(this.#sought, 0, (row) => this.sharedOf(row).org_id === org_id);
    return row === undefined ? undefined : this.at(row);
  }

  /** A plain run is another object each time. */
  at(row: Row): KnownRun {
    return this.#page(row).known?.[row & MASK] ?? this.#unpack(row);
  }

  add(known: KnownRun): void {
    const row = this.#newRow();
    known.row = row;
    const page = this.#changing(row);
    const { columns, shared } = page;
    const index = row & MASK;
    const { run } = known;
    const createdMs = timeOf(run.created_at);
    columns.numbers[index] = run.number;
    columns.createdMs[index] = createdMs;
    if (!packUuid(run.run_id, columns.ids, index * ROW_WORDS))
      throw new TypeError(`"${run.run_id}" is no run id`);
    shared[index] = known.shared;
    this.#index.add(row);
    const { concurrency_key } = run.request;
    if (concurrency_key !== undefined) setTexts(page, index, { concurrency_key });
    const { created_at, not_before } = run;
    if (!isPlain(known) || !isExact(created_at) || (not_before !== null && !isExact(not_before))) {
      setKnown(page, known);
      return;
    }
    const texts = packIds(columns, index, {
      event_id: known.event_id,
      correlation_id: run.correlation_id,
      traceparent: run.traceparent,
    });
    if (texts) setTexts(page, index, texts);
    if (not_before !== null) setTexts(page, index, { not_before });
  }

  /** Another object of the same run. */
  replace({ row }: KnownRun, after: KnownRun): void {
    after.row = row;
    this.keep(after);
  }

  /** From now on this object is what is known of the run. */
  keep(known: KnownRun): void {
    setKnown(this.#changing(known.row), known);
  }

  remove({ row }: KnownRun): void {
    const number = row >>> PAGE_BITS;
    const page = this.#changing(row);
    const index = row & MASK;
    this.#index.delete(row);
    if (page.texts) page.texts[index] = undefined;
    if (page.concurrencyKeys) page.concurrencyKeys[index] = undefined;
    if (page.notBeforeMs) page.notBeforeMs[index] = 0;
    page.columns.numbers[index] = 0;
    page.shared[index] = undefined;
    page.places[index] = undefined;
    if (page.known) page.known[index] = undefined;
    if (page.used === PAGE_ROWS) this.#roomy.push(number);
    page.free.push(index);
    page.used -= 1;
    this.#size -= 1;
    if (page.used > 0) return;
    this.#spare = page;
    this.#pages[number] = undefined;
    this.#unused.push(number);
    this.#roomy.splice(this.#roomy.indexOf(number), 1);
  }

  *all(): Generator<KnownRun> {
    for (const [number, page] of this.#pages.entries()) {
      let left = page?.used ?? 0;
      for (let index = 0; left > 0; index += 1) {
        if (!page?.columns.numbers[index]) continue;
        left -= 1;
        yield this.at((number << PAGE_BITS) | index);
      }
    }
  }

  /** Those of which their rows do not say everything: all that execute, all with a decision, and some others. */
  *kept(): Generator<KnownRun> {
    for (const page of this.#pages) for (const known of page?.known ?? []) if (known) yield known;
  }

  /** The state at this moment, which costs something for each page. A page is copied when it changes before it is read. */
  freeze(): FrozenRuns {
    const kept = [...this.kept()];
    const pages = this.#pages.flatMap((page) => {
      if (!page) return [];
      const frozen: Frozen = { copy: undefined };
      page.frozen = frozen;
      return [{ page, frozen }];
    });
    const copyOf = (page: Page, frozen: Frozen): PackedRows => {
      if (page.frozen === frozen) page.frozen = undefined;
      const { copy } = frozen;
      frozen.copy = undefined;
      return copy ?? this.#copy(page);
    };
    const rows = function* (): Generator<PackedRows> {
      for (const { page, frozen } of pages) yield copyOf(page, frozen);
    };
    return { kept, rowCount: this.#size - kept.length, rows: rows() };
  }

  /** Makes room for so many more rows in the index. */
  reserve(rows: number): void {
    this.#index.reserve(this.#size + rows);
  }

  /**
   * Adds rows as `freeze` gave them, and uses their columns from then on. Returns the first of them; the others follow it. `waiting`: their
   * requests, and where they wait.
   */
  addPage(
    rows: PackedRows,
    waiting: readonly { readonly shared: SharedRequest; readonly place: Place | undefined }[],
  ): Row {
    const number = this.#newPage(rows);
    const first = number << PAGE_BITS;
    const page = this.#page(first);
    let index = 0;
    for (const { shared, place } of waiting) {
      page.shared[index] = shared;
      page.places[index] = place;
      this.#index.add(first | index);
      index += 1;
    }
    for (const [row, texts] of rows.texts) setTexts(page, row, texts);
    return first;
  }

  numberOf(row: Row): number {
    return this.#page(row).columns.numbers[row & MASK] ?? 0;
  }

  createdMsOf(row: Row): number {
    return this.#page(row).columns.createdMs[row & MASK] ?? 0;
  }

  concurrencyKeyOf(row: Row): string | undefined {
    return this.#page(row).concurrencyKeys?.[row & MASK];
  }

  /** As `setNextOfKey` said last for it. */
  nextOfKey(row: Row): Row | undefined {
    const next = this.#page(row).nextOfKey?.[row & MASK] ?? 0;
    return next > 0 ? next - 1 : undefined;
  }

  setNextOfKey(row: Row, next: Row | undefined): void {
    const page = this.#page(row);
    if (next !== undefined) page.nextOfKey ??= new Int32Array(PAGE_ROWS);
    if (page.nextOfKey) page.nextOfKey[row & MASK] = next === undefined ? 0 : next + 1;
  }

  sharedOf(row: Row): SharedRequest {
    const shared = this.#page(row).shared[row & MASK];
    if (!shared) throw new Error(`Row ${row} is free.`);
    return shared;
  }

  /** Where it waits or holds its slot; undefined while it does neither. */
  placeOf(row: Row): Place | undefined {
    return this.#page(row).places[row & MASK];
  }

  setPlace(row: Row, place: Place | undefined): void {
    this.#page(row).places[row & MASK] = place;
  }

  #page(row: Row): Page {
    const page = this.#pages[row >>> PAGE_BITS];
    if (!page) throw new Error(`Row ${row} is free.`);
    return page;
  }

  #changing(row: Row): Page {
    const page = this.#page(row);
    if (page.frozen) page.frozen.copy = this.#copy(page);
    page.frozen = undefined;
    return page;
  }

  #copy(page: Page): PackedRows {
    const { columns, shared, known } = page;
    const indices: number[] = [];
    for (let index = 0; index < PAGE_ROWS; index += 1)
      if (columns.numbers[index] && !known?.[index]) indices.push(index);
    const ids = new Uint32Array(indices.length * ROW_WORDS);
    const texts = new Map<number, RowTexts>();
    for (const [to, index] of indices.entries()) {
      ids.set(columns.ids.subarray(index * ROW_WORDS, (index + 1) * ROW_WORDS), to * ROW_WORDS);
      const own = textsOf(page, index);
      if (own) texts.set(to, own);
    }
    return {
      numbers: Float64Array.from(indices, (index) => columns.numbers[index] ?? 0),
      createdMs: Float64Array.from(indices, (index) => columns.createdMs[index] ?? 0),
      flags: Uint16Array.from(indices, (index) => columns.flags[index] ?? 0),
      ids,
      requests: indices.flatMap((index) => shared[index] ?? []),
      texts,
    };
  }

  #newRow(): Row {
    const number = this.#roomy.at(-1) ?? this.#newPage();
    const page = this.#page(number << PAGE_BITS);
    const index = page.free.pop() ?? page.end++;
    page.used += 1;
    if (page.used === PAGE_ROWS) this.#roomy.pop();
    this.#size += 1;
    return (number << PAGE_BITS) | index;
  }

  #newPage(rows?: RowPage): number {
    const number = this.#unused.pop() ?? this.#pages.length;
    const page = (rows ? undefined : this.#takeSpare()) ?? newPage(rows);
    this.#pages[number] = page;
    this.#size += page.used;
    if (page.used < PAGE_ROWS) this.#roomy.push(number);
    return number;
  }

  #takeSpare(): Page | undefined {
    const spare = this.#spare;
    this.#spare = undefined;
    return spare;
  }

  #unpack(row: Row): KnownRun {
    const { columns, texts, concurrencyKeys, notBeforeMs } = this.#page(row);
    const index = row & MASK;
    const startMs = notBeforeMs?.[index] ?? 0;
    const { run_id, event_id, correlation_id, traceparent } = unpackIds(columns, index, texts?.[index]);
    return knownPlainRun(row, {
      run_id: run_id as RunId,
      event_id,
      correlation_id,
      traceparent,
      number: columns.numbers[index] ?? 0,
      created_at: timeText(columns.createdMs[index] ?? 0),
      shared: this.sharedOf(row),
      concurrency_key: concurrencyKeys?.[index],
      not_before: startMs === 0 ? null : timeText(startMs),
    });
  }
}

const EMPTY_COLUMN: readonly undefined[] = Array.from({ length: PAGE_ROWS }, () => undefined);
const setKnown = (page: Page, known: KnownRun): void => {
  page.known ??= EMPTY_COLUMN.slice();
  page.known[known.row & MASK] = known;
};

const setTexts = (page: Page, index: number, { concurrency_key, not_before, ...texts }: RowTexts): void => {
  if (Object.keys(texts).length > 0) {
    page.texts ??= EMPTY_COLUMN.slice();
    page.texts[index] = texts;
  }
  if (concurrency_key !== undefined) {
    page.concurrencyKeys ??= EMPTY_COLUMN.slice();
    page.concurrencyKeys[index] = concurrency_key;
  }
  if (not_before !== undefined) {
    page.notBeforeMs ??= new Float64Array(PAGE_ROWS);
    page.notBeforeMs[index] = timeOf(not_before);
  }
};

const textsOf = ({ texts, concurrencyKeys, notBeforeMs }: Page, index: number): RowTexts | undefined => {
  const concurrency_key = concurrencyKeys?.[index];
  const startMs = notBeforeMs?.[index] ?? 0;
  if (concurrency_key === undefined && startMs === 0) return texts?.[index];
  return {
    ...texts?.[index],
    ...(concurrency_key !== undefined && { concurrency_key }),
    ...(startMs !== 0 && { not_before: timeText(startMs) }),
  };
};

/** Whether the number says everything about the time. */
const isExact = (time: string): boolean => {
  const ms = timeOf(time);
  return Number.isInteger(ms) && ms > 0 && timeText(ms) === time;
};

/** Has these rows already. */
const newPage = (rows?: RowPage): Page => ({
  columns: rows?.numbers.length === PAGE_ROWS ? rows : newRowPage(rows),
  shared: EMPTY_COLUMN.slice(),
  places: EMPTY_COLUMN.slice(),
  known: undefined,
  texts: undefined,
  concurrencyKeys: undefined,
  notBeforeMs: undefined,
  nextOfKey: undefined,
  used: rows?.numbers.length ?? 0,
  end: rows?.numbers.length ?? 0,
  free: [],
  frozen: undefined,
});
