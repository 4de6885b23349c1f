import koffi from 'koffi';
import profile from './seccomp-profile.json' with { type: 'json' };

/**
 * What a program could otherwise do to others, because its namespaces and its user do not keep it from that. The kernel shows a filter only
 * the numbers of a call: no path, and not whose process it is.
 */
export interface Exposed {
  /** It sees paths of others: it gets no sockets with a path, only pairs. */
  readonly paths: boolean;
  /** It has the user of the executor, and sees its files: it changes no owner, mode, times or attributes by path, only of files that it has open. */
  readonly attributes: boolean;
  /** It sees processes, and memory and queues with keys, of others: it changes priorities and limits of the calling process or thread only, and shares nothing by keys. */
  readonly processes: boolean;
  /** It shares the network of the machine, of which it is to have nothing but its proxy. Landlock asks only TCP: what is not that, or gets around it, is refused, and it listens on no port. */
  readonly network: boolean;
}

/** Allows a call whose argument at this index compares like this; without arguments always. Of libseccomp, seccomp.h. */
interface Condition {
  readonly index: number;
  readonly op: string;
  readonly value: number;
  readonly valueTwo?: number;
}

const LIBRARY = 'libseccomp.so.2';
const [ALLOW, ERRNO] = [0x7fff0000, 0x00050000];
const [EPERM, EACCES, ENOSYS] = [1, 13, 38];
const OPERATORS = ['', 'NE', 'LT', 'LE', 'EQ', 'GE', 'GT', 'MASKED_EQ'].map((name) => `SCMP_CMP_${name}`);
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
/** What the container engines allow from a version of Linux on: to look into the memory of processes of the same user. */
const INTO_PROCESSES = ['ptrace', 'process_vm_readv', 'process_vm_writev'];

/** The type of a socket, without flags, and what its protocol may be: the only one for the type, or TCP, but not Multipath TCP. */
const [TYPE, STREAM, SEQUENCED, TCP] = [0xf, 1, 5, [0, 6]];
/** A message that connects a socket by itself, which Landlock does not ask. Where each call has its flags. */
const MSG_FASTOPEN = 0x2000_0000;
const FLAGS_OF_SENDING = { sendto: 3, sendmsg: 2, sendmmsg: 3 } as const;
const [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK] = [1, 2, 10, 16];
const SHARED_BY_KEYS = /^(?:shm|sem|msg|mq_)/;
/** Their first argument is a process or thread; 0 is the calling one. */
const OF_A_PROCESS = [
  'prlimit64',
  'sched_setaffinity',
  'sched_setattr',
  'sched_setparam',
  'sched_setscheduler',
];
/** Their first argument says what the second one names; these values are a process, and 0 is then the calling one. */
const OF_SEVERAL = { setpriority: 0, ioprio_set: 1 } as const;
const OF_ATTRIBUTES =
  /^(?:l?chown|chmod|fchownat|fchmodat2?|utimes?|futimesat|l?(?:set|remove)xattr(?:at)?)$/;

/** Why this machine cannot load the filter; null when it can. */
export const whyNoFilter = (): string | null => {
  if (ARCHITECTURES[process.arch] === undefined) return `there is no filter for ${process.arch}`;
  try {
    openLibrary();
    return null;
  } catch {
    return `${LIBRARY} cannot be loaded (apt-get install libseccomp2)`;
  }
};

/**
 * From now on the calling thread, and what it starts, may make only the system calls that the default profile of the container engines
 * (moby/profiles, Apache-2.0) allows without capabilities, without those that look into other processes, and what is exposed. A call that is
 * not allowed does not exist, as on an older kernel: programs have a way without it.
 * @throws where libseccomp or the kernel refuses it
 */
export const obeyFilter = (exposed: Exposed): void => {
  const { init, resolve, add, load } = openLibrary();
  const filter: unknown = init(ERRNO | ENOSYS);
  const rule = (action: number, name: string, conditions: readonly Condition[]): void => {
    const call = resolve(name);
    // Of another architecture, or newer than the library.
    if (call < 0) return;
    const compared = Buffer.alloc(Math.max(1, conditions.length) * CONDITION_BYTES);
    for (const [at, { index, op, value, valueTwo = 0 }] of conditions.entries()) {
      compared.writeUInt32LE(index, at * CONDITION_BYTES);
      compared.writeUInt32LE(OPERATORS.indexOf(op), at * CONDITION_BYTES + 4);
      compared.writeBigUInt64LE(BigInt(value), at * CONDITION_BYTES + 8);
      compared.writeBigUInt64LE(BigInt(valueTwo), at * CONDITION_BYTES + 16);
    }
    checked(`a rule for ${name}`, add(filter, action, call, conditions.length, compared));
  };
  const allow = (name: string, ...conditions: readonly Condition[]): void => rule(ALLOW, name, conditions);
  const refuse = (error: number, name: string, ...conditions: readonly Condition[]): void =>
    rule(ERRNO | error, name, conditions);

  for (const { names, conditions } of allowedByEngines())
    for (const name of names) if (!isNarrowed(name, exposed)) allow(name, ...conditions);

  // Node has opened a ring, for its own use. Nobody can open another one, and none is passed on.
  allow('io_uring_enter');
  allow('socket', equal(0, AF_NETLINK));
  for (const family of [AF_INET, AF_INET6]) {
    if (!exposed.network) allow('socket', equal(0, family));
    else
      for (const protocol of TCP)
        allow('socket', equal(0, family), bits(1, TYPE, STREAM), equal(2, protocol));
  }
  if (exposed.network) {
    refuse(EACCES, 'listen');
    for (const [name, index] of Object.entries(FLAGS_OF_SENDING)) allow(name, bits(index, MSG_FASTOPEN, 0));
  }
  if (exposed.paths) {
    refuse(EACCES, 'socket', equal(0, AF_UNIX));
    // One of a pair of datagrams could connect to a path.
    for (const type of [STREAM, SEQUENCED]) allow('socketpair', bits(1, TYPE, type));
  } else allow('socket', equal(0, AF_UNIX));
  if (exposed.attributes) {
    for (const name of attributeCalls()) refuse(EPERM, name);
    // Without a path it is of an open file.
    for (const name of ['utimensat', 'utimensat_time64']) {
      allow(name, equal(1, 0));
      refuse(EPERM, name, other(1, 0));
    }
  }
  if (exposed.processes) {
    for (const name of OF_A_PROCESS) {
      allow(name, equal(0, 0));
      refuse(EPERM, name, other(0, 0));
    }
    for (const [name, ofProcess] of Object.entries(OF_SEVERAL)) {
      allow(name, equal(0, ofProcess), equal(1, 0));
      refuse(EPERM, name, other(0, ofProcess));
      refuse(EPERM, name, equal(0, ofProcess), other(1, 0));
    }
  }
  checked('the filter', load(filter));
};

/** The rules of the profile that hold for a process without capabilities on this machine. */
function* allowedByEngines(): Generator<{ names: readonly string[]; conditions: readonly Condition[] }> {
  const architecture = ARCHITECTURES[process.arch] ?? '';
  for (const { names, action, args, includes, excludes } of profile.syscalls as readonly ProfileRule[]) {
    const isHere = includes?.arches === undefined || includes.arches.includes(architecture);
    const isElsewhere = excludes?.arches?.includes(architecture) === true;
    if (action !== 'SCMP_ACT_ALLOW' || includes?.caps !== undefined || !isHere || isElsewhere) continue;
    yield { names, conditions: args ?? [] };
  }
}

interface ProfileRule {
  readonly names: readonly string[];
  readonly action: string;
  readonly args?: readonly Condition[];
  readonly includes?: { readonly caps?: readonly string[]; readonly arches?: readonly string[] };
  readonly excludes?: { readonly arches?: readonly string[] };
}

/** Whether this filter has rules of its own for the call, or none. */
const isNarrowed = (name: string, { paths, attributes, processes, network }: Exposed): boolean =>
  name === 'socket' ||
  INTO_PROCESSES.includes(name) ||
  (paths && name === 'socketpair') ||
  (network && (name === 'listen' || name in FLAGS_OF_SENDING)) ||
  (attributes && (OF_ATTRIBUTES.test(name) || name.startsWith('utimensat'))) ||
  (processes && (SHARED_BY_KEYS.test(name) || OF_A_PROCESS.includes(name) || name in OF_SEVERAL));

const attributeCalls = (): readonly string[] => [
  ...new Set(
    [...allowedByEngines()].flatMap(({ names }) => names).filter((name) => OF_ATTRIBUTES.test(name)),
  ),
];

const equal = (index: number, value: number): Condition => ({ index, op: 'SCMP_CMP_EQ', value });
/** Of these bits of the argument. */
const bits = (index: number, mask: number, value: number): Condition => ({
  index,
  op: 'SCMP_CMP_MASKED_EQ',
  value: mask,
  valueTwo: value,
});
const other = (index: number, value: number): Condition => ({ index, op: 'SCMP_CMP_NE', value });

/** struct scmp_arg_cmp: an index, an operator, and two numbers of 64 bits. */
const CONDITION_BYTES = 24;

const openLibrary = () => {
  const library = koffi.load(LIBRARY);
  return {
    init: library.func('void *seccomp_init(uint32_t)'),
    resolve: library.func('int seccomp_syscall_resolve_name(const char *)') as (name: string) => number,
    add: library.func('int seccomp_rule_add_array(void *, uint32_t, int, unsigned int, void *)') as (
      filter: unknown,
      action: number,
      call: number,
      count: number,
      conditions: Buffer,
    ) => number,
    load: library.func('int seccomp_load(void *)') as (filter: unknown) => number,
  };
};

/** libseccomp returns the number of the error. */
const checked = (what: string, result: number): void => {
  if (result < 0) throw new Error(`The system refused ${what} (error ${-result}).`);
};
