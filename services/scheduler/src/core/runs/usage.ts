import type { Limit } from '@runledger/contracts/requests/queue-position';
import type { Requirements } from '../requirements.ts';
import type { KnownRun, Row, WaitingRun } from './known-run.ts';
import { LineRuns, OrderStatisticList } from './order-statistic-list.ts';

/** Waiting runs of one deployment that are alike (`SharedRequest.line`), in the order in which they were queued. */
export interface Line {
  readonly requirements: Requirements;
  readonly usage: Usage;
  /** Lines that all runs enter together share them. */
  readonly runs: LineRuns;
  readonly limit: number;
  /** Among the lines of its deployment for one GPU model. */
  readonly name: string;
  /** They leave other slots to others; null when they take any. */
  readonly holdOut: HoldOut | null;
  /** Where its runs wait, in the order of their GPU models: this line is the last one. */
  readonly all: readonly Line[];
}

/** Runs wait for slots that have their version loaded, as long as there are busy ones. */
export interface HoldOut {
  readonly version: string;
  /** On which GPU models. */
  readonly on: readonly Requirements[];
}

/** A key that has or had a slot, or many waiting runs. */
interface KeyUsage {
  slots: number;
  /** The head of the fact by which its last run left its slot. */
  releasedAt: number;
  /** Its waiting runs. The first one in each line is ready while the key has no slot. */
  waiting: FewRuns | ManyRuns;
}

/** In the order in which they were queued. */
type FewRuns = readonly Row[];
/** By the runs of a line: those of the key. */
type ManyRuns = Map<LineRuns, KeyInLine>;
interface KeyInLine {
  readonly line: Line;
  readonly runs: OrderStatisticList;
  ready: Row | undefined;
}

/** Each change of a key looks at all of its few runs; lists of more cost the same for any number, and memory of their own. */
const MAX_FEW = 16;

/** What the runs of one organisation hold, on all GPU models. */
export interface OrgUsage {
  /** The most slots that it holds; Infinity for no limit. */
  readonly limit: number;
  slots: number;
  /** Those that have runs. */
  readonly deployments: Map<string, Usage>;
  lastRelease: Release;
}

/** When somebody left a slot last: the head of that fact, and how many slots were held before. */
interface Release {
  readonly head: number;
  readonly slots: number;
}

const NO_RELEASE: Release = { head: 0, slots: 0 };

export const newOrgUsage = (limit: number): OrgUsage => ({
  limit,
  slots: 0,
  deployments: new Map(),
  lastRelease: NO_RELEASE,
});

/** What the table says of waiting runs. */
interface WaitingRows {
  /** The sequence of the log with which it was queued. */
  numberOf(row: Row): number;
  /** The last one of the lines in which it waits. */
  placeOf(row: Row): Line | undefined;
  concurrencyKeyOf(row: Row): string | undefined;
  /** A run with the same concurrency key. */
  nextOfKey(row: Row): Row | undefined;
  setNextOfKey(row: Row, next: Row | undefined): void;
}

/** What the runs of one deployment hold, on all GPU models: its limits count all of them. */
export class Usage {
  readonly organisation: OrgUsage;
  #waiting = 0;
  #slots = 0;
  #lastRelease = NO_RELEASE;
  /** Those that have a limit. */
  readonly #limited = new Set<Line>();
  /** A key with few waiting runs that never had a slot is the first of them, which leads to the others: a million of them take little memory. */
  readonly #keys = new Map<string, KeyUsage | Row>();
  readonly #rows: WaitingRows;
  readonly #numberOf: (row: Row) => number;

  constructor(organisation: OrgUsage, rows: WaitingRows) {
    this.organisation = organisation;
    this.#rows = rows;
    this.#numberOf = (row) => rows.numberOf(row);
  }

  get isIdle(): boolean {
    return this.#waiting === 0 && this.#slots === 0;
  }

  /** For runs like this one. `together`: a line that each of them enters with this one, and leaves with it. */
  newLine(
    run: WaitingRun,
    like: Pick<Line, 'name' | 'requirements' | 'holdOut'>,
    together?: Line,
  ): Omit<Line, 'all'> {
    const runs = together?.runs ?? new LineRuns(this.#numberOf);
    return { ...like, usage: this, runs, limit: limitOf(run) };
  }

  /** It waits in this line too, which is its last one. */
  add(run: WaitingRun, line: Line): void {
    this.#waiting += 1;
    if (line.limit < Infinity) this.#limited.add(line);
    if (line.runs.add(run.row)) this.#addToKey(keyOf(run), run.row, line);
  }

  /** Many runs of a line, in the order in which they were queued. */
  addAll(rows: readonly Row[], line: Line): void {
    this.#waiting += rows.length;
    line.runs.addAll(rows);
    if (line.limit < Infinity) this.#limited.add(line);
    // All of a line have a key, or none has.
    const [first] = rows;
    if (first === undefined || this.#rows.concurrencyKeyOf(first) === undefined) return;
    for (const row of rows) this.#addToKey(this.#rows.concurrencyKeyOf(row), row, line);
  }

  #addToKey(key: string | undefined, row: Row, line: Line): void {
    if (key === undefined) return;
    const waiting = this.#waitingOf(key);
    if (isFew(waiting) && waiting.includes(row)) return this.#setFew(key, waiting);
    if (isFew(waiting) && waiting.length < MAX_FEW)
      return this.#setFew(key, this.#inOrder(waiting.concat(row)));
    const usage = this.#keyUsage(key);
    const many = isFew(usage.waiting) ? this.#manyOf(usage.waiting) : usage.waiting;
    usage.waiting = many;
    this.#addToMany(many, row, line);
    this.#refresh(usage);
  }

  /** Out of all lines in which it waits. Whether it waited. */
  remove(run: WaitingRun, lines: readonly Line[]): boolean {
    const [first] = lines;
    if (!first?.runs.delete(run.row)) return false;
    for (const line of lines) {
      if (line.runs !== first.runs) line.runs.delete(run.row);
      this.#waiting -= 1;
      if (line.runs.size === 0) this.#limited.delete(line);
    }
    const key = keyOf(run);
    if (key === undefined) return true;
    const waiting = this.#waitingOf(key);
    if (isFew(waiting)) {
      this.#setFew(
        key,
        waiting.filter((other) => other !== run.row),
      );
    } else {
      const usage = this.#keyUsage(key);
      for (const line of lines) waiting.get(line.runs)?.runs.delete(run.row);
      this.#refresh(usage);
      this.#forgetIdle(key, usage);
    }
    return true;
  }

  /** The run gets a slot (1), or gives it back (-1). */
  hold(run: WaitingRun, slots: 1 | -1): void {
    this.#slots += slots;
    this.organisation.slots += slots;
    const key = keyOf(run);
    if (key === undefined) return;
    const usage = this.#keyUsage(key);
    usage.slots += slots;
    this.#refresh(usage);
    this.#forgetIdle(key, usage);
  }

  /** The limit that keeps the run from a slot now. */
  limitFor(run: WaitingRun): Limit | undefined {
    if (this.#slots >= limitOf(run)) return 'concurrency_limit';
    return (this.#known(keyOf(run))?.slots ?? 0) > 0 ? 'concurrency_key' : undefined;
  }

  /** The run leaves its slot by the fact with this head. */
  rememberLimits(run: WaitingRun, head: number): void {
    this.#lastRelease = { head, slots: this.#slots };
    this.organisation.lastRelease = { head, slots: this.organisation.slots };
    const key = keyOf(run);
    if (key !== undefined) this.#keyUsage(key).releasedAt = head;
  }

  /** The limit that was reached last while the run waited, as the last release says. */
  lastLimitOf(run: KnownRun): Limit | undefined {
    let [last, head]: [Limit | undefined, number] = [undefined, run.head];
    const releasedAt = this.#known(keyOf(run))?.releasedAt ?? 0;
    if (releasedAt > head) [last, head] = ['concurrency_key', releasedAt];
    const own = this.#lastRelease;
    if (own.head > head && own.slots >= limitOf(run)) [last, head] = ['concurrency_limit', own.head];
    const { lastRelease: whole, limit } = this.organisation;
    if (whole.head > head && whole.slots >= limit) last = 'organisation_limit';
    return last;
  }

  /** The next run of the line, if it is within its limits. */
  nextOf({ runs, limit }: Line): Row | undefined {
    return this.#slots < limit ? runs.firstReady() : undefined;
  }

  /** Runs that may be within their limits because this run has left its slot: the next of each line that a limit held back. */
  nextAfter(run: WaitingRun): Row[] {
    const key = keyOf(run);
    if (key === undefined && this.#limited.size === 0) return [];
    const ofKey = key === undefined ? [] : this.#linesOfAll(this.#waitingOf(key));
    return [...new Set([...this.#limited, ...ofKey])].flatMap((line) => this.nextOf(line) ?? []);
  }

  /** How many of the first runs of the line with the run's concurrency key fulfil the condition. */
  countOfKey(run: WaitingRun, line: Line, holds: (other: Row) => boolean): number {
    const key = keyOf(run);
    if (key === undefined) return 0;
    const waiting = this.#waitingOf(key);
    return isFew(waiting)
      ? waiting.filter((row) => this.#linesOf(row).includes(line) && holds(row)).length
      : (waiting.get(line.runs)?.runs.countWhile(holds) ?? 0);
  }

  /** Undefined while it has few runs and never had a slot. */
  #known(key: string | undefined): KeyUsage | undefined {
    const known = key === undefined ? undefined : this.#keys.get(key);
    return isKeyUsage(known) ? known : undefined;
  }

  #keyUsage(key: string): KeyUsage {
    const known = this.#known(key);
    if (known) return known;
    const usage: KeyUsage = { slots: 0, releasedAt: 0, waiting: this.#waitingOf(key) };
    this.#keys.set(key, usage);
    return usage;
  }

  #waitingOf(key: string): FewRuns | ManyRuns {
    const known = this.#keys.get(key);
    if (isKeyUsage(known)) return known.waiting;
    const rows: Row[] = [];
    for (let row = known; row !== undefined; row = this.#rows.nextOfKey(row)) rows.push(row);
    return rows;
  }

  /** From now on these runs of the key wait. */
  #setFew(key: string, rows: FewRuns): void {
    const usage = this.#known(key);
    if (usage) {
      usage.waiting = rows;
      this.#refresh(usage);
      this.#forgetIdle(key, usage);
      return;
    }
    const [first] = rows;
    if (first === undefined) this.#keys.delete(key);
    else this.#keys.set(key, first);
    for (const [n, row] of rows.entries()) this.#rows.setNextOfKey(row, rows[n + 1]);
    this.#refreshFew(rows, true);
  }

  #inOrder(rows: Row[]): Row[] {
    return rows.sort((one, other) => this.#numberOf(one) - this.#numberOf(other));
  }

  /** By lines. A refresh follows. */
  #manyOf(rows: FewRuns): ManyRuns {
    const many: ManyRuns = new Map();
    for (const row of rows) for (const line of this.#linesOf(row)) this.#addToMany(many, row, line);
    return many;
  }

  /** Held back. A refresh follows. */
  #addToMany(many: ManyRuns, row: Row, line: Line): void {
    const own = many.get(line.runs) ?? {
      line,
      runs: new OrderStatisticList(this.#numberOf),
      ready: undefined,
    };
    many.set(line.runs, own);
    own.runs.add(row);
    line.runs.holdBack(row);
  }

  #linesOf(row: Row): readonly Line[] {
    return this.#rows.placeOf(row)?.all ?? [];
  }

  #linesOfAll(waiting: FewRuns | ManyRuns): Iterable<Line> {
    return isFew(waiting)
      ? waiting.flatMap((row) => this.#linesOf(row))
      : [...waiting.values()].map(({ line }) => line);
  }

  #refresh({ slots, waiting }: KeyUsage): void {
    if (isFew(waiting)) this.#refreshFew(waiting, slots === 0);
    else refreshMany(waiting, slots === 0);
  }

  #refreshFew(rows: FewRuns, isFree: boolean): void {
    const before: LineRuns[] = [];
    for (const row of rows) {
      const own = new Set(this.#linesOf(row).map(({ runs }) => runs));
      for (const runs of own) {
        if (isFree && !before.includes(runs)) runs.release(row);
        else runs.holdBack(row);
      }
      before.push(...own);
    }
  }

  #forgetIdle(key: string, { slots, waiting }: KeyUsage): void {
    const runs = isFew(waiting) ? waiting.length : waiting.size;
    if (slots === 0 && runs === 0) this.#keys.delete(key);
  }
}

const isKeyUsage = (known: KeyUsage | Row | undefined): known is KeyUsage => typeof known === 'object';

const isFew = (waiting: FewRuns | ManyRuns): waiting is FewRuns => Array.isArray(waiting);

const refreshMany = (waiting: ManyRuns, isFree: boolean): void => {
  for (const one of waiting.values()) {
    const { runs } = one.line;
    const ready = isFree ? one.runs.first() : undefined;
    if (one.ready !== ready) {
      if (one.ready !== undefined) runs.holdBack(one.ready);
      if (ready !== undefined) runs.release(ready);
      one.ready = ready;
    }
    if (one.runs.size === 0) waiting.delete(runs);
  }
};

const limitOf = ({ run }: WaitingRun): number => run.request.concurrency_limit ?? Infinity;

const keyOf = ({ run }: WaitingRun): string | undefined => run.request.concurrency_key;
