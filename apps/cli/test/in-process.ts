import { tmpdir } from 'node:os';
import { Readable } from 'node:stream';
import { runProgram } from '../src/program.ts';
import type { Result } from './run-cli.ts';

export interface Person {
  /** What comes on standard input. */
  readonly stdin?: string;
  /** What a person at a terminal says; without it nobody is there. */
  readonly answers?: string;
  readonly cwd?: string;
}

/** The command without a process of its own, for tests that need it many times. */
export const cliWith =
  (env: Readonly<Record<string, string>>) =>
  async (args: readonly string[], { stdin = '', answers, cwd = tmpdir() }: Person = {}): Promise<Result> => {
    let [stdout, stderr] = ['', ''];
    const print = (line: string): void => void (stdout += `${line}\n`);
    const hint = (line: string): void => void (stderr += `${line}\n`);
    const code = await runProgram(args, {
      env,
      cwd,
      stdin: Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]),
      screen: {
        isTerminal: false,
        print,
        printJson: (value) => print(JSON.stringify(value)),
        hint,
        redraw: () => undefined,
        columns: () => 80,
        ask: async (question) => {
          if (answers !== undefined) hint(`${question}${answers}`);
          return answers;
        },
      },
      untilInterrupted: () => new AbortController().signal,
    });
    return { code, stdout, stderr };
  };

export type Cli = ReturnType<typeof cliWith>;

/** The same for a gateway. */
export const cliAt = (url: string, key: string): Cli =>
  cliWith({ RUNLEDGER_URL: url, RUNLEDGER_API_KEY: key });
