import koffi from 'koffi';

/**
 * Calls of Linux that Node does not have. What they change is the thread that calls, or its process, and what these start from then on.
 */
export interface SystemCalls {
  /** Other processes of the user may not read its memory and environment, trace it, or take its descriptors. */
  hideProcess(): void;
  /** No program that is started may get more rights than this process has. */
  giveUpNewPrivileges(): void;
  giveUpCapabilities(): void;
  /** For this process and those that it starts; at most what the system allows already. */
  limit(resource: Resource, value: number): void;
  /** The version of Landlock in the kernel; 0 when there is none. */
  landlockVersion(): number;
  /** The descriptor of a new set of rules. */
  createRules(handled: { readonly files: bigint; readonly network: bigint; readonly scopes: bigint }): number;
  allow(rules: number, access: bigint, descriptor: number): void;
  allowPort(rules: number, access: bigint, port: number): void;
  obey(rules: number): void;
  /** Without new privileges: each call is asked of this classic BPF program, 8 bytes for each instruction. */
  filter(program: Buffer): void;
}

/** Processor time: of one process. Memory: what is private and can be written. Processes: of the user, or in a user namespace of that, threads included. */
const RESOURCES = {
  cpuSeconds: 0,
  fileBytes: 1,
  memoryBytes: 2,
  coreBytes: 4,
  processes: 6,
  openFiles: 7,
} as const;
type Resource = keyof typeof RESOURCES;
export type Rlimits = readonly { readonly resource: Resource; readonly value: number }[];

const PR_SET_DUMPABLE = 4;
const [PR_SET_SECCOMP, SECCOMP_MODE_FILTER] = [22, 2];
const PR_SET_NO_NEW_PRIVS = 38;
const LINUX_CAPABILITY_VERSION_3 = 0x20080522;
/** Of Landlock; they have these numbers on every architecture. */
const [CREATE_RULESET, ADD_RULE, RESTRICT_SELF] = [444, 445, 446];
const VERSION_FLAG = 1;
const [PATH_BENEATH, NET_PORT] = [1, 2];

/** @throws where the C library cannot be called, such as on another system than Linux */
export const openSystemCalls = (): SystemCalls => {
  const libc = koffi.load(null);
  const prctl = libc.func('int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long)');
  const sockFprog = koffi.struct({ length: 'uint16_t', instructions: 'void *' });
  const prctlFilter = libc.func('prctl', 'int', ['int', 'unsigned long', koffi.pointer(sockFprog)]);
  const capset = libc.func('int capset(void *, void *)');
  const getrlimit = libc.func('int getrlimit(int, void *)');
  const setrlimit = libc.func('int setrlimit(int, void *)');
  const createRuleset = libc.func('long syscall(long, void *, size_t, uint32_t)');
  const addRule = libc.func('long syscall(long, int, int, void *, uint32_t)');
  const restrictSelf = libc.func('long syscall(long, int, uint32_t)');
  const checked = (name: string, result: number): number => {
    if (result >= 0) return result;
    throw new Error(`The system refused ${name} (error ${koffi.errno()}).`);
  };
  return {
    hideProcess: () => void checked('PR_SET_DUMPABLE', prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)),
    giveUpNewPrivileges: () => void checked('PR_SET_NO_NEW_PRIVS', prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)),
    giveUpCapabilities: () => {
      const header = Buffer.alloc(8);
      header.writeUInt32LE(LINUX_CAPABILITY_VERSION_3);
      checked('capset', capset(header, Buffer.alloc(24)));
    },
    limit: (resource, value) => {
      const limits = Buffer.alloc(16);
      checked('getrlimit', getrlimit(RESOURCES[resource], limits));
      const hard = limits.readBigUInt64LE(8);
      const given = BigInt(value) < hard ? BigInt(value) : hard;
      limits.writeBigUInt64LE(given, 0);
      // At this one the kernel kills without a word; a second before, it says by a signal what for.
      limits.writeBigUInt64LE(resource === 'cpuSeconds' && given < hard ? given + 1n : given, 8);
      checked(`setrlimit for ${resource}`, setrlimit(RESOURCES[resource], limits));
    },
    landlockVersion: () => Math.max(0, createRuleset(CREATE_RULESET, null, 0, VERSION_FLAG)),
    createRules: ({ files, network, scopes }) => {
      const attributes = Buffer.alloc(24);
      [files, network, scopes].forEach((bits, index) => attributes.writeBigUInt64LE(bits, index * 8));
      return checked(
        'landlock_create_ruleset',
        createRuleset(CREATE_RULESET, attributes, attributes.length, 0),
      );
    },
    allow: (rules, access, descriptor) => {
      const rule = Buffer.alloc(12);
      rule.writeBigUInt64LE(access);
      rule.writeInt32LE(descriptor, 8);
      checked('landlock_add_rule', addRule(ADD_RULE, rules, PATH_BENEATH, rule, 0));
    },
    allowPort: (rules, access, port) => {
      const rule = Buffer.alloc(16);
      rule.writeBigUInt64LE(access);
      rule.writeBigUInt64LE(BigInt(port), 8);
      checked('landlock_add_rule', addRule(ADD_RULE, rules, NET_PORT, rule, 0));
    },
    obey: (rules) => void checked('landlock_restrict_self', restrictSelf(RESTRICT_SELF, rules, 0)),
    filter: (program) => {
      const given = { length: program.length / 8, instructions: program };
      checked('PR_SET_SECCOMP', prctlFilter(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, given));
    },
  };
};
