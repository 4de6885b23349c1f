import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createSocket } from 'node:dgram';
import { createServer, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { IsolationLevel } from '@runledger/contracts/events/fleet-event';
import { newUuid } from '@runledger/contracts/ids';
import { sleep } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import { ConfigError } from '@runledger/service-kit/config';
import { programFile } from '@runledger/service-kit/program-file';
import { messageOf } from '@runledger/resilience/errors';
import { describeIsolation, type View } from '../isolation/isolation.ts';
import { INSTALLATION, packagesOf } from '../isolation/supervisor-code.ts';
import { processEnvironment } from '../supervision/process-environment.ts';
import { allProcesses, readMarkedEnvironment, readStat } from '../supervision/stray-processes.ts';
import type { SupervisedProcess } from '../supervision/supervised-process.ts';
import { openSupervisors, type SupervisorsSettings } from '../supervision/supervisors.ts';
import {
  SECRET,
  SHARED_FOLDERS,
  type ProcessId,
  type Shared,
  type Target,
  type Victim,
  openTerminal,
} from './attack.ts';
import { ONE_USER } from './attacks.ts';

export interface Probed {
  readonly supervisors: SupervisorsSettings;
  /** Files that no program may see. */
  readonly secretFiles: readonly string[];
}

const SOURCE = fileURLToPath(new URL('probe-program.ts', import.meta.url));
const TRIES_WITHIN_MS = 30_000;
const ENDS_WITHIN_MS = 5_000;
const GOES_WITHIN_MS = 1_000;

/** What the isolation is worth. */
export interface Tried {
  readonly isolation: IsolationLevel;
  /** What a program can do all the same, each as the end of a sentence that begins with "A program can". */
  readonly isolation_gaps: readonly string[];
}

/** What was found, and what the executor has to do about it. */
export interface Found {
  readonly tried: Tried;
  /** Programs of all organisations have one user, so those of two must never run at once. That is no gap then. */
  readonly takesTurns: boolean;
}

/** @throws {ConfigError} when isolation is required, and a program can do something of it */
export const tryIsolation = async (probed: Probed, setting: 'auto' | 'required' | 'off'): Promise<Found> => {
  if (setting === 'off') return { tried: { isolation: 'none', isolation_gaps: [] }, takesTurns: false };
  const reached = await probeIsolation(probed);
  const takesTurns = reached.includes(ONE_USER) || (reached.includes(UNTRIED) && mayHaveOneUser(probed));
  const gaps = reached.filter((can) => can !== ONE_USER);
  if (gaps.length === 0) return { tried: { isolation: 'strong', isolation_gaps: [] }, takesTurns };
  if (setting === 'auto') return { tried: { isolation: 'weak', isolation_gaps: gaps }, takesTurns };
  throw new ConfigError([
    {
      variable: 'EXECUTOR_ISOLATION',
      wrong: `= "required" cannot be met on this machine, where a program can ${gaps.join('; ')} (${describeIsolation(probed.supervisors.isolation)})`,
      right:
        'auto, unless you install bubblewrap and libseccomp2 (apt-get install bubblewrap libseccomp2) and let the executor make namespaces, or start it as root, so that each program has a user of its own, on Linux 6.12 or later',
    },
  ]);
};

/** As long as nothing was tried. */
const mayHaveOneUser = ({ supervisors: { isolation } }: Probed): boolean => isolation.users.kind !== 'each';

/**
 * What a program can do to the machine and to runs of others, each as the end of a sentence that begins with "A program can"; empty where it holds.
 * A victim and a hostile program of another organisation run in exactly the form that runs will have, and the second one tries it all.
 */
const probeIsolation = async ({ supervisors: settings, secretFiles }: Probed): Promise<readonly string[]> => {
  await using open = new AsyncDisposableStack();
  const outside = mkdtempSync(join(settings.workFolder, 'probe-'));
  open.defer(() => rmSync(outside, { recursive: true, force: true }));
  chmodSync(outside, 0o711);
  const [outsideFile, outsideSocket] = [join(outside, 'file'), join(outside, 'socket')];
  writeFileSync(outsideFile, SECRET, { mode: 0o644 });
  const listener = createServer((socket) => socket.destroy()).listen(outsideSocket);
  open.defer(() => void listener.close());
  await once(listener, 'listening');
  chmodSync(outsideSocket, 0o666);
  const machine = await openServices();
  open.defer(() => machine.close());
  const terminal = openTerminal();
  open.defer(() => terminal?.close());

  const marker = `runledger-probe-${newUuid()}`;
  const shared: Shared = {
    key: randomInt(1, 2 ** 31),
    memory: `${marker}-memory`,
    keyName: `${marker}-key`,
    socket: `${marker}-socket`,
  };
  const reached = await between(settings, async (start) => {
    const victim = start('victim', shared);
    const said = JSON.parse(await firstLine(victim.process)) as Victim;
    const victimPid = await pidOf(victim.run_id, said.uid);
    const target: Target = {
      executor: await idOf(process.pid),
      victim: { ...said, ...(await idOf(victimPid)) },
      victimFile: victim.file,
      secretFiles: [outsideFile, ...secretFiles],
      outsideFile,
      outsideSocket,
      port: machine.port,
      terminal: terminal?.path ?? null,
      workFolder: settings.workFolder,
      installation: INSTALLATION,
      shared,
      marker,
    };
    // Of this process, whatever it seems to be in its own namespace.
    const isRoot = /^Uid:\s*0\s/m.test(readFileSync(`/proc/${victimPid}/status`, 'utf8'));
    const attacker = start('attacker', target);
    const tried = JSON.parse(await firstLine(attacker.process)) as string[];
    const isLeft = keysOfMemory().includes(shared.key) ? ['leave System V shared memory behind'] : [];
    const isSent = machine.gotDatagram() ? ['send datagrams to services of the machine'] : [];
    await attacker.leave();
    const isAlive = await endMarked(marker);
    victim.process.stdin.end();
    await victim.leave();
    const isBehind = isAlive ? ['leave processes behind'] : [];
    return [...(isRoot ? ['be root'] : []), ...tried, ...isSent, ...isLeft, ...isBehind];
  });
  const left = SHARED_FOLDERS.map((folder) => join(folder, marker));
  await gone(left);
  const isLeft = left.some(existsSync) ? ['leave files in folders of the machine'] : [];
  for (const path of left) rmSync(path, { force: true });
  return [...reached, ...isLeft];
};

/** What listens on the loopback of the machine, by TCP and UDP on one port. */
const openServices = async (): Promise<{ port: number; gotDatagram: () => boolean; close: () => void }> => {
  const tcp = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  const { port } = tcp.address() as AddressInfo;
  let isReached = false;
  const udp = createSocket('udp4', () => void (isReached = true)).on('error', () => undefined);
  udp.bind(port, '127.0.0.1');
  return {
    port,
    gotDatagram: () => isReached,
    close: () => {
      tcp.close();
      udp.close();
    },
  };
};

const UNTRIED = 'do what could not be tried; the log of the executor says why';

interface StartedProbe {
  readonly process: SupervisedProcess;
  readonly run_id: string;
  /** In its folder. */
  readonly file: string;
  leave(): Promise<void>;
}

/** With supervisors of its own. What cannot be tried counts as reached. */
const between = async (
  settings: SupervisorsSettings,
  tries: (start: (role: string, argument: object) => StartedProbe) => Promise<string[]>,
): Promise<string[]> => {
  using supervisors = openSupervisors(settings);
  const all: SupervisedProcess[] = [];
  try {
    return await tries((role, argument) => {
      const sandbox = supervisors.sandboxForRun(newUuid(), VIEW, null);
      const run_id = newUuid();
      const [temporary, file] = [sandbox.makeTemporary(), join(sandbox.folder, 'of-the-probe')];
      const env = {
        ...processEnvironment({
          host: { PATH: settings.path },
          env: {},
          device: '',
          temporary,
          cache: null,
          mark: settings.mark,
        }),
        RUNLEDGER_RUN_ID: run_id,
      };
      const args = ['--no-warnings', programFile(SOURCE), role, JSON.stringify(argument), file];
      const started = sandbox.start({ command: process.execPath, args, env, folder: temporary });
      all.push(started);
      return {
        process: started,
        run_id,
        file,
        leave: async () => {
          await within(ENDS_WITHIN_MS, started.ended, () => started.kill());
          await started.ended;
          await sandbox.leave();
        },
      };
    });
  } catch (error) {
    for (const each of all) each.kill();
    const why = messageOf(error);
    settings.log.warn({ why }, 'the isolation of programs could not be tried');
    return [UNTRIED];
  }
};

const VIEW: View = {
  readable: [
    process.execPath,
    ...(programFile(SOURCE) === SOURCE
      ? [dirname(SOURCE), join(dirname(SOURCE), '../../package.json')]
      : [programFile(SOURCE)]),
    ...packagesOf('koffi'),
  ],
  writable: [],
  scratch: [],
  network: 'outgoing',
  cards: false,
  resources: {},
};

/** @throws when it ends without one, with what it said instead */
const firstLine = async ({ stdout, stderr, ended }: SupervisedProcess): Promise<string> => {
  const complaint = text(stderr).catch(() => '');
  const line = new Promise<string>((resolve, reject) => {
    let said = '';
    stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('\n')) resolve(said.slice(0, said.indexOf('\n')));
    });
    void ended.then(async (end) =>
      reject(new Error(`the probe ended (${JSON.stringify(end)}): ${(await complaint).trim().slice(-300)}`)),
    );
  });
  return within(TRIES_WITHIN_MS, line, () => {
    throw new Error(`the probe took more than ${TRIES_WITHIN_MS / 1_000} s`);
  });
};

const idOf = async (pid: number): Promise<ProcessId> => ({
  pid,
  started: (await readStat(pid))?.started ?? '',
});

/** The environment of another user's process takes a right that the executor need not have, but nobody else has such a user. */
const pidOf = async (run_id: string, uid: number): Promise<number> => {
  const isVictim = (pid: number): boolean =>
    readMarkedEnvironment(pid)?.get('RUNLEDGER_RUN_ID') === run_id ||
    (uid !== process.geteuid?.() && statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === uid);
  const found = (await allProcesses()).find(isVictim);
  if (found === undefined) throw new Error('the process of the victim was not found');
  return found;
};

/** Ends what an attack has left, with its group. True when there was something. */
const endMarked = async (marker: string): Promise<boolean> => {
  const left = (await allProcesses()).filter((pid) => commandOf(pid).split('\0').includes(marker));
  for (const pid of left) {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has ended, or its group has another number.
    }
  }
  return left.length > 0;
};

const commandOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
};

const keysOfMemory = (): readonly number[] =>
  existsSync('/proc/sysvipc/shm')
    ? readFileSync('/proc/sysvipc/shm', 'utf8')
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => Number(line.trim().split(/\s+/)[0]))
    : [];

const gone = async (paths: readonly string[]): Promise<void> => {
  const deadline = performance.now() + GOES_WITHIN_MS;
  while (paths.some(existsSync) && performance.now() < deadline) await sleep(20);
};
