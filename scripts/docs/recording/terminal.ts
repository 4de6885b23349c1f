import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { killWithParent } from '@runledger/local-servers/kill-with-parent';

/** What a terminal showed, and when, in milliseconds since it was opened. */
export interface Shown {
  readonly atMs: number;
  readonly text: string;
}

export interface TerminalOptions {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly prompt: string;
  readonly columns: number;
  readonly rows: number;
}

/** A terminal with bash in it. */
export interface Terminal {
  /** What it showed from its first prompt on. */
  readonly shown: readonly Shown[];
  /** Types a line word by word, and the Enter key. */
  readonly type: (line: string) => Promise<void>;
  readonly press: (key: string) => void;
  /** Waits for the prompt after the line that was typed last. @throws Error as `shows` */
  readonly isBack: (withinMs: number) => Promise<void>;
  /** @throws Error with all that it shows, if it does not show this text within the time */
  readonly shows: (text: string, withinMs: number) => Promise<void>;
  /** Closes it with all that runs in it. */
  readonly close: () => Promise<void>;
}

const BETWEEN_WORDS_MS = 250;
const POLL_MS = 50;
const CLOSE_WITHIN_MS = 5_000;
const CTRL_D = '\u0004';
/** Shown before the first prompt. */
const PREPARED = 'the terminal is prepared';

/** The command `script` (of util-linux) is the terminal: its shell believes that a person sits there. */
export const openTerminal = async (options: TerminalOptions): Promise<Terminal> => {
  const { folder, env, prompt, columns, rows } = options;
  const child = spawn('script', ['--quiet', '--flush', '--command', 'bash --noprofile --norc', '/dev/null'], {
    cwd: folder,
    env: { ...env, TERM: 'xterm-256color', PS1: prompt, HISTFILE: '' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  killWithParent(child);
  const openedAtMs = performance.now();
  const all: Shown[] = [];
  child.stdout
    .setEncoding('utf8')
    .on('data', (text: string) => all.push({ atMs: performance.now() - openedAtMs, text }));
  const textSince = (first: number): string =>
    all
      .slice(first)
      .map(({ text }) => text)
      .join('');
  const waitUntil = async (holds: () => boolean, what: string, withinMs: number): Promise<void> => {
    for (const giveUpAtMs = performance.now() + withinMs; !holds(); await pause(POLL_MS))
      if (performance.now() > giveUpAtMs || child.exitCode !== null)
        throw new Error(`The terminal does not show ${what}. It shows:\n${textSince(0)}`);
  };
  child.stdin.write(
    `bind 'set enable-bracketed-paste off'; stty cols ${columns} rows ${rows}; clear; echo ${PREPARED.replace(' ', "' '")}\n`,
  );
  await waitUntil(() => textSince(0).includes(`${PREPARED}\r\n${prompt}`), 'its prompt', 10_000);
  const prepared = all.length;
  let typed = prepared;
  return {
    get shown() {
      return [{ atMs: 0, text: prompt }, ...all.slice(prepared)];
    },
    type: async (line) => {
      for (const word of line.split(/(?<= )/)) {
        child.stdin.write(word);
        await pause(BETWEEN_WORDS_MS);
      }
      typed = all.length;
      child.stdin.write('\r');
    },
    isBack: (withinMs) => waitUntil(() => textSince(typed).endsWith(prompt), 'the next prompt', withinMs),
    press: (key) => void child.stdin.write(key),
    shows: (text, withinMs) =>
      waitUntil(() => textSince(prepared).includes(text), JSON.stringify(text), withinMs),
    close: async () => {
      if (child.exitCode !== null) return;
      const exited = once(child, 'exit');
      child.stdin.write(CTRL_D);
      const tooLong = setTimeout(() => child.kill('SIGKILL'), CLOSE_WITHIN_MS);
      await exited;
      clearTimeout(tooLong);
    },
  };
};
