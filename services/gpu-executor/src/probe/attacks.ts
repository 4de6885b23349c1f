import { spawn } from 'node:child_process';
import { constants, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import {
  AF_ALG,
  AF_VSOCK,
  any,
  around,
  AT_FDCWD,
  call,
  connects,
  EFAULT,
  KEYCTL_SEARCH,
  KEYRINGS,
  listens,
  makesNamespaces,
  named,
  NEW,
  opens,
  ownVictim,
  reachesPort,
  reads,
  SHARED_FOLDERS,
  SHM_RDONLY,
  writesFile,
  type Attack,
} from './attack.ts';
import { ATTACKS_BY_CALLS } from './attacks-by-calls.ts';

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
  ...ATTACKS_BY_CALLS,
];
