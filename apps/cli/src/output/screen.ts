import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { unlessAborted } from '@runledger/resilience/abort';
import { answerJson } from '@runledger/contracts/numbers/long-integers';
import { coloured, hasColours, type Meaning } from './colours.ts';
import { relativeTime } from './relative-time.ts';

/** Where a command writes: results to standard output, everything else to standard error. */
export interface Screen {
  readonly isTerminal: boolean;
  readonly print: (line: string) => void;
  readonly printJson: (value: unknown) => void;
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
export interface Terminal {
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
  let drawn = 0;
  const clear = (): void => {
    // To the first of the lines, and away with all.
    if (drawn > 0) out.write(`\r${drawn > 1 ? `\u001B[${drawn - 1}A` : ''}\u001B[J`);
    drawn = 0;
  };
  const print = (line: string): void => {
    clear();
    out.write(`${line}\n`);
  };
  return {
    isTerminal,
    print,
    printJson: (value) => print(answerJson(value)),
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

const askAt = async (
  { in: input, err }: Pick<Terminal, 'in' | 'err'>,
  question: string,
  hidden: boolean,
): Promise<string> => {
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
