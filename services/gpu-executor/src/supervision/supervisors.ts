import { lstatSync, mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { devicesForView } from '../gpu/card-devices.ts';
import { removeTree } from '../leftovers/remove-tree.ts';
import { giveTo, type User } from '../isolation/users.ts';
import { SHARED_MEMORY } from '../isolation/memory-folders.ts';
import { isInNamespace, type Isolation, type View } from '../isolation/isolation.ts';
import type { Cgroup } from '../limits/cgroups.ts';
import { networkInEffect } from '../network/network-hold.ts';
import type { OutgoingProxy } from '../network/outgoing-proxy.ts';
import { limitsFor, type Enforcement } from './enforcement.ts';
import type { ProgramLimits } from '../limits/program-limits.ts';
import { withinLimits } from './within-limits.ts';
import { openLender, type Lender } from './lent-folders.ts';
import { formatMark, MARK_VARIABLE, type Mark } from './process-mark.ts';
import { killAllOf } from './stray-processes.ts';
import type { SupervisedProcess } from './supervised-process.ts';
import type { Start, StreamsKind } from './supervisor-link.ts';
import { openSupervisor, type Supervisor } from './supervisor-process.ts';

/** Starts processes that die with this executor. It has as many supervisors as programs ran at once. */
export interface Supervisors extends Disposable {
  /** What keeps programs from each other, and from the executor. */
  readonly isolation: Isolation;
  readonly enforcement: Enforcement;
  /** For one run. Its supervisor is kept for the next run of the same organisation with the same view. */
  take(org_id: string, view: View): Place;
  /** For a process that is kept. Its supervisor has no other one, and its streams are pipes, without the supervisor between. */
  takeKept(view: View): Place;
}

/** Where one program runs. */
export interface Place extends Pick<Lender, 'lend'> {
  /** In the view of the program, which may write there. No other program sees it. */
  readonly folder: string;
  /** A new folder in the place, for the temporary files of one run. */
  makeTemporary(): string;
  /** Once. */
  start(start: Start): SupervisedProcess;
  /** The process has ended. Puts back what is lent. Resolves when another run may get the place, or the folder is removed. */
  leave(): Promise<void>;
}

export interface SupervisorsSettings {
  readonly isolation: Isolation;
  readonly enforcement: Enforcement;
  /** Of programs whose view says nothing else. */
  readonly limits: ProgramLimits;
  /** For programs whose network is `outgoing`. */
  readonly proxy: OutgoingProxy;
  readonly mark: Mark;
  readonly path: string;
  /** For the folders of the places. */
  readonly workFolder: string;
  readonly log: { warn(fields: object, message: string): void };
}

/** A supervisor and its folder. */
interface Kept {
  /** What another run must have in common to get it. */
  readonly key: string;
  /** Whom it runs as; null for the user of the executor. */
  readonly user: User | null;
  readonly folder: string;
  readonly supervisor: Supervisor;
  readonly limits: ProgramLimits;
  readonly cgroup: Cgroup | null;
  /** It may have another program after the present one. */
  readonly isReusable: boolean;
  /** The supervisor has nothing of its last program any more. */
  isIdle: boolean;
  /** No run has the folder. */
  isLeft: boolean;
}

export const openSupervisors = (settings: SupervisorsSettings): Supervisors => {
  const { isolation, enforcement, log } = settings;
  const open = new Set<Kept>();
  const devicesOf = ({ cards }: View): readonly string[] => (cards ? devicesForView(settings.path, log) : []);
  const openAnother = (key: string, view: View, streams: StreamsKind): Kept => {
    const kept = openKept(settings, { key, view, streams }, () =>
      close(kept).then(() => giveBack(kept, isolation, log)),
    );
    open.add(kept);
    return kept;
  };
  const close = async (kept: Kept): Promise<void> => {
    if (open.delete(kept)) kept.supervisor.close();
    if (!kept.isLeft) return;
    await removeTree(kept.folder, log);
  };
  const placeOf = (kept: Kept): Place => {
    kept.isIdle = kept.isLeft = false;
    const lender = openLender(kept.folder, kept.user);
    return {
      folder: kept.folder,
      lend: (folders, makesOutputDir) => lender.lend(folders, makesOutputDir),
      makeTemporary: () => makeFolder(kept.folder, kept.user),
      start: (start) => withinLimits(kept.supervisor.start(start), kept, log),
      leave: async () => {
        await lender.end();
        kept.isLeft = true;
        if (!(open.has(kept) && kept.isReusable && isAsNew(kept, isolation))) await close(kept);
      },
    };
  };
  return {
    isolation,
    enforcement,
    take: (org_id, view) => {
      // A device that has appeared since is not in the view of the one before.
      const key = JSON.stringify([org_id, view, devicesOf(view)]);
      const { same, oldest } = freeOf(open, key);
      if (same !== undefined) return placeOf(same);
      if (oldest !== undefined) void close(oldest);
      return placeOf(openAnother(key, view, 'relayed'));
    },
    takeKept: (view) => placeOf(openAnother(JSON.stringify(devicesOf(view)), view, 'direct')),
    [Symbol.dispose]: () => {
      for (const { supervisor } of open) supervisor.close();
    },
  };
};

const openKept = (
  { isolation, enforcement, proxy, mark, path, workFolder, limits: ofAll }: SupervisorsSettings,
  {
    key,
    view: wanted,
    streams,
  }: { readonly key: string; readonly view: View; readonly streams: StreamsKind },
  onClosed: () => Promise<void>,
): Kept => {
  const view = { ...wanted, network: networkInEffect(isolation, wanted.network) };
  const connections = view.network === 'outgoing' ? proxy.open() : null;
  const user = isolation.users.take();
  const folder = makeFolder(workFolder, user);
  const limits = { ...ofAll, ...view.resources };
  const { rlimits, cgroup } = limitsFor(enforcement, limits);
  const env = { PATH: path, [MARK_VARIABLE]: formatMark(mark) };
  const supervisor = openSupervisor(
    { isolation, user, rlimits, cgroup, view, folder, env, connections, streams },
    { idle: () => void (kept.isIdle = true), closed: () => void onClosed() },
  );
  const isReusable = streams === 'relayed';
  const kept = { key, user, folder, supervisor, limits, cgroup, isReusable, isIdle: true, isLeft: true };
  return kept;
};

/** Those that no run has: the one that another run of its key may get, and the one that ends for it, so that there are no more than runs at once. */
const freeOf = (
  open: ReadonlySet<Kept>,
  key: string,
): { same: Kept | undefined; oldest: Kept | undefined } => {
  const free = [...open].filter(({ isIdle, isLeft }) => isIdle && isLeft);
  // Its folder may have been removed meanwhile, as old folders of /tmp are.
  const same = free.find((kept) => kept.key === key && isEmpty(kept.folder));
  return { same, oldest: free[0] };
};

const isAsNew = ({ folder, cgroup }: Kept, isolation: Isolation): boolean =>
  isEmpty(folder) && (cgroup === null || isInNamespace(isolation) || isAlone(cgroup));

/** Whether the supervisor has it for itself: nothing left its process group, with any other trace of its run. */
const isAlone = (cgroup: Cgroup): boolean => cgroup.members() === 1;

/** The supervisor has ended, and another one may have its user. */
const giveBack = async (
  { user }: Kept,
  isolation: Isolation,
  log: SupervisorsSettings['log'],
): Promise<void> => {
  if (user === null) return;
  if (isolation.users.kind === 'each' && !isInNamespace(isolation)) {
    // It has ended them itself, unless one of them killed it.
    await killAllOf(user.uid);
    await removeShared(user, log);
  }
  isolation.users.free(user);
};

/** What nobody but its programs had, in the shared memory of the machine. */
const removeShared = async ({ uid }: User, log: SupervisorsSettings['log']): Promise<void> => {
  const paths = readdirSync(SHARED_MEMORY).map((name) => join(SHARED_MEMORY, name));
  const left = paths.filter((path) => lstatSync(path, { throwIfNoEntry: false })?.uid === uid);
  await Promise.all(left.map((path) => removeTree(path, log)));
};

const makeFolder = (above: string, user: User | null): string => {
  const folder = mkdtempSync(join(above, 'tmp-'));
  if (user !== null) giveTo(user, folder);
  return folder;
};

const isEmpty = (folder: string): boolean => {
  try {
    return readdirSync(folder).length === 0;
  } catch {
    // The program may have taken the permission to look.
    return false;
  }
};
