import { execFile } from 'node:child_process';
import { getuid } from 'node:process';
import { promisify } from 'node:util';
import type { OwnLimits } from '../supervision/program-limits.ts';
import type { Users } from './users.ts';

/**
 * What keeps a program from everything that is not its run. `bubblewrap`: namespaces of its own for processes, files, users and IPC, in which only
 * what it may see is mounted. `landlock`: the kernel refuses to open what it may not see, and to trace or signal what is not its own.
 * `none`: it sees what its user sees. `off`: its operator wants nothing of this. What all of it is worth, the probe of the start says.
 */
export type Isolation = Kind & {
  /** Whom programs run as. */
  readonly users: Users;
  /** Why programs may make every system call; null when there is a filter for them. */
  readonly unfiltered: string | null;
};

type Kind =
  | { readonly kind: 'bubblewrap'; readonly command: string; readonly hidden: readonly string[] }
  | {
      readonly kind: 'landlock';
      readonly version: number;
      readonly hidden: readonly string[];
      readonly containment: Containment;
      /** Why it is not bubblewrap. */
      readonly why: string;
    }
  | { readonly kind: 'none' | 'off'; readonly containment: Containment; readonly why: string };

/**
 * The network of a process. `none`: its own loopback. `outgoing`: the same, and a proxy to the addresses that the policy allows. `host`: that of
 * the machine, where it may connect to everything and listen on every port.
 */
export const NETWORK_ACCESSES = ['none', 'outgoing', 'host'] as const;
export type NetworkAccess = (typeof NETWORK_ACCESSES)[number];

/**
 * What a process may see beside the system's programs and libraries and its own folder, and what it may use. All paths are absolute.
 */
export interface View {
  readonly readable: readonly string[];
  readonly writable: readonly string[];
  /** Folders of the machine in which it makes files by paths that it cannot be told to change. It lists none: other programs have some there too. They are made when missing. */
  readonly scratch: readonly string[];
  readonly network: NetworkAccess;
  /** The graphics cards of the machine; `CUDA_VISIBLE_DEVICES` says which of them it uses. */
  readonly cards: boolean;
  /** Of the machine, where that is not what the settings say. */
  readonly resources: OwnLimits;
}

/**
 * What no program sees only because its command or an argument leads there; its operator may still name it. All paths are real.
 */
export interface Withheld {
  /** Of the executor: its secrets, and the folders of runs. */
  readonly own: readonly string[];
  /** In which programs write: what is there may be of any organisation, and be made to lead anywhere. */
  readonly written: readonly string[];
}

/** In one sentence, for the operator. */
export const describeIsolation = (isolation: Isolation): string => {
  const { users, unfiltered } = isolation;
  const calls = unfiltered === null ? '' : `; they may make every system call: ${unfiltered}`;
  return `${howItHolds(isolation)}; ${users.described}${calls}`;
};

const howItHolds = (isolation: Isolation): string => {
  switch (isolation.kind) {
    case 'bubblewrap':
      return 'programs are in namespaces of their own and see the files of their run only (bubblewrap)';
    case 'landlock':
      return `programs open the files of their run only (Landlock ${isolation.version}), ${inWhat(isolation.containment)}; no namespaces by bubblewrap: ${isolation.why}`;
    case 'none':
    case 'off':
      return `programs see what their user sees, ${inWhat(isolation.containment)}: ${isolation.why}`;
  }
};

/** The home folder is not in the view, or not of the user: a process uses its temporary folder instead, unless its operator sets another one. */
export const visibleHost = <Host extends { readonly HOME?: string | undefined }>(
  isolation: Isolation,
  host: Host,
): Host =>
  isViewless(isolation) && isolation.users.kind === 'executor' ? host : { ...host, HOME: undefined };

/** Whether programs see all that their user sees. */
export const isViewless = ({ kind }: Isolation): boolean => kind === 'none' || kind === 'off';

/** Whether the kernel ends all processes of a run at once. */
export const isInNamespace = (isolation: Isolation): boolean =>
  isolation.kind === 'bubblewrap' || isolation.containment.kind === 'namespace';

const inWhat = (containment: Containment): string =>
  containment.kind === 'namespace' ? 'in a PID namespace' : `in a process group (${containment.why})`;

/**
 * How the processes of a run are kept together. In a PID namespace the kernel kills everything that the program started when
 * the supervisor ends, and programs share memory by keys with nobody else. In a process group, a process that moved to its own session must be
 * found by its mark.
 */
type Containment =
  | { readonly kind: 'namespace'; readonly command: string; readonly args: readonly string[] }
  | { readonly kind: 'group'; readonly why: string };

export const processGroup = (why: string): Containment => ({ kind: 'group', why });

/**
 * Tries once, at the start, whether this machine lets the executor make PID namespaces. `/proc` must be mounted again in the
 * namespace: with the outer one, a program that reads `/proc/<its own pid>` would find the entry of another process.
 */
export const probeContainment = async ({ kind }: Users): Promise<Containment> => {
  // The supervisor changes its mounts, and then gives up the right to.
  const inUserNamespace = ['--user', '--map-current-user', '--keep-caps', ...NAMESPACE_OPTIONS];
  // In a user namespace there is no other user to become.
  const ways = [
    ...(kind !== 'executor' || getuid?.() === 0 ? [NAMESPACE_OPTIONS] : []),
    ...(kind === 'executor' ? [inUserNamespace] : []),
  ];
  const refusals: string[] = [];
  for (const args of ways) {
    const refusal = await whyNoNamespace('unshare', [...args, '--']);
    if (refusal === null) return { kind: 'namespace', command: 'unshare', args: [...args, '--'] };
    refusals.push(refusal);
  }
  return processGroup(refusals.join('; '));
};

const NAMESPACE_OPTIONS = ['--pid', '--ipc', '--fork', '--kill-child', '--mount-proc'];

/** Null when the command makes a PID namespace whose `/proc` is its own, else why it does not. */
export const whyNoNamespace = async (command: string, args: readonly string[]): Promise<string | null> => {
  try {
    const test = ['/bin/sh', '-c', 'echo $$ && read -r pid rest </proc/self/stat && echo $pid'];
    const { stdout } = await promisify(execFile)(command, [...args, ...test], { cwd: '/', timeout: 10_000 });
    return stdout.trim() === '1\n1' ? null : `${command} made no PID namespace`;
  } catch (error) {
    return whatItSaid(error) ?? `${command} failed`;
  }
};

/** The message of a failed command repeats all of its arguments before that. */
const whatItSaid = (error: unknown): string | undefined => {
  if (!(error instanceof Error)) return undefined;
  const said = 'stderr' in error && typeof error.stderr === 'string' ? error.stderr.trim() : '';
  return (said === '' ? error.message : said).replaceAll(/\s+/g, ' ').slice(0, 300);
};
