import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { sleep } from '@runledger/resilience/abort';
import { backoff } from '@runledger/resilience/backoff';
import { within } from '@runledger/resilience/within';
import type { Containment } from './containment.ts';
import { groupHasEnded } from './stray-processes.ts';
import { parseEnding, type Ending, type Start } from './supervisor-messages.ts';

export interface SupervisedProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Settles when the program and its whole process group have ended. Never rejects. */
  readonly ended: Promise<ProcessEnd>;
  /** SIGTERM to everything that belongs to the run. */
  terminate(): void;
  /** SIGKILL to everything that belongs to the run. */
  kill(): void;
}

export type ProcessEnd =
  | Ending
  /** The supervisor ended without a report: it could not be started, or was killed. */
  | { kind: 'unreported'; why: string };

export interface ProcessSettings {
  readonly containment: Containment;
  readonly start: Start;
  /** The environment of the supervisor, with its mark; the program's environment is in `start`. */
  readonly env: Record<string, string>;
  readonly folder: string;
}

const SUPERVISOR_PATH = fileURLToPath(new URL('./supervisor.ts', import.meta.url));
/** SIGUSR1 from a program must not open a debugger in its supervisor. */
const NODE_OPTIONS = ['--disable-sigusr1', '--no-warnings'];

/** How long the supervisor may take to kill the group before the executor kills it. */
const SUPERVISOR_WITHIN_MS = 2_000;

export const startSupervised = ({ containment, start, env, folder }: ProcessSettings): SupervisedProcess => {
  const node = [process.execPath, ...NODE_OPTIONS, SUPERVISOR_PATH];
  const [command = '', ...args] =
    containment.kind === 'namespace' ? [containment.command, ...containment.args, '--', ...node] : node;
  const child = spawn(command, args, {
    cwd: folder,
    env,
    // Its own session and process group, led by the supervisor (or by the unshare around it).
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
  const { stdin, stdout, stderr } = child;
  const link = child.stdio[3];
  if (stdin === null || stdout === null || stderr === null || !isDuplex(link))
    throw new Error('spawn opened no pipes');

  // The end of the process says more than the errors of its broken pipes.
  for (const stream of [child, stdin, stdout, stderr, link]) stream.on('error', () => undefined);
  link.write(`${JSON.stringify(start)}\n`);

  return {
    stdin,
    stdout,
    stderr,
    ended: settle(child, listenForReport(link)),
    terminate: () => void (link.writable && link.write('t')),
    kill: () => {
      link.end();
      const overrule = setTimeout(() => killGroup(child), SUPERVISOR_WITHIN_MS);
      child.once('exit', () => clearTimeout(overrule));
    },
  };
};

const settle = async (child: ChildProcess, report: () => Promise<Ending | null>): Promise<ProcessEnd> => {
  const why = await exitOf(child);
  if (child.pid === undefined) return { kind: 'unreported', why };
  const ending = await report();
  // The supervisor kills its group as its last action. If it was killed before, its group is still there.
  if (ending === null) killGroup(child);
  await untilGroupEnds(child.pid);
  return ending ?? { kind: 'unreported', why };
};

/** How the supervisor itself ended, in words; needed only without a report. */
const exitOf = async (child: ChildProcess): Promise<string> => {
  try {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    return `its supervisor ended with ${child.signalCode ?? `exit code ${child.exitCode}`}`;
  } catch (error) {
    return `its supervisor could not be started: ${error instanceof Error ? error.message : String(error)}`;
  }
};

/**
 * A process that hangs in the kernel (in a GPU driver) dies only when the kernel returns. Until then the slot is not
 * free, so there is no deadline here.
 */
const untilGroupEnds = async (group: number): Promise<void> => {
  const delays = backoff({ firstMs: 2, longestMs: 500 });
  while (!(await groupHasEnded(group))) await sleep(delays.next());
};

const killGroup = (child: ChildProcess): void => {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // No process of the group is left.
  }
};

/** The report that the pipe delivered before it closed; null when it is incomplete. */
const listenForReport = (link: Readable): (() => Promise<Ending | null>) => {
  let text = '';
  link.setEncoding('utf8');
  link.on('data', (chunk: string) => (text += chunk));
  const closed = new Promise((resolve) => link.once('close', resolve));
  return async () => {
    await within(SUPERVISOR_WITHIN_MS, closed, () => undefined);
    link.destroy();
    return parseEnding(text);
  };
};

const isDuplex = (stream: unknown): stream is Readable & Writable =>
  typeof stream === 'object' && stream !== null && 'write' in stream && 'read' in stream;
