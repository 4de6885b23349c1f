import { createInterface } from 'node:readline/promises';
import { unlessAborted } from '@runledger/resilience/abort';

/** Where a command writes: results to standard output, everything else to standard error. */
export interface Screen {
  readonly isTerminal: boolean;
  readonly print: (line: string) => void;
  readonly printJson: (value: unknown) => void;
  /** A line for the person at the terminal. It is not part of the result. */
  readonly hint: (line: string) => void;
  /** A line that the next call replaces. Writes nothing without a terminal. */
  readonly redraw: (line: string) => void;
  readonly columns: () => number;
  /** The answer of a person; undefined without a terminal. */
  readonly ask: (question: string) => Promise<string | undefined>;
}

/** The streams of the process, or of a test. */
export interface Terminal {
  readonly out: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  readonly err: NodeJS.WritableStream & { readonly isTTY?: boolean };
  readonly in: NodeJS.ReadableStream & { readonly isTTY?: boolean };
}

export const screenOf = ({ out, err, in: input }: Terminal): Screen => {
  const isTerminal = out.isTTY ?? false;
  let drawn = false;
  const clear = (): void => {
    if (drawn) out.write('\r\u001B[K');
    drawn = false;
  };
  const print = (line: string): void => {
    clear();
    out.write(`${line}\n`);
  };
  return {
    isTerminal,
    print,
    printJson: (value) => print(JSON.stringify(value)),
    hint: (line) => {
      clear();
      err.write(`${line}\n`);
    },
    redraw: (line) => {
      if (!isTerminal) return;
      clear();
      out.write(line);
      drawn = true;
    },
    columns: () => out.columns || 80,
    ask: async (question) => {
      if (!input.isTTY || !err.isTTY) return undefined;
      clear();
      const reader = createInterface({ input, output: err });
      const closed = new AbortController();
      reader.once('close', () => closed.abort());
      // Ctrl-C, Ctrl-D and a closed terminal end the question. None of them is a yes.
      const answer = await unlessAborted(reader.question(question), closed.signal).catch(() => '');
      reader.close();
      return answer;
    },
  };
};
