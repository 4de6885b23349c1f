import { spawn } from 'node:child_process';
import {
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createConnection, createServer, type NetConnectOpts } from 'node:net';
import { basename, dirname, join, relative, sep } from 'node:path';
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
  /** Of System V's shared memory. */
  readonly key: number;
  /** A file in /dev/shm. */
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
} as const;
const AT_FDCWD = -100;

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
const KEYCTL_SEARCH = 10;
const SHM_RDONLY = 0o10000;
const EFAULT = -14;
const SIGCHLD = 17;
const NEW = { user: 0x1000_0000, mounts: 0x0002_0000 } as const;

const reads = (path: string): boolean => {
  readFileSync(path);
  return true;
};
const opens = (path: string, flags: number): boolean => {
  closeSync(openSync(path, flags));
  return true;
};
const writesFile = (folder: string): boolean => {
  const path = join(folder, `.runledger-probe-${process.pid}`);
  writeFileSync(path, '');
  rmSync(path);
  return true;
};
/** Any of them; each may be refused. */
const any = <Each>(all: readonly Each[], tries: (each: Each) => boolean): boolean =>
  all.some((each) => {
    try {
      return tries(each);
    } catch {
      return false;
    }
  });
const connects = (to: NetConnectOpts): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection(to);
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    void socket.once('close', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });

/** Those of them that it can name: in a PID namespace their numbers are those of other processes, or of none. */
const named = ({ executor, victim }: Target): readonly number[] =>
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
const around = (target: Target): readonly number[] => [...named(target), process.ppid];

const [AF_INET, AF_VSOCK, AF_ALG] = [2, 40, 38];
const [STREAM, DATAGRAM, IPPROTO_MPTCP] = [1, 2, 262];

/** By TCP, by Multipath TCP, and by a message that connects the socket itself. A datagram tells who sends it nothing: the executor looks for it. */
const reachesPort = async (port: number): Promise<boolean> => {
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

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => {
      server.close();
      resolve(true);
    });
  });

/** As `clone` makes one. The child ends at once. */
const makesNamespaces = (flags: number): boolean => {
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

/** By this alone nothing of another program is reached, while none of another organisation runs. */
export const ONE_USER = 'have the user of programs of another organisation';

/** What hostile programs try. Tests run each without protection too, where it succeeds. */
export const ATTACKS: readonly Attack[] = [
  {
    can: ONE_USER,
    tries: ({ victim }) => {
      const { uid, userNamespace } = ownVictim();
      return uid === victim.uid && userNamespace === victim.userNamespace;
    },
  },
  { can: 'read the files of other runs', tries: ({ victimFile }) => reads(victimFile) },
  {
    can: 'find the files of other runs',
    tries: ({ workFolder, victimFile }) => {
      const [place = ''] = relative(workFolder, victimFile).split(sep);
      return any([workFolder, dirname(victimFile)], (path) =>
        readdirSync(path).some((name) => [place, basename(victimFile)].includes(name)),
      );
    },
  },
  {
    can: 'write into the files of other runs',
    tries: ({ victimFile }) => opens(victimFile, constants.O_WRONLY),
  },
  { can: 'read the secrets of the executor', tries: ({ secretFiles }) => any(secretFiles, reads) },
  {
    can: 'read the installation',
    tries: ({ installation }) =>
      any(['package.json', 'services/gateway/package.json'], (file) => reads(join(installation, file))),
  },
  {
    can: 'read the passwords of the machine',
    tries: () => any(['/etc/shadow', '/etc/gshadow', '/etc/sudoers'], reads),
  },
  {
    can: "read settings of the machine that are no program's",
    tries: () => any(['/etc/fstab', '/etc/machine-id', '/etc/crontab', '/etc/ssh/sshd_config'], reads),
  },
  {
    can: 'leave files in folders of the machine',
    // What is its own goes with it: the executor looks afterwards.
    tries: ({ marker }) => {
      any(SHARED_FOLDERS, (folder) => {
        writeFileSync(join(folder, marker), '');
        return false;
      });
      return false;
    },
  },
  {
    can: 'leave processes behind',
    // They have left its group, and nothing of its environment: the executor looks afterwards.
    tries: ({ marker }) => {
      const args = ['-c', 'sleep 60; :', marker];
      spawn('/bin/sh', args, { cwd: '/', env: {}, detached: true, stdio: 'ignore' }).unref();
      return false;
    },
  },
  {
    can: 'write into folders of the machine',
    tries: () =>
      any(
        ['/', '/etc', '/usr', '/usr/local/bin', '/opt', '/home', '/root', '/var', '/run', '/srv'],
        writesFile,
      ),
  },
  {
    can: 'change settings of the kernel',
    tries: () =>
      any(
        [
          '/proc/sys/kernel/printk_ratelimit_burst',
          '/proc/sys/kernel/core_pattern',
          '/proc/sys/vm/overcommit_memory',
          '/proc/sysrq-trigger',
          '/sys/power/state',
          '/sys/kernel/mm/transparent_hugepage/enabled',
        ],
        (path) => opens(path, constants.O_WRONLY),
      ),
  },
  {
    can: 'read the memory of the kernel',
    tries: () =>
      any(['/dev/mem', '/dev/kmem', '/dev/kmsg', '/proc/kcore'], (path) => opens(path, constants.O_RDONLY)),
  },
  {
    can: 'read the memory or the environment of other processes',
    tries: (target) =>
      any(
        around(target).flatMap((pid) => ['mem', 'environ', 'maps'].map((file) => `/proc/${pid}/${file}`)),
        (path) => (path.endsWith('mem') ? opens(path, constants.O_RDONLY) : readFileSync(path).length > 0),
      ),
  },
  {
    can: 'use the open files of other processes',
    tries: (target) =>
      any(
        around(target).flatMap((pid) => ['fd', 'root', 'cwd'].map((name) => `/proc/${pid}/${name}`)),
        (path) => readlinkSync(path.endsWith('fd') ? join(path, readdirSync(path)[0] ?? '') : path) !== '',
      ),
  },
  {
    can: 'trace or read processes by system calls',
    tries: (target) => {
      const [PTRACE_SEIZE, BYTES] = [0x4206, 8];
      const pair = Buffer.alloc(16);
      pair.writeBigUInt64LE(BigInt(BYTES), 8);
      return around(target).some(
        (pid) =>
          call('ptrace', PTRACE_SEIZE, pid, 0, 0) >= 0 ||
          call('process_vm_readv', pid, pair, 1, pair, 1, 0) === EFAULT,
      );
    },
  },
  {
    can: 'signal other processes',
    tries: (target) => any(named(target), (pid) => process.kill(pid, 0)),
  },
  {
    can: 'change limits, processors and priorities of other processes',
    tries: (target) => {
      const limit = Buffer.alloc(16);
      const mask = Buffer.alloc(128, 0xff);
      return named(target).some(
        (pid) =>
          call('prlimit64', pid, 7, null, limit) >= 0 ||
          call('sched_setaffinity', pid, mask.length, mask) >= 0 ||
          call('setpriority', 0, pid, 19) >= 0 ||
          call('ioprio_set', 1, pid, 2 << 13) >= 0,
      );
    },
  },
  {
    can: 'change attributes of files outside of its run',
    tries: ({ outsideFile }) => {
      const value = Buffer.from('x');
      return (
        call('chmod', AT_FDCWD, outsideFile, 0o600) >= 0 ||
        call('utimensat', AT_FDCWD, outsideFile, null, 0) >= 0 ||
        call('setxattr', outsideFile, 'user.runledger', value, 1, 0) >= 0 ||
        call('chown', AT_FDCWD, outsideFile, process.getuid?.() ?? 0, process.getgid?.() ?? 0, 0) >= 0
      );
    },
  },
  {
    can: 'connect to sockets of others by their path',
    tries: ({ outsideSocket }) => connects({ path: outsideSocket }),
  },
  {
    can: 'connect to sockets of others by their name',
    tries: ({ shared }) => connects({ path: `\0${shared.socket}` }),
  },
  {
    can: 'read System V shared memory of other runs',
    tries: ({ shared }) => {
      const id = call('shmget', shared.key, 0, 0);
      return id >= 0 && call('shmat', id, 0, SHM_RDONLY) >= 0;
    },
  },
  {
    can: 'find the shared memory of other runs in /dev/shm',
    tries: ({ shared }) => any([shared.memory], (name) => readdirSync('/dev/shm').includes(name)),
  },
  {
    can: 'read keys that other runs keep in the kernel',
    tries: ({ shared }) =>
      Object.values(KEYRINGS).some(
        (keyring) => call('keyctl', KEYCTL_SEARCH, keyring, 'user', shared.keyName, 0) >= 0,
      ),
  },
  {
    can: 'keep keys in the kernel',
    tries: ({ shared }) =>
      call('add_key', 'user', `${shared.keyName}-attack`, Buffer.from('x'), 1, KEYRINGS.session) >= 0,
  },
  { can: 'reach services of the machine on its loopback', tries: ({ port }) => reachesPort(port) },
  {
    can: 'listen on ports of the machine',
    // The port of the service is taken there, and nowhere else.
    tries: async ({ port }) => (await listens(0)) && !(await listens(port)),
  },
  {
    can: 'use sockets of the hypervisor or of the kernel',
    tries: () => call('socket', AF_VSOCK, 1, 0) >= 0 || call('socket', AF_ALG, 5, 0) >= 0,
  },
  { can: 'make user namespaces', tries: () => makesNamespaces(NEW.user) },
  {
    can: 'mount, or make mount namespaces',
    tries: () =>
      makesNamespaces(NEW.user | NEW.mounts) ||
      makesNamespaces(NEW.mounts) ||
      call('mount', 'none', '/tmp', 'tmpfs', 0, null) >= 0,
  },
  { can: 'use io_uring', tries: () => call('io_uring_setup', 1, Buffer.alloc(120)) >= 0 },
  {
    can: 'use bpf',
    tries: () =>
      call(
        'bpf',
        0,
        Buffer.from([1, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, ...Array<number>(112).fill(0)]),
        128,
      ) >= 0,
  },
  {
    can: 'use userfaultfd or perf events',
    tries: () => call('userfaultfd', 0) >= 0 || call('perf_event_open', Buffer.alloc(128), 0, -1, -1, 0) >= 0,
  },
  {
    can: 'get capabilities or new privileges',
    tries: () => {
      const status = readFileSync('/proc/self/status', 'utf8');
      return /^Cap(?:Prm|Eff|Inh|Amb):\s*0*[1-9a-f]/m.test(status) || /^NoNewPrivs:\s*0/m.test(status);
    },
  },
];
