import type { OwnLimits } from '../limits/program-limits.ts';
import type { Containment } from './containment.ts';
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
