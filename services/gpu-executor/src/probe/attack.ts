import {
  closeSync,
  openSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
  constants,
  existsSync,
} from 'node:fs';
import { createConnection, createServer, type NetConnectOpts } from 'node:net';
import { join } from 'node:path';
import koffi from 'koffi';

/** What an attacker knows of the machine, of the executor, and of a run of another organisation. */
export interface Target {
  readonly executor: ProcessId;
  readonly victim: ProcessId & Victim;
  /** In the folder of the victim. */
  readonly victimFile: string;
  /** Files of the executor that hold secrets or that nobody else need see. */
  readonly secretFiles: readonly string[];
  /** A file of the executor's user, and a socket with a path, outside of every view. */
  readonly outsideFile: string;
  readonly outsideSocket: string;
  /** A terminal that the executor has opened; null where there are none. */
  readonly terminal: string | null;
  /** Where a service of the machine listens on 127.0.0.1. */
  readonly port: number;
  readonly workFolder: string;
  readonly installation: string;
  /** Names of what the victim shares between its own processes. */
  readonly shared: Shared;
  /** Files with this name that stay in folders of the machine, and processes with it in their command line, are a breach. */
  readonly marker: string;
}

/** As the executor sees it, and everybody in its PID namespace. */
export interface ProcessId {
  readonly pid: number;
  /** Clock ticks since the machine's start, as in /proc. */
  readonly started: string;
}

/** What the victim says of itself. */
export interface Victim {
  readonly uid: number;
  readonly userNamespace: string;
}

/** Each is made by the victim, as far as it can. */
export interface Shared {
  /** Of System V's shared memory, and of a message queue and semaphores like it. */
  readonly key: number;
  /** A file in /dev/shm, and a POSIX message queue. */
  readonly memory: string;
  /** A key in its keyrings. */
  readonly keyName: string;
  /** A socket without a file, without the zero byte before it. */
  readonly socket: string;
}

export interface Attack {
  /** What it reaches, as the end of a sentence that begins with "A program can". */
  readonly can: string;
  /** True when it reached it. What throws did not. */
  readonly tries: (target: Target) => boolean | Promise<boolean>;
}

/** What the files of the probe have in them. */
export const SECRET = 'a secret of the probe';

const X64 = process.arch === 'x64';
/** Numbers of system calls, of Linux. From 424 on they are the same everywhere. */
const CALLS = {
  shmget: X64 ? 29 : 194,
  shmat: X64 ? 30 : 196,
  mount: X64 ? 165 : 40,
  ptrace: X64 ? 101 : 117,
  prlimit64: X64 ? 302 : 261,
  sched_setaffinity: X64 ? 203 : 122,
  setpriority: X64 ? 141 : 140,
  ioprio_set: X64 ? 251 : 30,
  add_key: X64 ? 248 : 217,
  keyctl: X64 ? 250 : 219,
  perf_event_open: X64 ? 298 : 241,
  process_vm_readv: X64 ? 310 : 270,
  bpf: X64 ? 321 : 280,
  userfaultfd: X64 ? 323 : 282,
  chmod: X64 ? 268 : 53,
  chown: X64 ? 260 : 54,
  utimensat: X64 ? 280 : 88,
  setxattr: X64 ? 188 : 5,
  socket: X64 ? 41 : 198,
  connect: X64 ? 42 : 203,
  sendto: X64 ? 44 : 206,
  clone: X64 ? 56 : 220,
  exit_group: X64 ? 231 : 94,
  shmctl: X64 ? 31 : 195,
  io_uring_setup: 425,
  ioctl: X64 ? 16 : 29,
  socketpair: X64 ? 53 : 199,
  msgget: X64 ? 68 : 186,
  msgctl: X64 ? 71 : 187,
  semget: X64 ? 64 : 190,
  semctl: X64 ? 66 : 191,
  mq_open: X64 ? 240 : 180,
  mq_unlink: X64 ? 241 : 181,
  get_robust_list: X64 ? 274 : 100,
  fanotify_init: X64 ? 300 : 262,
  fanotify_mark: X64 ? 301 : 263,
  name_to_handle_at: X64 ? 303 : 264,
  open_by_handle_at: X64 ? 304 : 265,
  pidfd_send_signal: 424,
  pidfd_open: 434,
  pidfd_getfd: 438,
} as const;
export const AT_FDCWD = -100;

type Argument = number | bigint | Buffer | string | null;

/** The result of a system call; a negative one is the number of an error. */
export const call = (name: keyof typeof CALLS, ...given: readonly Argument[]): number => {
  const libc = koffi.load(null);
  const types = given.map((each) =>
    typeof each === 'string' ? 'const char *' : typeof each === 'object' ? 'void *' : 'int64_t',
  );
  const syscall = libc.func('syscall', 'long', ['long', ...types]);
  const result = Number(syscall(CALLS[name], ...given));
  return result < 0 ? -koffi.errno() : result;
};

export const KEYRINGS = { session: -3, user: -4 } as const;
export const KEYCTL_SEARCH = 10;
export const SHM_RDONLY = 0o10000;
export const EFAULT = -14;
const SIGCHLD = 17;
export const NEW = { user: 0x1000_0000, mounts: 0x0002_0000 } as const;

export const reads = (path: string): boolean => {
  readFileSync(path);
  return true;
};
export const opens = (path: string, flags: number): boolean => {
  closeSync(openSync(path, flags));
  return true;
};
export const writesFile = (folder: string): boolean => {
  const path = join(folder, `.runledger-probe-${process.pid}`);
  writeFileSync(path, '');
  rmSync(path);
  return true;
};
/** Any of them; each may be refused. */
export const any = <Each>(all: readonly Each[], tries: (each: Each) => boolean): boolean =>
  all.some((each) => {
    try {
      return tries(each);
    } catch {
      return false;
    }
  });
export const connects = (to: NetConnectOpts): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection(to);
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    void socket.once('close', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });

/** Those of them that it can name: in a PID namespace their numbers are those of other processes, or of none. */
export const named = ({ executor, victim }: Target): readonly number[] =>
  [executor, victim].filter(({ pid, started }) => startOf(pid) === started).map(({ pid }) => pid);

const startOf = (pid: number): string | undefined => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
};

/** Those, and who started it. */
export const around = (target: Target): readonly number[] => [...named(target), process.ppid];

const AF_INET = 2;
export const [AF_VSOCK, AF_ALG] = [40, 38];
const [STREAM, DATAGRAM, IPPROTO_MPTCP] = [1, 2, 262];

/** By TCP, by Multipath TCP, and by a message that connects the socket itself. A datagram tells who sends it nothing: the executor looks for it. */
export const reachesPort = async (port: number): Promise<boolean> => {
  const address = Buffer.from([AF_INET, 0, port >> 8, port & 0xff, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  const socket = (type: number, protocol: number): number => call('socket', AF_INET, type, protocol);
  const send = (descriptor: number, flags: number): number =>
    call('sendto', descriptor, Buffer.from('x'), 1, flags, address, address.length);
  const udp = socket(DATAGRAM, 0);
  if (udp >= 0) send(udp, 0);
  const multipath = socket(STREAM, IPPROTO_MPTCP);
  const fast = socket(STREAM, 0);
  return (
    (await connects({ port, host: '127.0.0.1' })) ||
    (multipath >= 0 && call('connect', multipath, address, address.length) >= 0) ||
    (fast >= 0 && send(fast, MSG_FASTOPEN) >= 0)
  );
};

const MSG_FASTOPEN = 0x2000_0000;

export const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => {
      server.close();
      resolve(true);
    });
  });

/** As `clone` makes one. The child ends at once. */
export const makesNamespaces = (flags: number): boolean => {
  const child = call('clone', flags | SIGCHLD, 0, 0, 0, 0);
  if (child === 0) call('exit_group', 0);
  return child > 0;
};

export const ownVictim = (): Victim => ({
  uid: process.getuid?.() ?? 0,
  userNamespace: readlinkSync('/proc/self/ns/user'),
});

/** Everybody may write there. */
export const SHARED_FOLDERS = ['/tmp', '/var/tmp', '/dev/shm'] as const;

const PAIRS = '/dev/ptmx';
const [UNLOCK, NUMBER] = [0x4004_5431, 0x8004_5430];

/** A terminal of the user of this process, as that of somebody who is signed in. Null where there are none. */
export const openTerminal = (): { readonly path: string; readonly close: () => void } | null => {
  if (!existsSync(PAIRS)) return null;
  try {
    const other = openSync(PAIRS, constants.O_RDWR | constants.O_NOCTTY);
    const number = Buffer.alloc(4);
    if (call('ioctl', other, UNLOCK, Buffer.alloc(4)) < 0 || call('ioctl', other, NUMBER, number) < 0) {
      closeSync(other);
      return null;
    }
    return { path: `/dev/pts/${number.readUInt32LE()}`, close: () => closeSync(other) };
  } catch {
    return null;
  }
};
