import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { killWithParent } from './kill-with-parent.ts';

export interface ProcessSpec {
  readonly file: string;
  readonly args: readonly string[];
  /** The environment of this process by default. */
  readonly env?: NodeJS.ProcessEnv;
  /** From SIGTERM to SIGKILL; 10 seconds by default. */
  readonly stopWithinMs?: number;
  /** Called with each line that the process prints. */
  readonly onLine?: (line: string) => void;
  /** Opens an IPC channel to a Node.js process, which closes when this process dies. */
  readonly onMessage?: (message: unknown) => void;
  /** Kills the process and its process group when this one dies, even by `kill -9`. */
  readonly diesWithParent?: boolean;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why the process could not start. */
  readonly failure?: string;
}

export interface ManagedProcess extends AsyncDisposable {
  /** Undefined if the process could not start. */
  readonly pid: number | undefined;
  /** Resolves when the process has ended and all its output has been read. Never rejects. */
  readonly exited: Promise<Exit>;
  /** Undefined while it runs. */
  readonly exit: () => Exit | undefined;
  /** The last lines that it printed. */
  readonly tail: () => string;
  /** Does nothing if the process has ended. */
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Stops the process with SIGSTOP. Resolves when all its threads have stopped. Its connections stay open. */
  readonly pause: () => Promise<void>;
  readonly resume: () => void;
  /** Sends SIGTERM, and SIGKILL at the deadline. Does nothing if the process has ended. */
  readonly stop: () => Promise<Exit>;
}

const STOP_WITHIN_MS = 10_000;
const POLL_EVERY_MS = 5;

/**
 * Starts a child process. Runledger starts all servers and services with it. The child gets its own process group: Ctrl-C in
 * the terminal reaches only this process, which stops its children in order.
 */
export const launchProcess = (spec: ProcessSpec): ManagedProcess => {
  const { file, args, env, stopWithinMs = STOP_WITHIN_MS, onLine, onMessage } = spec;
  const child = spawn(file, args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...(onMessage ? (['ipc'] as const) : [])],
    env,
  });
  const tail = keepTail();
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) throw new Error(`${file} has no pipes for its output`);
    readLines(stream, (line) => {
      tail.add(line);
      onLine?.(line);
    });
  }
  if (onMessage) child.on('message', onMessage);
  if (spec.diesWithParent === true) killWithParent(child, 'group');
  let exit: Exit | undefined;
  const exited = exitOf(child).then((how) => (exit = how));
  const kill = (signal: NodeJS.Signals): void => void child.kill(signal);
  const stop = async (): Promise<Exit> => {
    kill('SIGTERM');
    // A stopped process handles no other signal before SIGCONT.
    kill('SIGCONT');
    const deadline = setTimeout(() => kill('SIGKILL'), stopWithinMs);
    const how = await exited;
    clearTimeout(deadline);
    return how;
  };
  return {
    pid: child.pid,
    exited,
    exit: () => exit,
    tail: tail.lines,
    kill,
    pause: async () => {
      kill('SIGSTOP');
      const isOver = (): boolean => exit !== undefined || child.pid === undefined || isStopped(child.pid);
      while (!isOver()) await delay(POLL_EVERY_MS);
    },
    resume: () => kill('SIGCONT'),
    stop,
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
};

export const describeExit = ({ code, signal }: Exit): string =>
  signal === null ? `exit status ${code}` : `killed by ${signal}`;

const exitOf = (child: ChildProcess): Promise<Exit> =>
  new Promise((resolve) => {
    child.on('error', ({ message }) => {
      if (child.pid === undefined) resolve({ code: null, signal: null, failure: message });
    });
    // 'close' and not 'exit': it comes after all output has been read.
    child.once('close', (code, signal) => resolve({ code, signal }));
  });

/** The kernel stops the threads of a process one after the other. Only Linux shows their states. */
const isStopped = (pid: number): boolean => {
  if (process.platform !== 'linux') return true;
  try {
    return readdirSync(`/proc/${pid}/task`).every((thread) => {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
      return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
    });
  } catch {
    // A thread or the process ended meanwhile.
    return false;
  }
};

const MAX_BYTES = 4_096;
const MAX_LINES = 12;

interface OutputTail {
  readonly add: (line: string) => void;
  /** The last few lines, joined by line ends. */
  readonly lines: () => string;
}

const keepTail = (): OutputTail => {
  const kept: string[] = [];
  return {
    add: (line) => {
      kept.push(line);
      if (kept.length > MAX_LINES) kept.shift();
    },
    lines: () => lastLinesOf(kept.join('\n').slice(-MAX_BYTES)),
  };
};

/** The last few lines of a file; empty if it cannot be read. */
export const tailOfFile = async (path: string): Promise<string> => {
  try {
    await using file = await open(path);
    const { size } = await file.stat();
    const start = Math.max(0, size - MAX_BYTES);
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(MAX_BYTES), position: start });
    return lastLinesOf(buffer.toString('utf8', 0, bytesRead));
  } catch {
    return '';
  }
};

const lastLinesOf = (text: string): string => text.trim().split('\n').slice(-MAX_LINES).join('\n');

/** Longer than any line in the logs of our services. */
const MAX_LINE_CHARACTERS = 64 * 1024;

/** Calls `onLine` with each line of a stream, without its line end. A longer line is cut, so that it cannot fill the memory. */
export const readLines = (stream: Readable, onLine: (line: string) => void): void => {
  const decoder = new StringDecoder('utf8');
  let begun = '';
  const take = (text: string): void => {
    const [first = '', ...rest] = text.split('\n');
    begun = (begun + first).slice(0, MAX_LINE_CHARACTERS);
    for (const next of rest) {
      if (begun !== '') onLine(begun);
      begun = next.slice(0, MAX_LINE_CHARACTERS);
    }
  };
  stream.on('data', (bytes: Buffer) => take(decoder.write(bytes)));
  stream.once('end', () => take(`${decoder.end()}\n`));
  stream.on('error', () => undefined);
};
