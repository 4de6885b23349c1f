import { launchProcess, type Exit } from '@runledger/local-servers/managed-process';
import { bundlesVariable, programFile } from '@runledger/service-kit/program-file';
import { openLogFile } from './log-file.ts';
import { terminalLine } from './terminal-line.ts';
import type { SupervisedProcess } from './keep-running.ts';

export interface ServiceProcessOptions {
  readonly name: string;
  /** The path of its `main.ts`. Its bundle is started if there is one. */
  readonly main: string;
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** From SIGTERM to SIGKILL. Longer than the deadline of the service itself. */
  readonly stopWithinMs: number;
  readonly print: (line: string) => void;
  /** Kills it when this process dies, also while SIGSTOP keeps it from noticing that by its IPC channel. */
  readonly diesWithParent?: boolean;
}

export type ServiceState =
  | { readonly kind: 'starting' }
  | { readonly kind: 'listening'; readonly health: string }
  | { readonly kind: 'ended'; readonly how: string; readonly code: number | null };

export interface ServiceProcess extends SupervisedProcess {
  /** Undefined if it did not start. */
  readonly pid: number | undefined;
  readonly state: () => ServiceState;
  readonly kill: (signal: NodeJS.Signals) => void;
}

/**
 * Starts a service as a child process. It notices by its IPC channel when this process ends. It has its own process group, so
 * that Ctrl-C reaches only this process, which stops its services in order.
 */
export const startService = ({
  name,
  main,
  env,
  logFile,
  stopWithinMs,
  print,
  diesWithParent = false,
}: ServiceProcessOptions): ServiceProcess => {
  const log = openLogFile(logFile);
  let health: string | undefined;
  const launched = launchProcess({
    file: process.execPath,
    args: [programFile(main)],
    env: { ...bundlesVariable(), ...env },
    stopWithinMs,
    diesWithParent,
    onLine: (line) => {
      log.write(line);
      const short = terminalLine(name, line);
      if (short !== undefined) print(short);
    },
    onMessage: (message) => {
      health = healthOf(message) ?? health;
    },
  });
  const ended = launched.exited.then((exit) => {
    log[Symbol.dispose]();
    return describeEnd(exit);
  });
  const state = (): ServiceState => {
    const exit = launched.exit();
    if (exit !== undefined) return { kind: 'ended', how: describeEnd(exit), code: exit.code };
    return health === undefined ? { kind: 'starting' } : { kind: 'listening', health };
  };
  return {
    pid: launched.pid,
    state,
    ended,
    kill: launched.kill,
    stop: async () => void (await launched.stop()),
  };
};

/** EX_CONFIG: the exit status of a service that refuses its settings. */
export const EXIT_CONFIG = 78;

const describeEnd = ({ code, signal, failure }: Exit): string => {
  if (failure !== undefined) return `did not start: ${failure}`;
  if (signal !== null) return `was killed by ${signal}`;
  return code === EXIT_CONFIG ? 'refused its settings' : `ended with exit status ${code}`;
};

const healthOf = (message: unknown): string | undefined => {
  if (typeof message !== 'object' || message === null) return undefined;
  if (!('type' in message) || message.type !== 'listening' || !('health' in message)) return undefined;
  return typeof message.health === 'string' ? message.health : undefined;
};
