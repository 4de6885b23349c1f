import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { unlessAborted } from '@runledger/resilience/abort';
import { answerJson } from '@runledger/contracts/json';

/** Where a command writes: results to standard output, everything else to standard error. */
export interface Screen {
  readonly isTerminal: boolean;
  readonly print: (line: string) => void;
  readonly printJson: (value: unknown) => void;
  /** Whether results are JSON, as `--json` asks. */
  readonly isJson: () => boolean;
  /** From now on results are JSON. */
  readonly useJson: () => void;
  /** Prints a result: as JSON, or the lines that a person reads. */
  readonly result: <Value>(value: Value, lines: (value: Value) => string | readonly string[]) => void;
  /** A line for the person at the terminal. It is not part of the result. */
  readonly hint: (line: string) => void;
  /** Lines that the next call replaces. Writes nothing without a terminal. */
  readonly redraw: (...lines: readonly string[]) => void;
  readonly columns: () => number;
  readonly rows: () => number;
  /** A text of the result in the colour of its meaning, if the output has colours. */
  readonly colour: (meaning: Meaning | undefined, text: string) => string;
  /** A time as a person at a terminal reads it, such as `3 minutes ago`; otherwise as it is. */
  readonly time: (text: string) => string;
  /** The answer of a person; undefined without a terminal. `hidden`: it is not shown while it is typed. */
  readonly ask: (question: string, options?: { readonly hidden?: boolean }) => Promise<string | undefined>;
}

/** The streams of the process, or of a test. */
interface Terminal {
  readonly out: NodeJS.WritableStream & {
    readonly isTTY?: boolean;
    readonly columns?: number;
    readonly rows?: number;
    readonly hasColors?: (env: object) => boolean;
  };
  readonly err: NodeJS.WritableStream & { readonly isTTY?: boolean };
  readonly in: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
}

export const screenOf = (terminal: Terminal): Screen => {
  const { out, err, env } = terminal;
  const isTerminal = out.isTTY ?? false;
  const isColoured = hasColours(out, env);
  let [drawn, isJson] = [0, false];
  const clear = (): void => {
    // To the first of the lines, and away with all.
    if (drawn > 0) out.write(`\r${drawn > 1 ? `\u001B[${drawn - 1}A` : ''}\u001B[J`);
    drawn = 0;
  };
  const print = (line: string): void => {
    clear();
    out.write(`${line}\n`);
  };
  const printJson = (value: unknown): void => print(answerJson(value));
  return {
    isTerminal,
    print,
    printJson,
    isJson: () => isJson,
    useJson: () => {
      isJson = true;
    },
    result: (value, lines) => {
      if (isJson) printJson(value);
      else for (const line of [lines(value)].flat()) print(line);
    },
    hint: (line) => {
      clear();
      err.write(`${line}\n`);
    },
    redraw: (...lines) => {
      if (!isTerminal) return;
      clear();
      out.write(lines.join('\n'));
      drawn = lines.length;
    },
    columns: () => out.columns || 80,
    rows: () => out.rows || 24,
    colour: (meaning, text) => (isColoured && meaning !== undefined ? coloured(meaning, text) : text),
    time: (text) => (isTerminal ? relativeTime(text, Date.now()) : text),
    ask: async (question, { hidden = false } = {}) => {
      if (!terminal.in.isTTY || !err.isTTY) return undefined;
      clear();
      return askAt(terminal, question, hidden);
    },
  };
};

const askAt = async ({ in: input, err }: Terminal, question: string, hidden: boolean): Promise<string> => {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  if (hidden) err.write(question);
  const reader = createInterface({ input, output: hidden ? silent : err, terminal: true });
  const closed = new AbortController();
  reader.once('close', () => closed.abort());
  // Ctrl-C, Ctrl-D and a closed terminal end the question. None of them is a yes.
  const answer = await unlessAborted(reader.question(question), closed.signal).catch(() => '');
  reader.close();
  if (hidden) err.write('\n');
  return answer;
};

/** What a text means, which a terminal shows by a colour. */
type Meaning = 'good' | 'bad' | 'warning' | 'going' | 'head';

const STYLES = {
  good: 'green',
  bad: 'red',
  warning: 'yellow',
  going: 'cyan',
  head: 'bold',
} as const satisfies Readonly<Record<Meaning, string>>;

const coloured = (meaning: Meaning, text: string): string =>
  // Whether there are colours was decided before.
  styleText(STYLES[meaning], text, { validateStream: false });

/** Statuses and states of all kinds of records. Any other one has no colour. */
const MEANINGS: ReadonlyMap<string, Meaning> = new Map([
  ['success', 'good'],
  ['ready', 'good'],
  ['failed', 'bad'],
  ['open', 'bad'],
  ['probing', 'warning'],
  ['timeout', 'bad'],
  ['refused', 'bad'],
  ['absent', 'bad'],
  ['unresponsive', 'bad'],
  ['cancelled', 'warning'],
  ['draining', 'warning'],
  ['deferred', 'warning'],
  ['skipped', 'warning'],
  ['missed', 'warning'],
  ['paused', 'warning'],
  ['started', 'going'],
  ['running', 'going'],
  ['uploading', 'going'],
]);

/** Of the first word of a text, such as `failed (workflow_error) after 1.6 s`. */
export const meaningOf = (text: string): Meaning | undefined => MEANINGS.get(/^[\w-]*/.exec(text)?.[0] ?? '');

interface Output {
  readonly isTTY?: boolean;
  readonly hasColors?: (env: object) => boolean;
}

/** NO_COLOR wins over a terminal, FORCE_COLOR over both, as in Node itself. */
export const hasColours = (
  { isTTY = false, hasColors }: Output,
  env: Readonly<Record<string, string | undefined>>,
): boolean => {
  const { FORCE_COLOR: forced, NO_COLOR: none } = env;
  if (forced !== undefined) return forced !== '0' && forced !== 'false';
  return isTTY && !none && (hasColors?.(env) ?? true);
};

const SECOND_MS = 1_000;
/** Clocks differ, and a request takes its time. */
const NOW_MS = 5 * SECOND_MS;

/** From the longest one. Months and years have their mean length. */
const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ['year', 31_556_952 * SECOND_MS],
  ['month', 2_629_746 * SECOND_MS],
  ['day', 86_400 * SECOND_MS],
  ['hour', 3_600 * SECOND_MS],
  ['minute', 60 * SECOND_MS],
  ['second', SECOND_MS],
];

/** How long before or after `nowMs` a time is: `3 minutes ago`, `in 2 days`, `now`. Any other text stays. */
export const relativeTime = (text: string, nowMs: number): string => {
  if (!/^\d{4}-\d{2}-\d{2}T/.test(text)) return text;
  const ms = Date.parse(text) - nowMs;
  if (Number.isNaN(ms)) return text;
  if (Math.abs(ms) < NOW_MS) return 'now';
  const [name, length] = UNITS.find(([, unit]) => Math.abs(ms) >= unit) ?? ['second', SECOND_MS];
  const count = Math.floor(Math.abs(ms) / length);
  const words = `${count} ${name}${count === 1 ? '' : 's'}`;
  return ms < 0 ? `${words} ago` : `in ${words}`;
};
