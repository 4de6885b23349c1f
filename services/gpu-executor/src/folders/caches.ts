import type { Logger } from '@runledger/event-log/connect/observability';
import type { User, Users } from '../isolation/users.ts';
import { whatIsAt } from './remove-tree.ts';
import { folderBytes } from './folder-size.ts';
import {
  makeCacheFolder,
  noteUse,
  readCacheFolders,
  removeCacheFolder,
  writeOwner,
  type CacheOwner,
} from './cache-folder.ts';
import { unwantedOf } from './unwanted-caches.decide.ts';

/**
 * Folders in which libraries keep what they have compiled or fetched, from one process of an owner to the next. A process has one for itself: of two
 * at once each has its own, with a user of its own where processes have that, and the next one gets what was used last.
 */
export interface Caches extends Disposable {
  /** That one may have while a process uses it, and all together otherwise; 0 where there are none. */
  readonly maxBytes: number;
  /** For one supervisor, until it is released. `letGo` is called when that should be before its next process. Null when there can be none. */
  acquire(owner: CacheOwner, letGo: () => void): Cache | null;
  /** The only organisation that has caches of such a process; null when there are several, or none. */
  soleOwner(of: string): string | null;
}

export interface Cache {
  readonly folder: string;
  /** Its files belong to this user, and to nobody else; null for the user of the executor. */
  readonly user: User | null;
  /** It is of this organisation from now on, if it was of nobody. */
  adopt(org_id: string): void;
  /** A process begins or ends with it. */
  use(): void;
  /** Nobody has it any more. */
  release(): void;
}

export interface CachesSettings {
  readonly workFolder: string;
  readonly users: Users;
  readonly maxBytes: number;
  /** One that nobody has used for so long is removed. */
  readonly maxUnusedMs: number;
  readonly log: Logger;
  readonly sweepEveryMs?: number;
}

interface Entry {
  readonly folder: string;
  readonly user: User | null;
  owner: CacheOwner;
  lastUsed: number;
  bytes: number;
  measuredAt: number;
  isHeld: boolean;
  letGo: () => void;
  /** It is removed when nobody has it any more. */
  isUnwanted: boolean;
}

interface Open extends Required<CachesSettings> {
  readonly entries: Set<Entry>;
}

/** Measuring a hundred thousand files takes a moment. */
const SWEEP_EVERY_MS = 60_000;

export const NO_CACHES: Caches = {
  maxBytes: 0,
  acquire: () => null,
  soleOwner: () => null,
  [Symbol.dispose]: () => undefined,
};

/** Takes over what an earlier executor on this work folder has left. */
export const openCaches = (settings: CachesSettings): Caches => {
  const open = { sweepEveryMs: SWEEP_EVERY_MS, ...settings, entries: new Set<Entry>() };
  readAll(open);
  const sweeping = sweepAgain(open);
  return {
    maxBytes: open.maxBytes,
    acquire: (owner, letGo) => {
      if (open.maxBytes === 0) return null;
      try {
        const entry = freeOf(open, owner) ?? add(open, owner);
        return entry === null ? null : held(open, entry, letGo);
      } catch (err) {
        open.log.warn({ err, ...owner }, 'a process has no cache: its folder cannot be made');
        return null;
      }
    },
    soleOwner: (of) => {
      const ofThis = [...open.entries].filter(({ owner }) => owner.of === of && owner.org_id !== null);
      const [first = null, ...others] = new Set(ofThis.map(({ owner }) => owner.org_id));
      return others.length === 0 ? first : null;
    },
    [Symbol.dispose]: () => sweeping[Symbol.dispose](),
  };
};

const readAll = (open: Open): void => {
  const { workFolder, users, entries, log } = open;
  const { found, broken } = readCacheFolders(workFolder);
  for (const folder of broken) void removeCacheFolder(workFolder, folder, log);
  for (const { folder, owner, user, lastUsed } of found)
    // Its user may be somebody else's by now, as after another setting.
    if (entries.size < users.maxRetained && users.retain(user))
      entries.add({ ...entryOf(folder, owner, users.kind === 'executor' ? null : user), lastUsed });
    else void removeCacheFolder(workFolder, folder, log);
};

const entryOf = (folder: string, owner: CacheOwner, user: User | null): Entry => ({
  folder,
  user,
  owner,
  lastUsed: Date.now(),
  bytes: 0,
  measuredAt: -Infinity,
  isHeld: false,
  letGo: () => undefined,
  isUnwanted: false,
});

/** What the owner used last, of what nobody has. */
const freeOf = (open: Open, { org_id, of }: CacheOwner): Entry | undefined => {
  const isOwn = ({ owner }: Entry): boolean => org_id !== null && owner.org_id === org_id && owner.of === of;
  const [last] = [...open.entries]
    .filter((entry) => !entry.isHeld && isOwn(entry))
    .toSorted((a, b) => b.lastUsed - a.lastUsed);
  // It may have been removed by hand meanwhile, or as old folders of /tmp are.
  if (last === undefined || whatIsAt(last.folder) !== 'nothing') return last;
  void remove(open, last);
  return freeOf(open, { org_id, of });
};

/** Null when there are so many that none can be made. */
const add = (open: Open, owner: CacheOwner): Entry | null => {
  const { entries, users, workFolder } = open;
  if (entries.size >= users.maxRetained) {
    const [oldest] = [...entries].filter(({ isHeld }) => !isHeld).toSorted((a, b) => a.lastUsed - b.lastUsed);
    if (oldest === undefined) return null;
    void remove(open, oldest);
  }
  const user = users.acquire();
  try {
    const entry = entryOf(makeCacheFolder(workFolder, owner, user), owner, user);
    entries.add(entry);
    return entry;
  } catch (error) {
    users.release(user);
    throw error;
  }
};

const held = (open: Open, entry: Entry, letGo: () => void): Cache => {
  const use = (): void => {
    entry.lastUsed = Date.now();
    noteUse(entry.folder, entry.lastUsed);
  };
  Object.assign(entry, { isHeld: true, letGo });
  use();
  return {
    folder: entry.folder,
    user: entry.user,
    adopt: (org_id) => {
      if (entry.owner.org_id !== null) return;
      entry.owner = { ...entry.owner, org_id };
      writeOwner(entry.folder, entry.owner);
    },
    use,
    release: () => {
      entry.isHeld = false;
      if (entry.isUnwanted || entry.owner.org_id === null) void remove(open, entry);
      else use();
    },
  };
};

const remove = async ({ entries, workFolder, users, log }: Open, entry: Entry): Promise<void> => {
  entries.delete(entry);
  await removeCacheFolder(workFolder, entry.folder, log);
  users.release(entry.user);
};

/** One after the other, the first one soon. */
const sweepAgain = (open: Open): Disposable => {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const wait = (ms: number): void => {
    if (!isOver)
      timer = setTimeout(() => void sweep(open).finally(() => wait(open.sweepEveryMs)), ms).unref();
  };
  wait(0);
  return {
    [Symbol.dispose]: () => {
      isOver = true;
      clearTimeout(timer);
    },
  };
};

const sweep = async (open: Open): Promise<void> => {
  for (const entry of open.entries) await measure(open, entry);
  const limits = { now: Date.now(), maxUnusedMs: open.maxUnusedMs, maxBytes: open.maxBytes };
  const wanted = [...open.entries].filter(({ isUnwanted }) => !isUnwanted);
  for (const { cache, why } of unwantedOf(wanted, limits)) {
    const { owner, bytes, lastUsed, isHeld } = cache;
    const gone = { ...owner, bytes, last_used: new Date(lastUsed).toISOString() };
    open.log.info(gone, isHeld ? GOES_SOON[why] : IS_REMOVED[why]);
    cache.isUnwanted = true;
    if (isHeld) cache.letGo();
    else void remove(open, cache);
  }
};

const IS_REMOVED = {
  limit: 'a cache is removed: the caches of this executor have more than EXECUTOR_CACHE_BYTES',
  unused: 'a cache is removed: nobody has used it for EXECUTOR_CACHE_DAYS',
};
const GOES_SOON = { ...IS_REMOVED, limit: `${IS_REMOVED.limit}; its process ends first` };

/** Only what may have changed. */
const measure = async ({ log }: Open, entry: Entry): Promise<void> => {
  const { folder, isHeld, measuredAt, lastUsed } = entry;
  if (!isHeld && measuredAt > lastUsed) return;
  const now = Date.now();
  try {
    entry.bytes = (await folderBytes(folder)) ?? entry.bytes;
    entry.measuredAt = now;
  } catch (err) {
    log.warn({ folder, err }, 'the size of a cache cannot be measured');
  }
};
