import type { Logger } from '@runledger/event-log/connect/observability';
import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { isJsonObject, parsePlainJson } from '@runledger/contracts/json';
import { untilAborted } from '@runledger/resilience/abort';
import { codeOf } from '@runledger/resilience/errors';
import { randomUUID } from 'node:crypto';
import { existsSync, renameSync, rmSync, utimesSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { folderBytes } from '../folders/folder-size.ts';
import { removeTree } from '../folders/remove-tree.ts';

/** Below the work folder. */
const PREPARED = 'prepared';
const PARTS = 'prepared-parts';
const PART_KEPT_MS = 24 * 3_600_000;

/** What a folder holds. Organisations share nothing. */
interface PreparedKey {
  readonly org_id: string;
  readonly of: 'code' | 'custom-nodes' | 'environments' | 'harnesses' | 'models' | 'model-sets';
  /** A name that is safe in a path, such as a hash. */
  readonly key: string;
}

export type NotPrepared =
  | { readonly kind: 'failed'; readonly error: AttemptError }
  /** The run was cancelled or requeued meanwhile, or the executor stops. */
  | { readonly kind: 'stopped' };

/** Nobody removes the folder until this is disposed of. */
export interface HeldFolder extends Disposable {
  readonly kind: 'prepared';
  readonly path: string;
  /** Nobody had to wait for it. */
  readonly wasThere: boolean;
}

/**
 * Folders that versions need and that stay from run to run: unpacked code, environments, models. A folder counts when its record is there, which comes
 * last, by one rename; a start removes what has none. So a folder has its path from the beginning, as an environment needs it.
 */
export interface PreparedFolders {
  /** Above all of them. */
  readonly path: string;
  readonly maxBytes: number;
  /**
   * The folder, made unless it is there. One run makes it while others wait for it; when that one cannot, another one tries. `make` fills an empty folder
   * and must not reject but for errors of the disk. `isIntact`: whether one that is there is of use still.
   */
  use(
    what: PreparedKey,
    make: Make,
    stop: AbortSignal,
    isIntact?: (path: string) => boolean,
  ): Promise<HeldFolder | NotPrepared>;
  /** Where a file is while it is on its way, for who makes a folder of it: what is there of it stays for a day after a failure and a kill. */
  partOf(org_id: string, name: string): Promise<string>;
  /** Whether all of them are there. */
  has(paths: readonly string[]): boolean;
  /** For a process that outlives the run which has them. */
  hold(paths: readonly string[]): Disposable;
}

/** Null when the folder is complete. */
type Make = (folder: string) => Promise<NotPrepared | null>;

export const failed = (why: string, retryable = false): NotPrepared => ({
  kind: 'failed',
  error: errorOf('prepare_failed', why, { retryable }),
});

interface Entry {
  readonly path: string;
  readonly bytes: number;
  lastUsed: number;
  holders: number;
}

interface Open {
  readonly path: string;
  readonly workFolder: string;
  readonly maxBytes: number;
  readonly log: Logger;
  readonly entries: Map<string, Entry>;
}

/** Takes over what an earlier executor on this work folder has left, and removes what is half made. */
export const openPreparedFolders = (settings: {
  readonly workFolder: string;
  readonly maxBytes: number;
  readonly log: Logger;
}): PreparedFolders => {
  const path = join(settings.workFolder, PREPARED);
  const open: Open = { ...settings, path, entries: new Map() };
  const ready = readAll(open);
  ready.catch(() => undefined);
  const making = new Map<string, Promise<unknown>>();

  const use: PreparedFolders['use'] = async ({ org_id, of, key }, make, stop, isIntact = existsSync) => {
    await ready;
    const folder = join(path, org_id, of, key);
    for (let wasThere = true; !stop.aborted; wasThere = false) {
      const entry = open.entries.get(folder);
      if (entry !== undefined && isIntact(folder)) return held(open, entry, wasThere);
      const others = making.get(folder);
      if (others === undefined) {
        if (entry !== undefined) drop(open, entry);
        const own = makeOnce(open, folder, make);
        making.set(folder, own);
        try {
          return await own;
        } finally {
          making.delete(folder);
        }
      }
      // When the other run has failed or was stopped, this one tries: it may have more time, or a gateway that answers.
      await untilAborted(
        others.catch(() => undefined),
        stop,
      );
    }
    return { kind: 'stopped' };
  };

  return {
    path,
    maxBytes: open.maxBytes,
    use,
    partOf: async (org_id, name) => {
      const parts = join(settings.workFolder, PARTS, org_id);
      await mkdir(parts, { recursive: true, mode: 0o700 });
      return join(parts, name);
    },
    has: (paths) => paths.every((each) => open.entries.has(each)),
    hold: (paths) => {
      const all = new DisposableStack();
      for (const each of paths) {
        const entry = open.entries.get(each);
        if (entry !== undefined) all.use(held(open, entry, true));
      }
      return all;
    },
  };
};

const recordOf = (folder: string): string => `${folder}.json`;

const makeOnce = async (open: Open, folder: string, make: Make): Promise<HeldFolder | NotPrepared> => {
  const { log, entries } = open;
  try {
    await makeEnterable(open, folder);
    await removeTree(folder, log);
    await mkdir(folder);
    const refused = await make(folder);
    if (refused !== null) {
      await removeTree(folder, log);
      return refused;
    }
    // Its programs may be of another user.
    await chmod(folder, READABLE);
    const bytes = (await folderBytes(folder)) ?? 0;
    const half = `${folder}.${randomUUID()}.half`;
    await writeFile(half, JSON.stringify({ bytes }), { mode: 0o600 });
    await rename(half, recordOf(folder));
    const entry: Entry = { path: folder, bytes, lastUsed: Date.now(), holders: 0 };
    entries.set(folder, entry);
    const own = held(open, entry, false);
    makeRoom(open);
    return own;
  } catch (error) {
    await removeTree(folder, log);
    const why = fullDisk(error);
    if (why === null) throw error;
    return why;
  }
};

/** What a disk without room means for a run; null for any other error. */
const fullDisk = (error: unknown): NotPrepared | null =>
  ['ENOSPC', 'EDQUOT'].includes(codeOf(error))
    ? failed(
        'The disk of the executor has no room for what the version needs. Its operator can make room, or set EXECUTOR_CODE_BYTES lower, so that less is kept.',
        true,
      )
    : null;

/** Whoever has a user of its own gets to its folders, and lists nothing above them, whatever the umask of the executor is. */
const makeEnterable = async ({ path }: Open, folder: string): Promise<void> => {
  await mkdir(dirname(folder), { recursive: true });
  for (const each of [path, dirname(dirname(folder)), dirname(folder)]) await chmod(each, ENTERABLE);
};

const ENTERABLE = 0o711;
const READABLE = 0o755;

const held = (open: Open, entry: Entry, wasThere: boolean): HeldFolder => {
  let isHeld = true;
  entry.holders += 1;
  return {
    kind: 'prepared',
    path: entry.path,
    wasThere,
    [Symbol.dispose]: () => {
      if (!isHeld) return;
      isHeld = false;
      entry.holders -= 1;
      noteUse(entry);
      makeRoom(open);
    },
  };
};

/** Kept for the next executor on this work folder too. */
const noteUse = (entry: Entry): void => {
  entry.lastUsed = Date.now();
  try {
    utimesSync(recordOf(entry.path), entry.lastUsed / 1_000, entry.lastUsed / 1_000);
  } catch {
    // It is removed, also by hand: then there is nothing to keep.
  }
};

/** What was used longest ago goes first, and nothing that is in use. */
const makeRoom = (open: Open): void => {
  const all = [...open.entries.values()];
  let bytes = all.reduce((sum, each) => sum + each.bytes, 0);
  for (const entry of all.toSorted((a, b) => a.lastUsed - b.lastUsed)) {
    if (bytes <= open.maxBytes) return;
    if (entry.holders > 0) continue;
    bytes -= entry.bytes;
    open.log.info({ folder: entry.path, bytes: entry.bytes }, REMOVED);
    drop(open, entry);
  }
};

const REMOVED = 'a folder of a version is removed: those of this executor have more than EXECUTOR_CODE_BYTES';

/** It is nobody's at once, also when the executor is killed meanwhile. */
const drop = ({ entries, workFolder, log }: Open, { path }: Entry): void => {
  entries.delete(path);
  const removed = join(workFolder, `tmp-prepared-${randomUUID()}`);
  try {
    rmSync(recordOf(path), { force: true });
    renameSync(path, removed);
  } catch {
    // Somebody has removed it by hand.
    return;
  }
  void removeTree(removed, log);
};

const readAll = async (open: Open): Promise<void> => {
  const { path, entries, log } = open;
  for (const org of await namesIn(path))
    for (const of of await namesIn(join(path, org))) {
      const names = new Set(await namesIn(join(path, org, of)));
      for (const name of names) {
        const at = join(path, org, of, name);
        const isRecord = name.endsWith('.json') && names.has(name.slice(0, -'.json'.length));
        const entry = isRecord ? null : await readEntry(at);
        if (entry !== null) entries.set(at, entry);
        else if (!isRecord) await removeTree(at, log);
      }
    }
  await removeOldParts(join(open.workFolder, PARTS));
  makeRoom(open);
};

const removeOldParts = async (parts: string): Promise<void> => {
  for (const org of await namesIn(parts))
    for (const name of await namesIn(join(parts, org))) {
      const path = join(parts, org, name);
      const found = await stat(path).catch(() => null);
      if (found !== null && Date.now() - found.mtimeMs > PART_KEPT_MS) await rm(path, { force: true });
    }
};

const readEntry = async (path: string): Promise<Entry | null> => {
  try {
    const value = parsePlainJson(await readFile(recordOf(path), 'utf8'));
    const { mtimeMs } = await stat(recordOf(path));
    return isJsonObject(value) && typeof value.bytes === 'number'
      ? { path, bytes: value.bytes, lastUsed: mtimeMs, holders: 0 }
      : null;
  } catch {
    return null;
  }
};

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);
