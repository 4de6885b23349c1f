import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Server } from 'node:net';
import { Duplex } from 'node:stream';
import { sleep } from '@runledger/resilience/abort';
import { backoff } from '@runledger/resilience/backoff';
import { within } from '@runledger/resilience/within';
import { messageOf } from '@runledger/resilience/errors';
import { bubblewrapOptions, type BubblewrapMade } from '../isolation/bubblewrap.ts';
import type { Cgroup } from './cgroups.ts';
import { isInNamespace, type Isolation, type View } from '../isolation/isolation.ts';
import { nameFiles } from '../isolation/mounts.ts';
import type { SupervisorSetup } from '../isolation/restrict-supervisor.ts';
import type { User } from '../isolation/users.ts';
import { supervisorFile } from '../isolation/supervisor-code.ts';
import { namedUser, supervisorSetup } from '../isolation/supervisor-setup.ts';
import type { Rlimits } from '../isolation/system-calls.ts';
import type { ProgramConnections } from '../network/outgoing-proxy.ts';
import {
  directStreams,
  relayedStreams,
  type ProcessStreams,
  linkedProcess,
  type LinkedProcess,
  type SupervisedProcess,
} from './supervised-process.ts';
import { groupHasEnded, killAllOf, killStrays, type KilledProcesses } from './stray-processes.ts';
import {
  DIRECT_DESCRIPTORS,
  encodeMessage,
  LINK_DESCRIPTOR,
  messageReader,
  NO_STRAYS,
  parseReport,
  type MessageKind,
  type Start,
  type StreamsKind,
} from './supervisor-link.ts';

export interface SupervisorSettings {
  readonly isolation: Isolation;
  /** Whom it becomes; null for the user of the executor. */
  readonly user: User | null;
  readonly rlimits: Rlimits;
  /** Of each temporary folder in memory. */
  readonly temporaryBytes: number;
  /** Its own; it is removed with it. */
  readonly cgroup: Cgroup | null;
  /** Of its programs. */
  readonly view: View;
  /** Theirs to write in. */
  readonly folder: string;
  /** With the mark of this executor. */
  readonly env: Readonly<Record<string, string>>;
  /** The way out for its programs; null when they have none, or need none. */
  readonly connections: ProgramConnections | null;
  /** Of what it starts. */
  readonly streams: StreamsKind;
}

/** One supervisor, from its start to its end. It has one program at a time, and with `direct` streams no other one. */
export interface Supervisor {
  start(start: Start): SupervisedProcess;
  /** Ends it, and with it what it started. */
  close(): void;
}

/** SIGUSR1 from a program must not open a debugger in its supervisor. */
const NODE_OPTIONS = ['--disable-sigusr1', '--no-warnings'];
/** How long the supervisor may take to kill what it started before the executor kills it. */
const SUPERVISOR_WITHIN_MS = 2_000;
const MAX_COMPLAINT = 500;

export const openSupervisor = (
  settings: SupervisorSettings,
  on: { readonly idle: (supervisor: Supervisor) => void; readonly closed: (supervisor: Supervisor) => void },
): Supervisor => {
  const child = spawnSupervisor(settings);
  const link = pipeOf(child, LINK_DESCRIPTOR);
  // The end of the process says more than the errors of its broken pipes.
  child.on('error', () => undefined);
  let current: LinkedProcess | null = null;
  let env: Start['env'] = {};

  const receive = messageReader((kind, content) => {
    if (kind === 'idle') {
      current?.release();
      current = null;
      // The last program may have left it paused.
      link.resume();
      return on.idle(supervisor);
    }
    if (current !== null) pass(kind, content, current);
  });
  link.on('data', orKill(receive, child));

  const close = (): void => {
    link.resume();
    link.end();
    const overrule = setTimeout(() => {
      killGroup(current?.group);
      killGroup(child.pid);
    }, SUPERVISOR_WITHIN_MS);
    child.once('exit', () => clearTimeout(overrule));
  };
  const supervisor: Supervisor = {
    start: (start) => {
      current = linkedProcess(
        {
          send: (kind, content) => void (link.writable && link.write(encodeMessage(kind, content))),
          flow: (open) => void (open ? link.resume() : link.pause()),
          kill: close,
        },
        settings.streams === 'direct' ? () => streamsOf(child) : relayedStreams,
      );
      env = start.env;
      connectWhileItRuns(current, settings.connections);
      link.write(encodeMessage('start', JSON.stringify(start)));
      return current;
    },
    close,
  };
  for (const end of ['exit', 'error'] as const) child.once(end, () => on.closed(supervisor));
  void untilClosed(child, link).then(async (why) => {
    if (current === null) return;
    // It kills what it started as its last action. If it was killed before, that is still there.
    await killWhatIsLeft([child.pid, current.group]);
    const strays = await strayProcesses(settings, env);
    current.end({ kind: 'unreported', why, strays });
    current.release();
  });
  return supervisor;
};

/** What sends something else is no supervisor. */
const orKill =
  (receive: (chunk: Buffer) => void, child: ChildProcess) =>
  (chunk: Buffer): void => {
    try {
      receive(chunk);
    } catch {
      killGroup(child.pid);
    }
  };

/** It has its connections to the outside no longer. */
const connectWhileItRuns = ({ ended }: LinkedProcess, connections: ProgramConnections | null): void => {
  connections?.begin();
  void ended.then(() => connections?.end());
};

const pass = (kind: MessageKind, content: Buffer, process: LinkedProcess): void => {
  if (kind === 'stdout' || kind === 'stderr') return process.output(kind, content);
  if (kind === 'group') process.group = Number(content.toString());
  if (kind !== 'ended') return;
  const report = parseReport(content.toString());
  if (report === null) throw new Error('The report of the supervisor is invalid.');
  process.group = null;
  process.end(report);
};

const spawnSupervisor = ({
  isolation,
  user,
  rlimits,
  temporaryBytes,
  cgroup,
  view,
  folder,
  env,
  connections,
  streams,
}: SupervisorSettings): ChildProcess => {
  const setup: SupervisorSetup = { isolation: supervisorSetup(isolation, view, folder, user), rlimits };
  const node = [process.execPath, ...NODE_OPTIONS, supervisorFile(), streams, JSON.stringify(setup)];
  const pipes = streams === 'direct' ? [LINK_DESCRIPTOR, ...DIRECT_DESCRIPTORS] : [LINK_DESCRIPTOR];
  const channel = connections === null ? [] : ['ipc' as const];
  const names = namesFor(isolation, user, folder);
  const firstOfNames = STANDARD_STREAMS + pipes.length + channel.length;
  const written = new Map([...names.keys()].map((file, index) => [file, firstOfNames + index]));
  const [command = '', ...args] = [
    ...(cgroup?.enter ?? []),
    ...inNamespaces(isolation, view, folder, { temporaryBytes, written }),
    ...node,
  ];
  const child = spawn(command, args, {
    cwd: '/',
    env,
    // Its own session and process group, led by the supervisor (or by what made its namespaces).
    detached: true,
    stdio: [
      ...(['ignore', 'ignore', 'pipe'] as const),
      ...pipes.map(() => 'pipe' as const),
      ...channel,
      ...[...names].map(() => 'pipe' as const),
    ],
  });
  for (const [file, descriptor] of written) pipeOf(child, descriptor).end(names.get(file));
  child.once('message', (_name, listener) => {
    if (listener instanceof Server) connections?.serve(listener);
    if (child.connected) child.disconnect();
  });
  for (const end of ['exit', 'error'] as const)
    child.once(end, () => {
      connections?.close();
      void cgroup?.close();
    });
  return child;
};

const STANDARD_STREAMS = 3;

/** The files that bubblewrap makes of what it is sent. Elsewhere the supervisor makes them. */
const namesFor = (isolation: Isolation, user: User | null, folder: string): ReadonlyMap<string, string> => {
  const named = isolation.kind === 'bubblewrap' ? namedUser(user, folder) : null;
  return named === null ? new Map() : nameFiles(named);
};

/** The command that makes them, up to what runs in them. */
const inNamespaces = (
  isolation: Isolation,
  view: View,
  folder: string,
  made: BubblewrapMade,
): readonly string[] => {
  if (isolation.kind === 'bubblewrap')
    return [isolation.command, ...bubblewrapOptions(isolation, view, folder, made)];
  const { containment } = isolation;
  return containment.kind === 'namespace' ? [containment.command, ...containment.args] : [];
};

const pipeOf = (child: ChildProcess, descriptor: number): Duplex => {
  const pipe = child.stdio.at(descriptor);
  if (!(pipe instanceof Duplex)) throw new Error('spawn opened no pipe to the supervisor');
  pipe.on('error', () => undefined);
  return pipe;
};

const streamsOf = (child: ChildProcess): ProcessStreams => {
  const [stdin, stdout, stderr] = DIRECT_DESCRIPTORS;
  return directStreams(pipeOf(child, stdin), pipeOf(child, stdout), pipeOf(child, stderr));
};

/** Resolves when the process has ended and everything that it sent is received: how it ended, in words. */
const untilClosed = async (child: ChildProcess, link: Duplex): Promise<string> => {
  const linkClosed = once(link, 'close').catch(() => undefined);
  let complaint = '';
  child.stderr?.on(
    'data',
    (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-MAX_COMPLAINT)),
  );
  try {
    await once(child, 'exit');
  } catch (error) {
    return `its supervisor could not be started: ${messageOf(error)}`;
  }
  await within(SUPERVISOR_WITHIN_MS, linkClosed, () => undefined);
  link.destroy();
  const said = complaint.trim() === '' ? '' : `: ${complaint.trim().replaceAll(/\s+/g, ' ')}`;
  return `its supervisor ended with ${child.signalCode ?? `exit code ${child.exitCode}`}${said}`;
};

/**
 * Its own group ends after everything in its namespace. A process that hangs in the kernel ends only when the kernel
 * returns, so there is no deadline here.
 */
const killWhatIsLeft = async (groups: readonly (number | null | undefined)[]): Promise<void> => {
  for (const group of groups.filter(isGroup)) {
    const delays = backoff({ firstMs: 2, longestMs: 500 });
    killGroup(group);
    while (!(await groupHasEnded(group))) await sleep(delays.next());
  }
};

/** Of a supervisor that has ended. */
const strayProcesses = (
  { isolation, user }: SupervisorSettings,
  env: Start['env'],
): Promise<KilledProcesses> => {
  if (isInNamespace(isolation)) return Promise.resolve(NO_STRAYS);
  return user !== null && isolation.users.kind === 'each' ? killAllOf(user.uid) : killStrays(env);
};

const isGroup = (group: number | null | undefined): group is number => typeof group === 'number' && group > 1;

const killGroup = (group: number | null | undefined): void => {
  if (!isGroup(group)) return;
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // No process of the group is left.
  }
};
