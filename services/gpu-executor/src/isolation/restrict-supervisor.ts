import { readFileSync, writeFileSync } from 'node:fs';
import { obeyLandlock, type Openable } from './landlock.ts';
import { mountOwn, type OwnMounts } from './mounts.ts';
import { obeyFilter, type Exposed } from './seccomp.ts';
import { openSystemCalls, type Rlimits } from './system-calls.ts';

/** What a supervisor does before it starts a program. Executor and supervisor are of one release. */
export interface SupervisorSetup {
  /** Null for one that is what the executor is. */
  readonly isolation: {
    /** Null where nothing is hidden. */
    readonly openable: Openable | null;
    /** For one that has mounts of its own and changes them; null for any other. */
    readonly mounts: OwnMounts | null;
    /** Folders of its own namespaces, which a program may leave something in. */
    readonly memoryFolders: readonly string[];
    /** Whom it becomes; null when it stays what it is. */
    readonly user: {
      readonly uid: number;
      readonly gid: number;
      readonly groups: readonly number[];
      /** Nobody else is this user: all its processes are of the programs of this supervisor. */
      readonly isItsOwn: boolean;
    } | null;
    /** For the filter of system calls; null without one. */
    readonly exposed: Exposed | null;
  } | null;
  readonly rlimits: Rlimits;
}

export const parseSetup = (text = ''): SupervisorSetup => {
  // eslint-disable-next-line typescript/no-unsafe-type-assertion
  return JSON.parse(text) as SupervisorSetup;
};

/** Of what the kernel may end when the memory of the machine is full; 0 is an ordinary process, 1000 is the first to go. */
const OOM_SCORE = 500;
const OOM_SCORE_FILE = '/proc/self/oom_score_adj';

/**
 * From now on, programs that this thread starts have no more rights than these, and cannot look into this process. `proxyPort` is where they find
 * the proxy, if they have one.
 */
export const restrictSupervisor = (
  { isolation, rlimits }: SupervisorSetup,
  proxyPort: number | null,
): void => {
  // Nobody may lower it.
  if (Number(readFileSync(OOM_SCORE_FILE, 'utf8')) < OOM_SCORE)
    writeFileSync(OOM_SCORE_FILE, String(OOM_SCORE));
  if (isolation === null && rlimits.length === 0) return;
  const calls = openSystemCalls();
  for (const { resource, value } of rlimits) calls.limit(resource, value);
  if (isolation === null) return;
  const { openable, mounts, user, exposed } = isolation;
  calls.limit('coreBytes', 0);
  if (mounts !== null) mountOwn(calls, mounts);
  calls.giveUpNewPrivileges();
  calls.beginKeyring();
  if (openable !== null) obeyLandlock(calls, withPort(openable, proxyPort));
  if (user !== null) become(user);
  // Outside of a namespace of its own it ends what it started when its parent is gone.
  if (process.pid === 1) calls.dieWithParent();
  calls.hideProcess();
  calls.giveUpCapabilities();
  // The calls above are not all in it.
  if (exposed !== null) obeyFilter(exposed);
};

/** All threads of the process; there is no way back. */
const become = ({
  uid,
  gid,
  groups,
}: NonNullable<NonNullable<SupervisorSetup['isolation']>['user']>): void => {
  process.setgroups?.([...groups]);
  process.setgid?.(gid);
  process.setuid?.(uid);
  if (process.geteuid?.() !== uid || process.getegid?.() !== gid)
    throw new Error(`The supervisor did not become the user ${uid}:${gid}.`);
};

const withPort = (openable: Openable, port: number | null): Openable =>
  port === null || openable.ports === null ? openable : { ...openable, ports: [port] };
