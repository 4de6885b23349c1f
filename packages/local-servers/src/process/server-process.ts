import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { killWithParent } from './kill-with-parent.ts';
import { tailOf } from './output-tail.ts';

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

/** A server that runs as a child process. It dies with this process, however this process dies. */
export type ServerProcess = AsyncDisposable & {
  readonly pid: number;
  /** Settles when the process is gone, whoever ended it. */
  readonly exited: Promise<Exit>;
  kill(signal: NodeJS.Signals): void;
  /** Asks the server to end and, when it has not after 10 s, kills it. Harmless when it is gone already. */
  stop(): Promise<Exit>;
};

export type ServerSpec<Ready> = {
  /** How messages call it. */
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Asked again and again until it answers; undefined means not yet. */
  readonly ready: (pid: number) => Promise<Ready | undefined>;
  readonly readyWithinMs?: number;
  /** What the server wrote elsewhere than to its standard output, for the message about a failed start. */
  readonly moreOutput?: () => Promise<string>;
};

const STOP_WITHIN_MS = 10_000;
const ASK_EVERY_MS = 20;

/** Starts a server and waits until it is ready. A server that does not get there is an error with its own last lines. */
export const startServer = async <Ready>(
  spec: ServerSpec<Ready>,
): Promise<{ readonly server: ServerProcess; readonly ready: Ready }> => {
  // A process group of its own: Ctrl-C in the terminal is for the caller, who stops its servers last.
  const child = spawn(spec.file, spec.args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: spec.env ?? process.env,
  });
  const lastLines = tailOf(child.stdout, child.stderr);
  const exited = exitOf(child);
  const pid = await pidOf(child, spec.name);
  const server = handleOf(child, pid, exited);
  killWithParent(child, pid);

  const readyWithinMs = spec.readyWithinMs ?? 60_000;
  const ready = await whenReady(spec, pid, exited, readyWithinMs);
  if (ready.kind === 'ready') return { server, ready: ready.value };
  await server.stop();
  const what =
    ready.kind === 'exited'
      ? `${spec.name} ended before it was ready (${describeExit(ready.exit)})`
      : `${spec.name} was not ready after ${readyWithinMs / 1000} s and was stopped`;
  const said = `${(await spec.moreOutput?.()) ?? ''}\n${lastLines()}`.trim();
  throw new Error(`${what}. ${said === '' ? 'It printed nothing.' : `Its last lines:\n${said}`}`);
};

export const describeExit = ({ code, signal }: Exit): string =>
  signal === null ? `exit status ${code}` : `killed by ${signal}`;

type Outcome<Ready> =
  | { readonly kind: 'ready'; readonly value: Ready }
  | { readonly kind: 'exited'; readonly exit: Exit }
  | { readonly kind: 'late' };

const whenReady = async <Ready>(
  spec: ServerSpec<Ready>,
  pid: number,
  exited: Promise<Exit>,
  withinMs: number,
): Promise<Outcome<Ready>> => {
  const deadline = performance.now() + withinMs;
  const ended = exited.then((exit) => ({ kind: 'exited', exit }) as const);
  while (performance.now() < deadline) {
    const asked = spec.ready(pid).then((value) => ({ kind: 'asked', value }) as const);
    const answer = await Promise.race([ended, asked]);
    if (answer.kind === 'exited') return answer;
    if (answer.value !== undefined) return { kind: 'ready', value: answer.value };
    await delay(ASK_EVERY_MS);
  }
  return { kind: 'late' };
};

const exitOf = (child: ChildProcess): Promise<Exit> =>
  new Promise((resolve) => {
    // 'close' rather than 'exit': by then everything that the server printed has been read.
    child.once('close', (code, signal) => resolve({ code, signal }));
  });

const pidOf = (child: ChildProcess, name: string): Promise<number> =>
  new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`${name} cannot be started: ${error.message}`)));
    if (child.pid !== undefined) resolve(child.pid);
  });

const handleOf = (child: ChildProcess, pid: number, exited: Promise<Exit>): ServerProcess => {
  const kill = (signal: NodeJS.Signals): void => {
    child.kill(signal);
  };
  const stop = async (): Promise<Exit> => {
    // A server that was paused takes no other signal before it is continued.
    kill('SIGTERM');
    kill('SIGCONT');
    const tooLong = setTimeout(() => kill('SIGKILL'), STOP_WITHIN_MS);
    const exit = await exited;
    clearTimeout(tooLong);
    return exit;
  };
  const dispose = async (): Promise<void> => {
    await stop();
  };
  return { pid, exited, kill, stop, [Symbol.asyncDispose]: dispose };
};
