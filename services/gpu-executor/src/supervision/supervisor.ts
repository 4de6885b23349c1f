// The process between the executor and the programs of one slot, one program at a time. It starts them, passes on what they write, and
// says how they ended. It holds one end of a pipe to the executor: when the executor dies in any way, the run dies. A process that is kept
// between runs has a supervisor for itself, and pipes of its own to the executor.
//
// It is the first process of its own PID namespace, or has a user of its own, or each program leads a process group. After a program nothing of
// its run stays alive. Then it takes the next one, if its namespace is as new; else it ends, and with it the namespace.
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, stat } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { backoff } from '@runledger/resilience/backoff';
import { isTemporaryFull, watchMemory } from '../isolation/mounts.ts';
import { parseSetup, restrictSupervisor } from '../isolation/restrict-supervisor.ts';
import { handOverListener, proxyEnvironment } from './proxy-listener.ts';
import { allProcesses, readStat, userOf, groupHasEnded, killStrays } from './stray-processes.ts';
import {
  DIRECT_DESCRIPTORS,
  encodeMessage,
  LINK_DESCRIPTOR,
  messageReader,
  NO_STRAYS,
  parseStart,
  type Ending,
  type MessageKind,
  type Report,
} from './supervisor-link.ts';

/** Node does not reap the orphans that a PID namespace hands to its first process. Each keeps a pid until that process ends. */
const MAX_ZOMBIES = 64;

const ownNamespace = process.pid === 1;
const isDirect = process.argv[2] === 'direct';
const setup = parseSetup(process.argv[3]);
const ownUser = setup.isolation?.user?.isItsOwn === true ? setup.isolation.user.uid : null;
/** Every process that it may signal is of its program. */
const hasAll = ownNamespace || ownUser !== null;
const { value: cpuSeconds = Infinity } =
  setup.rlimits.find(({ resource }) => resource === 'cpuSeconds') ?? {};
/** Null for programs without a proxy: then the executor has opened no channel. */
const proxyPort = process.connected ? await handOverListener(process) : null;
restrictSupervisor(setup, proxyPort);
const memoryFolders = setup.isolation?.memoryFolders ?? [];
const isMemoryAsNew = watchMemory(memoryFolders);
const executor = new Socket({ fd: LINK_DESCRIPTOR });
let current: ChildProcess | null = null;

/** To every other process of the namespace or the user, in one step; else to the program's group. */
const signalAll = (program: ChildProcess, signal: NodeJS.Signals): void => {
  if (program.pid === undefined) return;
  try {
    process.kill(hasAll ? -1 : -program.pid, signal);
  } catch {
    // No process is left to signal; the end of the program will follow.
  }
};

/** The kernel kills a PID namespace with its first process. */
const abandon = (): never => {
  if (current !== null) signalAll(current, 'SIGKILL');
  process.exit();
};

const send = (kind: MessageKind, content?: Buffer | string): boolean =>
  executor.write(encodeMessage(kind, content));

const start = (text: string): void => {
  const { command, args, env, folder } = parseStart(text);
  const stdio = isDirect ? [...DIRECT_DESCRIPTORS] : 'pipe';
  const program = spawn(command, args, {
    cwd: folder,
    env: proxyPort === null ? env : { ...env, ...proxyEnvironment(proxyPort) },
    detached: true,
    stdio,
  });
  current = program;
  if (isDirect) DIRECT_DESCRIPTORS.forEach((descriptor) => closeSync(descriptor));
  // In a namespace this number means another process to the executor.
  if (!ownNamespace && program.pid !== undefined) send('group', String(program.pid));
  // A program need not read its input.
  program.stdin?.on('error', () => undefined);
  const outputs = [passOn(program.stdout, 'stdout'), passOn(program.stderr, 'stderr')];
  const finish = async (ending: Ending): Promise<void> => {
    await untilAllEnd(program);
    await end({ ...ending, strays: hasAll ? NO_STRAYS : await killStrays(env) }, outputs);
  };
  program.once('error', (error: NodeJS.ErrnoException) => {
    void finish({ kind: 'not_started', code: error.code ?? error.message });
  });
  program.once('exit', (code, signal) => {
    void finish({ kind: 'exited', code, signal, isTemporaryFull: isTemporaryFull(memoryFolders) });
  });
};

/** Resolves when every writer has closed the stream. */
const passOn = async (output: Readable | null, kind: 'stdout' | 'stderr'): Promise<void> => {
  if (output === null) return;
  output.on('error', () => undefined);
  output.on('data', (chunk: Buffer) => {
    if (send(kind, chunk)) return;
    output.pause();
    executor.once('drain', () => output.resume());
  });
  await new Promise((resolve) => output.once('close', resolve));
};

const end = async (report: Report, outputs: readonly Promise<void>[]): Promise<void> => {
  send('ended', JSON.stringify(report));
  await Promise.all(outputs);
  current = null;
  if (!isDirect && isYoung() && (await isAsNew())) send('idle');
  else executor.end(() => process.exit());
};

/**
 * A process that hangs in the kernel (in a GPU driver) dies only when the kernel returns. Until then the slot is not
 * free, so there is no deadline here.
 */
const untilAllEnd = async (program: ChildProcess): Promise<void> => {
  if (program.pid === undefined) return;
  const delays = backoff({ firstMs: 2, longestMs: 500 });
  for (;;) {
    signalAll(program, 'SIGKILL');
    const ended = hasAll ? (await others()).alive === 0 : await groupHasEnded(program.pid);
    if (ended) return;
    await pause(delays.next());
  }
};

/** Of its namespace or its user. */
const others = async (): Promise<{ alive: number; zombies: number }> => {
  const isOne = (pid: number): boolean => pid !== process.pid && (ownNamespace || userOf(pid) === ownUser);
  const pids = (await allProcesses()).filter(isOne);
  const stats = (await Promise.all(pids.map(readStat))).filter((stat) => stat !== null);
  const zombies = stats.filter(({ state }) => state === 'Z' || state === 'X').length;
  return { alive: stats.length - zombies, zombies };
};

/** Any program can leave something in its memory. */
const isAsNew = async (): Promise<boolean> =>
  !ownNamespace || ((await others()).zombies <= MAX_ZOMBIES && isMemoryAsNew());

/** It has the limits of its programs, and must not reach its own during one. */
const isYoung = (): boolean => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000 < cpuSeconds / 2;
};

const receive = messageReader((kind, content) => {
  if (kind === 'start') return start(content.toString());
  if (current === null) return;
  if (kind === 'terminate') signalAll(current, 'SIGTERM');
  if (kind === 'input' && content.length > 0) current.stdin?.write(content);
  if (kind === 'input' && content.length === 0) current.stdin?.end();
});

// These signals are for the programs; this process must outlive them.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => undefined);

// Node makes its threads at the first use, and dies when its program has left no room for them.
stat('/', () => undefined);
executor.on('data', receive);
executor.once('end', abandon);
executor.once('error', abandon);
