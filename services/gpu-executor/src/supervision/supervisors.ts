import type { Logger } from '@runledger/event-log/connect/observability';
import { lstatSync, mkdtempSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { CacheOwner } from '../folders/cache-folder.ts';
import type { Cache, Caches } from '../folders/caches.ts';
import { devicesForView } from '../card-devices.ts';
import { removeTree } from '../folders/remove-tree.ts';
import { giveTo, type User } from '../isolation/users.ts';
import { SHARED_MEMORY } from '../isolation/mounts.ts';
import { isInNamespace, type Isolation, type View, type Withheld } from '../isolation/isolation.ts';
import type { Cgroup } from './cgroups.ts';
import { networkInEffect } from '../network/network-hold.ts';
import type { OutgoingProxy } from '../network/outgoing-proxy.ts';
import { limitsFor, type Enforcement, withinLimits, type Limited } from './enforcement.ts';
import type { ProgramLimits } from './program-limits.ts';
import { openLender, type Lender } from '../folders/lent-folders.ts';
import { formatMark, MARK_VARIABLE, type Mark, killAllOf } from './stray-processes.ts';
import type { SupervisedProcess } from './supervised-process.ts';
import type { Start, StreamsKind } from './supervisor-link.ts';
import { openSupervisor, type Supervisor } from './supervisor-process.ts';
import { explainCode, type Seen } from '../view/why-not-started.ts';

/** Starts processes that die with this executor. It has as many supervisors as programs ran at once. */
export interface Supervisors extends Disposable {
  /** What keeps programs from each other, and from the executor. */
  readonly isolation: Isolation;
  readonly withheld: Withheld;
  readonly enforcement: Enforcement;
  readonly caches: Caches;
  /** For one run. Its supervisor stays for the next run of the same organisation with the same view and cache. */
  sandboxForRun(org_id: string, view: View, cache: CacheOwner | null): Sandbox;
  /**
   * For a resident process. Its supervisor has no other one, and its streams are pipes, without the supervisor between. `given`: folders of nobody else, in
   * the view as writable, that belong to its user from now on, with all that is in them.
   */
  sandboxForResident(view: View, cache: CacheOwner | null, given?: readonly string[]): Sandbox;
}

/** Where one program runs. */
export interface Sandbox {
  readonly lend: Lender['lend'];
  /** In the view of the program, which may write there. No other program sees it. */
  readonly folder: string;
  /** The same, and it stays for the next process of its owner; null without one. */
  readonly cache: string | null;
  /** Of its /tmp in memory; null where that is not its own. */
  readonly temporaryBytes: number | null;
  /** The process has runs of this organisation, and of no other one. */
  adopt(org_id: string): void;
  /** A new folder in the sandbox, for the temporary files of one run. */
  makeTemporary(): string;
  /** Once. */
  start(start: Start): SupervisedProcess;
  /** The process has ended. Puts back what is lent. Resolves when another run may get the sandbox, or the folder is removed. */
  leave(): Promise<void>;
}

export interface SupervisorsSettings {
  readonly isolation: Isolation;
  readonly withheld: Withheld;
  readonly enforcement: Enforcement;
  /** Of programs whose view says nothing else. */
  readonly limits: ProgramLimits;
  readonly caches: Caches;
  /** For programs whose network is `outgoing`. */
  readonly proxy: OutgoingProxy;
  readonly mark: Mark;
  readonly path: string;
  /** For the folders of the sandboxes. */
  readonly workFolder: string;
  readonly log: Logger;
}

/** A supervisor and its folder, which one run has after the other. */
interface PooledSupervisor {
  /** What another run must have in common to get it. */
  readonly key: string;
  readonly view: View;
  /** Whom it runs as; null for the user of the executor. */
  readonly user: User | null;
  readonly folder: string;
  readonly supervisor: Supervisor;
  readonly limits: ProgramLimits;
  readonly cgroup: Cgroup | null;
  readonly cache: Cache | null;
  /** It may have another program after the present one. */
  isReusable: boolean;
  /** The supervisor has nothing of its last program any more. */
  isIdle: boolean;
  /** No run has the folder. */
  isLeft: boolean;
}

export const openSupervisors = (settings: SupervisorsSettings): Supervisors => {
  const { isolation, withheld, enforcement, caches, log } = settings;
  const open = new Set<PooledSupervisor>();
  const devicesOf = ({ cards }: View): readonly string[] => (cards ? devicesForView(settings.path, log) : []);
  const openAnother = (
    key: string,
    view: View,
    streams: StreamsKind,
    owner: CacheOwner | null,
    given: readonly string[] = [],
  ): PooledSupervisor => {
    const cache = owner === null ? null : caches.acquire(owner, () => letGo());
    const closed = (): Promise<void> => close(pooled).then(() => releaseUser(pooled, isolation, log));
    const pooled = openOrRelease(settings, { key, view, streams, cache, given }, closed);
    const letGo = (): void => {
      pooled.isReusable = false;
      if (pooled.isIdle && pooled.isLeft) void close(pooled);
    };
    open.add(pooled);
    return pooled;
  };
  const close = async (pooled: PooledSupervisor): Promise<void> => {
    if (open.delete(pooled)) pooled.supervisor.close();
    if (!pooled.isLeft) return;
    await removeTree(pooled.folder, log);
  };
  const sandboxOf = (pooled: PooledSupervisor): Sandbox => {
    pooled.isIdle = pooled.isLeft = false;
    const { cache } = pooled;
    cache?.use();
    const lender = openLender(pooled.folder, pooled.user);
    return {
      folder: pooled.folder,
      cache: cache?.folder ?? null,
      temporaryBytes: isolation.kind === 'bubblewrap' ? pooled.limits.temporaryBytes : null,
      adopt: (org_id) => cache?.adopt(org_id),
      lend: (folders, makesOutputDir) => lender.lend(folders, makesOutputDir),
      makeTemporary: () => makeFolder(pooled.folder, pooled.user),
      start: (start) =>
        explained(withinLimits(pooled.supervisor.start(start), limitedOf(pooled, caches), log), start, {
          ...pooled,
          isolation,
        }),
      leave: async () => {
        await lender.end();
        cache?.use();
        pooled.isLeft = true;
        if (!(open.has(pooled) && pooled.isReusable && isAsNew(pooled, isolation))) await close(pooled);
      },
    };
  };
  return {
    isolation,
    withheld,
    enforcement,
    caches,
    sandboxForRun: (org_id, view, cache) => {
      // A device that has appeared since is not in the view of the one before, nor a folder that is in the place of another one.
      const shown = view.readable.map(whichIs);
      const key = JSON.stringify([org_id, view, cache, devicesOf(view), shown]);
      const { same, oldest } = freeOf(open, key);
      if (same !== undefined) return sandboxOf(same);
      if (oldest !== undefined) void close(oldest);
      return sandboxOf(openAnother(key, view, 'relayed', cache));
    },
    sandboxForResident: (view, cache, given) =>
      sandboxOf(openAnother(JSON.stringify(devicesOf(view)), view, 'direct', cache, given)),
    [Symbol.dispose]: () => {
      for (const { supervisor } of open) supervisor.close();
    },
  };
};

/** @throws when it cannot be opened, and nobody has the cache then */
const openOrRelease = (...[settings, wanted, closed]: Parameters<typeof openPooled>): PooledSupervisor => {
  try {
    return openPooled(settings, wanted, closed);
  } catch (error) {
    wanted.cache?.release();
    throw error;
  }
};

const openPooled = (
  { isolation, enforcement, proxy, mark, path, workFolder, limits: ofAll }: SupervisorsSettings,
  {
    key,
    view: { network, writable, ...wanted },
    streams,
    cache,
    given,
  }: {
    readonly key: string;
    readonly view: View;
    readonly streams: StreamsKind;
    readonly cache: Cache | null;
    readonly given: readonly string[];
  },
  onClosed: () => Promise<void>,
): PooledSupervisor => {
  const view = {
    ...wanted,
    writable: cache === null ? writable : [...writable, cache.folder],
    network: networkInEffect(isolation, network),
  };
  const connections = view.network === 'outgoing' ? proxy.open() : null;
  const user = cache === null ? isolation.users.acquire() : cache.user;
  if (user !== null) for (const path of given) giveTo(user, path);
  const folder = makeFolder(workFolder, user);
  const limits = { ...ofAll, ...view.resources };
  const { temporaryBytes } = limits;
  const { rlimits, cgroup } = limitsFor(enforcement, limits);
  const env = { PATH: path, [MARK_VARIABLE]: formatMark(mark) };
  const supervisor = openSupervisor(
    { isolation, user, rlimits, temporaryBytes, cgroup, view, folder, env, connections, streams },
    { idle: () => void (pooled.isIdle = true), closed: () => void onClosed() },
  );
  const isReusable = streams === 'relayed';
  const pooled = {
    key,
    view,
    user,
    folder,
    supervisor,
    limits,
    cgroup,
    cache,
    isReusable,
    isIdle: true,
    isLeft: true,
  };
  return pooled;
};

/** Its end says why it could not be started. */
const explained = (process: SupervisedProcess, start: Start, seen: Seen): SupervisedProcess => ({
  ...process,
  ended: process.ended.then((end) =>
    end.kind === 'not_started' ? { ...end, code: explainCode(end.code, start, seen) } : end,
  ),
});

const limitedOf = (pooled: PooledSupervisor, { maxBytes }: Caches): Limited => ({
  ...pooled,
  cache: pooled.cache === null ? null : { folder: pooled.cache.folder, maxBytes },
});

/** Those that no run has: the one that another run of its key may get, and the one that ends for it, so that there are no more than runs at once. */
const freeOf = (
  open: ReadonlySet<PooledSupervisor>,
  key: string,
): { same: PooledSupervisor | undefined; oldest: PooledSupervisor | undefined } => {
  const free = [...open].filter(({ isIdle, isLeft }) => isIdle && isLeft);
  // Its folder may have been removed meanwhile, as old folders of /tmp are.
  const same = free.find((pooled) => pooled.key === key && isEmpty(pooled.folder));
  return { same, oldest: free[0] };
};

const isAsNew = ({ folder, cgroup }: PooledSupervisor, isolation: Isolation): boolean =>
  isEmpty(folder) && (cgroup === null || isInNamespace(isolation) || isAlone(cgroup));

/** Whether the supervisor has it for itself: nothing left its process group, with any other trace of its run. */
const isAlone = (cgroup: Cgroup): boolean => cgroup.members() === 1;

/** The supervisor has ended, and another one may have its user. */
const releaseUser = async (
  { user, cache }: PooledSupervisor,
  isolation: Isolation,
  log: Logger,
): Promise<void> => {
  if (user !== null && isolation.users.kind === 'each' && !isInNamespace(isolation)) {
    // It has ended them itself, unless one of them killed it.
    await killAllOf(user.uid);
    await removeShared(user, log);
  }
  // The user stays with the cache.
  if (cache === null) isolation.users.release(user);
  else cache.release();
};

/** What nobody but its programs had, in the shared memory of the machine. */
const removeShared = async ({ uid }: User, log: Logger): Promise<void> => {
  const paths = readdirSync(SHARED_MEMORY).map((name) => join(SHARED_MEMORY, name));
  const left = paths.filter((path) => lstatSync(path, { throwIfNoEntry: false })?.uid === uid);
  await Promise.all(left.map((path) => removeTree(path, log)));
};

const makeFolder = (above: string, user: User | null): string => {
  const folder = mkdtempSync(join(above, 'tmp-'));
  if (user !== null) giveTo(user, folder);
  return folder;
};

/** Distinguishes what is there from what comes after it; null when there is nothing, or it may not be looked at. */
const whichIs = (path: string): string | null => {
  try {
    const { dev, ino } = statSync(path);
    return `${dev}.${ino}`;
  } catch {
    return null;
  }
};

const isEmpty = (folder: string): boolean => {
  try {
    return readdirSync(folder).length === 0;
  } catch {
    // The program may have taken the permission to look.
    return false;
  }
};
