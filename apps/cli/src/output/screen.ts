import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';

/** Where a command writes: results to standard output, everything else to standard error. */
export interface Screen {
  readonly isTerminal: boolean;
  readonly print: (line: string) => void;
  readonly printJson: (value: unknown) => void;
  /** For the person who waits; not part of the result. */
  readonly hint: (line: string) => void;
  /** One line that each call replaces; nothing where there is no terminal. */
  readonly redraw: (line: string) => void;
  readonly columns: () => number;
  /** What a person answers; undefined where nobody is there. */
  readonly ask: (question: string) => Promise<string | undefined>;
}

export const screen = (out: NodeJS.WriteStream, err: NodeJS.WriteStream, from: NodeJS.ReadStream): Screen => {
  const isTerminal = out.isTTY;
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
      if (!from.isTTY || !err.isTTY) return undefined;
      clear();
      const reader = createInterface({ input: from, output: err });
      // Ctrl-C and Ctrl-D end the question, as does a terminal that goes away: none of them agrees to anything.
      const answered = reader.question(question).catch(() => '');
      const closed = once(reader, 'close').then(() => '');
      const answer = await Promise.race([answered, closed]);
      reader.close();
      return answer;
    },
  };
};
