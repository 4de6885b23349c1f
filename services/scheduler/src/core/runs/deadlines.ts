import { isExecuting, waitsSince, type RunRequest } from '@runledger/contracts/fold/run';
import { uploadTimeoutS } from '@runledger/contracts/limits';
import { timeOf } from './time-text.ts';
import type { LiveRun } from '../decision.ts';
import { PAGE_BITS, PAGE_ROWS } from './packed-rows.ts';
import { IndexedPriorityQueue } from './indexed-priority-queue.ts';
import type { Row } from './known-run.ts';

export interface DeadlineSettings {
  /** From when an executor has to end a run, because of a cancel request or a time limit, until that is done without it: its grace period and a margin. */
  readonly cancelEnforceMs: number;
}

/** Of a run that waits since this time. */
export const startDeadlineOf = (
  sinceMs: number,
  { start_deadline_s }: Pick<RunRequest, 'start_deadline_s'>,
): number => sinceMs + start_deadline_s * 1_000;

/** When the scheduler has to end the run if nothing else happens, in milliseconds on the broker's clock. */
export const deadlineOf = (run: LiveRun, { cancelEnforceMs }: DeadlineSettings): number => {
  if (isExecuting(run) && run.cancel) return timeOf(run.cancel.requested_at) + cancelEnforceMs;
  const { run_timeout_s } = run.request;
  switch (run.status) {
    case 'queued':
      return startDeadlineOf(timeOf(waitsSince(run)), run.request);
    case 'started':
      return startDeadlineOf(timeOf(waitsSince(run)), run.request) + cancelEnforceMs;
    case 'running':
      return timeOf(run.started_at) + run_timeout_s * 1_000 + cancelEnforceMs;
    case 'uploading':
      // Nothing but a cancel request changes such a run: it was changed when storing began.
      return timeOf(run.updated_at) + uploadTimeoutS(run.output_bytes) * 1_000 + cancelEnforceMs;
  }
};

/** Of some rows. */
interface Page {
  /** Milliseconds since 1970; 0 for none. */
  readonly ms: Float64Array;
  /** The rows before and after it in the list of its second. */
  readonly before: Int32Array;
  readonly after: Int32Array;
  /** How many of its rows have a time. */
  used: number;
}

const MASK = PAGE_ROWS - 1;
const NONE = -1;
const SECOND_MS = 1_000;

/**
 * A time for each of some rows. Those within one second are a list (a timing wheel without an end; Varghese and Lauck, 1987), linked through
 * columns of numbers: so a change costs the same however many there are, and a page of rows without a time takes no memory.
 */
export class TimingWheel {
  readonly #pages: (Page | undefined)[] = [];
  /** Without a time: a page whose only row gets a time again and again is not made anew each time. */
  #spare: Page | undefined;
  readonly #firsts = new Map<number, Row>();
  /** Those with a row. */
  readonly #seconds = new IndexedPriorityQueue<number>();

  has(row: Row): boolean {
    return this.#msOf(row) > 0;
  }

  /** Milliseconds since 1970. Sets another time if it has one. */
  set(row: Row, ms: number): void {
    const page = this.#pages[row >>> PAGE_BITS] ?? this.#newPage(row);
    if (this.has(row)) this.#unlink(page, row);
    const index = row & MASK;
    const second = secondOf(ms);
    const first = this.#firsts.get(second) ?? NONE;
    if (first === NONE) this.#seconds.set(second, second);
    else this.#setBefore(first, row);
    this.#firsts.set(second, row);
    page.used += 1;
    page.ms[index] = ms;
    page.before[index] = NONE;
    page.after[index] = first;
  }

  delete(row: Row): void {
    const page = this.#pages[row >>> PAGE_BITS];
    if (!page || !this.has(row)) return;
    this.#unlink(page, row);
    if (page.used > 0) return;
    this.#pages[row >>> PAGE_BITS] = undefined;
    this.#spare = page;
  }

  /** Takes out those until now, in milliseconds, the earliest first; of equal ones the one that was set first. */
  *take(now: number): Generator<Row> {
    for (
      let first = this.#seconds.first();
      first && first.item * SECOND_MS <= now;
      first = this.#seconds.first()
    ) {
      const passed = this.#passedIn(first.item, now);
      if (passed.length === 0) return;
      for (const row of passed) {
        if (this.#msOf(row) > now || !this.has(row)) continue;
        this.delete(row);
        yield row;
      }
    }
  }

  #passedIn(second: number, now: number): Row[] {
    const passed: Row[] = [];
    for (let row = this.#firsts.get(second) ?? NONE; row !== NONE; row = this.#afterOf(row))
      if (this.#msOf(row) <= now) passed.push(row);
    return passed.toReversed().toSorted((one, other) => this.#msOf(one) - this.#msOf(other));
  }

  #unlink(page: Page, row: Row): void {
    const index = row & MASK;
    const second = secondOf(page.ms[index] ?? 0);
    const [before, after] = [page.before[index] ?? NONE, page.after[index] ?? NONE];
    page.used -= 1;
    page.ms[index] = 0;
    if (after !== NONE) this.#setBefore(after, before);
    if (before !== NONE) this.#setAfter(before, after);
    else if (after !== NONE) this.#firsts.set(second, after);
    else {
      this.#firsts.delete(second);
      this.#seconds.delete(second);
    }
  }

  #newPage(row: Row): Page {
    const page = this.#spare ?? {
      ms: new Float64Array(PAGE_ROWS),
      before: new Int32Array(PAGE_ROWS),
      after: new Int32Array(PAGE_ROWS),
      used: 0,
    };
    this.#spare = undefined;
    this.#pages[row >>> PAGE_BITS] = page;
    return page;
  }

  #msOf(row: Row): number {
    return this.#pages[row >>> PAGE_BITS]?.ms[row & MASK] ?? 0;
  }

  #afterOf(row: Row): Row {
    return this.#pages[row >>> PAGE_BITS]?.after[row & MASK] ?? NONE;
  }

  #setBefore(row: Row, before: Row): void {
    const page = this.#pages[row >>> PAGE_BITS];
    if (page) page.before[row & MASK] = before;
  }

  #setAfter(row: Row, after: Row): void {
    const page = this.#pages[row >>> PAGE_BITS];
    if (page) page.after[row & MASK] = after;
  }
}

const secondOf = (ms: number): number => Math.floor(ms / SECOND_MS);
