import { fork } from 'node:child_process';
import { openLogFile } from './log-file.ts';
import { readLines } from './read-lines.ts';
import { terminalLine } from './terminal-line.ts';
import type { RunningPart } from './keep-running.ts';

export interface ServiceSpec {
  readonly name: string;
  /** The path of its `main.ts`. */
  readonly main: string;
  /** All that it sees of the environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** From SIGTERM to SIGKILL: longer than the service's own deadline, which should come first. */
  readonly stopWithinMs: number;
  readonly say: (line: string) => void;
}

export type ServiceState =
  | { readonly kind: 'starting' }
  | { readonly kind: 'listening'; readonly health: string }
  | { readonly kind: 'ended'; readonly how: string; readonly code: number | null };

export interface ServiceProcess extends RunningPart {
  /** Undefined when it could not be started. */
  readonly pid: number | undefined;
  readonly state: () => ServiceState;
}

/**
 * Starts a service as a child process. It has a session of its own, so that a Ctrl-C in the terminal reaches only
 * this process, which stops its services in order; and a channel to this process, by whose end it notices our death.
 */
export const startService = ({
  name,
  main,
  env,
  logFile,
  stopWithinMs,
  say,
}: ServiceSpec): ServiceProcess => {
  const child = fork(main, {
    env: { ...env },
    execArgv: [],
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let state: ServiceState = { kind: 'starting' };
  const log = openLogFile(logFile);
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) throw new Error('fork gave no pipes although they were asked for');
    readLines(stream, (line) => {
      log.write(line);
      const shown = terminalLine(name, line);
      if (shown !== undefined) say(shown);
    });
  }
  child.on('message', (message: unknown) => {
    const health = healthOf(message);
    if (health !== undefined) state = { kind: 'listening', health };
  });

  const ended = new Promise<string>((resolve) => {
    const end = (how: string, code: number | null): void => {
      if (state.kind === 'ended') return;
      state = { kind: 'ended', how, code };
      log[Symbol.dispose]();
      resolve(how);
    };
    child.once('error', (error) => {
      if (child.pid === undefined) end(`could not be started: ${error.message}`, null);
    });
    // 'close' rather than 'exit': by then its last lines have been read.
    child.once('close', (code, signal) => end(describeEnd(code, signal), code));
  });

  return {
    pid: child.pid,
    state: () => state,
    ended,
    stop: async () => {
      if (state.kind === 'ended') return;
      child.kill('SIGTERM');
      // A process that was paused takes no other signal before it goes on.
      child.kill('SIGCONT');
      const tooLong = setTimeout(() => child.kill('SIGKILL'), stopWithinMs);
      await ended;
      clearTimeout(tooLong);
    },
  };
};

/** EX_CONFIG, with which our services refuse their settings. */
export const EXIT_CONFIG = 78;

const describeEnd = (code: number | null, signal: NodeJS.Signals | null): string => {
  if (signal !== null) return `was killed by ${signal}`;
  return code === EXIT_CONFIG ? 'refuses its settings' : `ended with exit status ${code}`;
};

const healthOf = (message: unknown): string | undefined => {
  if (typeof message !== 'object' || message === null) return undefined;
  if (!('type' in message) || message.type !== 'listening' || !('health' in message)) return undefined;
  return typeof message.health === 'string' ? message.health : undefined;
};
