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
  /** The calling process is killed when its parent ends. A change of its user undoes that. */
  dieWithParent(): void;
  /** Keys of its session are those that it makes from now on. */
  beginKeyring(): void;
  /** In the mount namespace of the process. `type` is null for what is mounted already, or is at `source`. */
  mount(source: string, target: string, type: string | null, flags: number, data: string | null): void;
  /** For this process and those that it starts; at most what the system allows already. */
  limit(resource: Resource, value: number): void;
  /** Whether anything on this mount, and with `andBelow` on those below it, can be changed. */
  setReadOnly(path: string, isReadOnly: boolean, andBelow: boolean): void;
  /** The version of Landlock in the kernel; 0 when there is none. */
  landlockVersion(): number;
  /** The descriptor of a new set of rules. */
  createRules(handled: { readonly files: bigint; readonly network: bigint; readonly scopes: bigint }): number;
  allow(rules: number, access: bigint, descriptor: number): void;
  allowPort(rules: number, access: bigint, port: number): void;
  obey(rules: number): void;
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

const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;
const PR_SET_DUMPABLE = 4;
const PR_SET_NO_NEW_PRIVS = 38;
const LINUX_CAPABILITY_VERSION_3 = 0x20080522;
/** Of Landlock; they have these numbers on every architecture. */
const MOUNT_SETATTR = 442;
const AT_RECURSIVE = 0x8000;
const MOUNT_ATTR_RDONLY = 1n;
const [CREATE_RULESET, ADD_RULE, RESTRICT_SELF] = [444, 445, 446];
/** keyctl has another one on each. */
const KEYCTL: Readonly<Record<string, number>> = { x64: 250, arm64: 219 };
const JOIN_SESSION_KEYRING = 1;
const VERSION_FLAG = 1;
const [PATH_BENEATH, NET_PORT] = [1, 2];

type Library = ReturnType<typeof koffi.load>;

/** @throws where the C library cannot be called, such as on another system than Linux */
export const openSystemCalls = (): SystemCalls => {
  const libc = koffi.load(null);
  return { ...ofProcesses(libc), ...ofMounts(libc), ...ofLandlock(libc) };
};

const checked = (name: string, result: number): number => {
  if (result >= 0) return result;
  throw new Error(`The system refused ${name} (error ${koffi.errno()}).`);
};

const ofProcesses = (libc: Library) => {
  const prctl = libc.func('int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long)');
  const capset = libc.func('int capset(void *, void *)');
  const getrlimit = libc.func('int getrlimit(int, void *)');
  const setrlimit = libc.func('int setrlimit(int, void *)');
  const keyctl = libc.func('long syscall(long, int, void *)');
  const set = (name: string, option: number, value: number): void =>
    void checked(name, prctl(option, value, 0, 0, 0));
  return {
    hideProcess: () => set('PR_SET_DUMPABLE', PR_SET_DUMPABLE, 0),
    giveUpNewPrivileges: () => set('PR_SET_NO_NEW_PRIVS', PR_SET_NO_NEW_PRIVS, 1),
    dieWithParent: () => set('PR_SET_PDEATHSIG', PR_SET_PDEATHSIG, SIGKILL),
    giveUpCapabilities: () => {
      const header = Buffer.alloc(8);
      header.writeUInt32LE(LINUX_CAPABILITY_VERSION_3);
      checked('capset', capset(header, Buffer.alloc(24)));
    },
    beginKeyring: () => {
      const number = KEYCTL[process.arch];
      // A kernel without keys has none to share, and an engine that forbids the call lets no program use them either.
      if (number !== undefined) keyctl(number, JOIN_SESSION_KEYRING, null);
    },
    limit: (resource: Resource, value: number) => {
      const limits = Buffer.alloc(16);
      checked('getrlimit', getrlimit(RESOURCES[resource], limits));
      const hard = limits.readBigUInt64LE(8);
      const given = BigInt(value) < hard ? BigInt(value) : hard;
      limits.writeBigUInt64LE(given, 0);
      // At this one the kernel kills without a word; a second before, it says by a signal what for.
      limits.writeBigUInt64LE(resource === 'cpuSeconds' && given < hard ? given + 1n : given, 8);
      checked(`setrlimit for ${resource}`, setrlimit(RESOURCES[resource], limits));
    },
  };
};

const ofMounts = (libc: Library) => {
  const mount = libc.func('int mount(const char *, const char *, const char *, unsigned long, const char *)');
  const setMount = libc.func('long syscall(long, int, const char *, unsigned int, void *, size_t)');
  return {
    mount: (source: string, target: string, type: string | null, flags: number, data: string | null) =>
      void checked(`to mount ${target}`, mount(source, target, type, flags, data)),
    setReadOnly: (path: string, isReadOnly: boolean, andBelow: boolean) => {
      const attributes = Buffer.alloc(32);
      attributes.writeBigUInt64LE(MOUNT_ATTR_RDONLY, isReadOnly ? 0 : 8);
      const flags = andBelow ? AT_RECURSIVE : 0;
      checked(`to change the mount ${path}`, setMount(MOUNT_SETATTR, -1, path, flags, attributes, 32));
    },
  };
};

const ofLandlock = (libc: Library) => {
  const createRuleset = libc.func('long syscall(long, void *, size_t, uint32_t)');
  const addRule = libc.func('long syscall(long, int, int, void *, uint32_t)');
  const restrictSelf = libc.func('long syscall(long, int, uint32_t)');
  return {
    landlockVersion: () => Math.max(0, createRuleset(CREATE_RULESET, null, 0, VERSION_FLAG)),
    createRules: ({ files, network, scopes }: Parameters<SystemCalls['createRules']>[0]) => {
      const attributes = Buffer.alloc(24);
      [files, network, scopes].forEach((bits, index) => attributes.writeBigUInt64LE(bits, index * 8));
      return checked(
        'landlock_create_ruleset',
        createRuleset(CREATE_RULESET, attributes, attributes.length, 0),
      );
    },
    allow: (rules: number, access: bigint, descriptor: number) => {
      const rule = Buffer.alloc(12);
      rule.writeBigUInt64LE(access);
      rule.writeInt32LE(descriptor, 8);
      checked('landlock_add_rule', addRule(ADD_RULE, rules, PATH_BENEATH, rule, 0));
    },
    allowPort: (rules: number, access: bigint, port: number) => {
      const rule = Buffer.alloc(16);
      rule.writeBigUInt64LE(access);
      rule.writeBigUInt64LE(BigInt(port), 8);
      checked('landlock_add_rule', addRule(ADD_RULE, rules, NET_PORT, rule, 0));
    },
    obey: (rules: number) => void checked('landlock_restrict_self', restrictSelf(RESTRICT_SELF, rules, 0)),
  };
};
