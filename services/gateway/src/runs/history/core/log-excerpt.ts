import type {
  RunLogCut,
  RunLogItem,
  RunLogLine,
  RunLogNotice,
} from '@runledger/contracts/http/runs/run-logs';

/** What is between the first and the last lines. */
interface Omitted {
  readonly at: string;
  readonly attempt: number;
  readonly lines: number;
  readonly bytes: number;
}

/** The first and the last lines of the log of one attempt. */
export class LogExcerpt {
  readonly #lines: number;
  readonly #first: (RunLogLine | RunLogCut)[] = [];
  readonly #last: (RunLogLine | RunLogCut)[] = [];
  readonly #notices: RunLogNotice[] = [];
  #omitted: Omitted | undefined;

  /** `lines`: how many of the beginning, and as many of the end. */
  constructor(lines: number) {
    this.#lines = lines;
  }

  add(item: RunLogItem): void {
    if ('notice' in item) this.#notices.push(item);
    else if (this.#first.length < this.#lines) this.#first.push(item);
    else {
      this.#last.push(item);
      const [before] = this.#last.length > this.#lines ? this.#last.splice(0, 1) : [];
      if (before) this.#omit(before);
    }
  }

  /** What is to be known of the log, such as that it has expired. */
  notices(): readonly RunLogNotice[] {
    return this.#notices;
  }

  items(): readonly (RunLogLine | RunLogCut)[] {
    if (!this.#omitted) return [...this.#first, ...this.#last];
    const { at, attempt, lines, bytes } = this.#omitted;
    return [...this.#first, { at, attempt, cut: { lines, bytes } }, ...this.#last];
  }

  #omit(item: RunLogLine | RunLogCut): void {
    const { at, attempt, lines, bytes } = this.#omitted ?? { ...item, lines: 0, bytes: 0 };
    const cut =
      'cut' in item ? item.cut : { lines: 1, bytes: new TextEncoder().encode(item.line).byteLength };
    this.#omitted = { at, attempt, lines: lines + cut.lines, bytes: bytes + cut.bytes };
  }
}
