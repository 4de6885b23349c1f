import type { Limit } from '@runledger/contracts/requests/queue-position';
import type { Requirements } from '../slots/requirements.ts';
import type { KnownRun, Row, WaitingRun } from './known-run.ts';
import { OrderStatisticList } from './order-statistic-list.ts';

/** Waiting runs of one deployment that are alike (`SharedRequest.line`), in the order in which they were queued. */
export interface Line {
  readonly requirements: Requirements;
  readonly usage: Usage;
  readonly runs: OrderStatisticList<Row>;
  /** Those that no concurrency key holds back: the same list when they have none. */
  readonly ready: OrderStatisticList<Row>;
  readonly limit: number;
  /** Among the lines of its deployment for one GPU model. */
  readonly name: string;
  /** They leave other slots to others; null when they take any. */
  readonly holdOut: HoldOut | null;
}

/** Runs wait for slots that have their version loaded, as long as there are busy ones. */
export interface HoldOut {
  readonly version: string;
  /** On which GPU models. */
  readonly on: readonly Requirements[];
}

interface KeyUsage {
  slots: number;
  /** The head of the fact by which its last run left its slot. */
  releasedAt: number;
  /** Its waiting runs. The first one in each line is ready while the key has no slot. */
  readonly waiting: Map<Line, { readonly runs: OrderStatisticList<Row>; ready: Row | undefined }>;
}

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

/** What the runs of one deployment hold, on all GPU models: its limits count all of them. */
export class Usage {
  readonly organisation: OrgUsage;
  #waiting = 0;
  #slots = 0;
  #lastRelease = NO_RELEASE;
  /** Those that have a limit. */
  readonly #limited = new Set<Line>();
  /** A key with a single waiting run, in one line, and with no slot is that run: a million of them take little memory. */
  readonly #keys = new Map<string, KeyUsage | Row>();
  readonly #newList: () => OrderStatisticList<Row>;
  readonly #lineOf: (row: Row) => Line | undefined;

  /** `numberOf`: the sequence of the log with which a run was queued. `lineOf`: where a run waits that waits in one line. */
  constructor(
    organisation: OrgUsage,
    numberOf: (row: Row) => number,
    lineOf: (row: Row) => Line | undefined,
  ) {
    this.organisation = organisation;
    this.#lineOf = lineOf;
    this.#newList = () => new OrderStatisticList(numberOf);
  }

  get isIdle(): boolean {
    return this.#waiting === 0 && this.#slots === 0;
  }

  lineOf(run: WaitingRun, name: string, requirements: Requirements, holdOut: HoldOut | null): Line {
    const runs = this.#newList();
    const ready = keyOf(run) === undefined ? runs : this.#newList();
    return { name, requirements, usage: this, runs, ready, limit: limitOf(run), holdOut };
  }

  add(run: WaitingRun, line: Line): void {
    this.#waiting += 1;
    line.runs.add(run.row);
    if (line.limit < Infinity) this.#limited.add(line);
    this.#addToKey(keyOf(run), run.row, line);
  }

  /** Many runs of a line, in the order in which they were queued. */
  addAll(rows: readonly Row[], line: Line, keyOfRow: (row: Row) => string | undefined): void {
    this.#waiting += rows.length;
    line.runs.addAll(rows);
    if (line.limit < Infinity) this.#limited.add(line);
    if (line.ready === line.runs) return;
    for (const row of rows) this.#addToKey(keyOfRow(row), row, line);
  }

  #addToKey(key: string | undefined, row: Row, line: Line): void {
    if (key === undefined) return;
    if (!this.#keys.has(key)) {
      this.#keys.set(key, row);
      line.ready.add(row);
      return;
    }
    const usage = this.#keyUsage(key);
    const waiting = usage.waiting.get(line) ?? { runs: this.#newList(), ready: undefined };
    usage.waiting.set(line, waiting);
    waiting.runs.add(row);
    refresh(usage);
  }

  /** Whether the run waited. */
  remove(run: WaitingRun, line: Line): boolean {
    if (!line.runs.delete(run.row)) return false;
    this.#waiting -= 1;
    if (line.runs.size === 0) this.#limited.delete(line);
    const key = keyOf(run);
    if (key === undefined) return true;
    if (this.#keys.get(key) === run.row) {
      this.#keys.delete(key);
      line.ready.delete(run.row);
      return true;
    }
    const usage = this.#keyUsage(key);
    usage.waiting.get(line)?.runs.delete(run.row);
    refresh(usage);
    this.#forgetIdle(key, usage);
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
    refresh(usage);
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
  nextOf({ ready, limit }: Line): Row | undefined {
    return this.#slots < limit ? ready.first() : undefined;
  }

  /** Runs that may be within their limits because this run has left its slot: the next of each line that a limit held back. */
  nextAfter(run: WaitingRun): Row[] {
    const key = keyOf(run);
    if (key === undefined && this.#limited.size === 0) return [];
    const ofKey = this.#known(key)?.waiting.keys() ?? [];
    return [...new Set([...this.#limited, ...ofKey])].flatMap((line) => this.nextOf(line) ?? []);
  }

  /** How many of the first runs of the line with the run's concurrency key fulfil the condition. */
  countOfKey(run: WaitingRun, line: Line, holds: (other: Row) => boolean): number {
    const key = keyOf(run);
    if (key === undefined || !this.#keys.has(key)) return 0;
    return this.#keyUsage(key).waiting.get(line)?.runs.countWhile(holds) ?? 0;
  }

  /** Undefined while it has a single run. */
  #known(key: string | undefined): KeyUsage | undefined {
    const known = key === undefined ? undefined : this.#keys.get(key);
    return typeof known === 'object' ? known : undefined;
  }

  #keyUsage(key: string): KeyUsage {
    const known = this.#keys.get(key);
    if (typeof known === 'object') return known;
    const usage: KeyUsage = { slots: 0, releasedAt: 0, waiting: new Map() };
    this.#keys.set(key, usage);
    const line = known === undefined ? undefined : this.#lineOf(known);
    if (known === undefined || !line) return usage;
    const runs = this.#newList();
    runs.add(known);
    usage.waiting.set(line, { runs, ready: known });
    return usage;
  }

  #forgetIdle(key: string, { slots, waiting }: KeyUsage): void {
    if (slots === 0 && waiting.size === 0) this.#keys.delete(key);
  }
}

const refresh = ({ slots, waiting }: KeyUsage): void => {
  for (const [line, one] of waiting) {
    const ready = slots === 0 ? one.runs.first() : undefined;
    if (one.ready !== ready) {
      if (one.ready !== undefined) line.ready.delete(one.ready);
      if (ready !== undefined) line.ready.add(ready);
      one.ready = ready;
    }
    if (one.runs.size === 0) waiting.delete(line);
  }
};

const limitOf = ({ run }: WaitingRun): number => run.request.concurrency_limit ?? Infinity;

const keyOf = ({ run }: WaitingRun): string | undefined => run.request.concurrency_key;
