import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm } from 'node:fs/promises';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { Value } from 'typebox/value';
import { identityOf, isRunning } from './process-identity.ts';
import { writeDraft, writePrivateFile } from './write-file.ts';

const Holder = Type.Object({
  pid: Type.Integer({ minimum: 1 }),
  start_ticks: Type.Number(),
  boot_id: Type.String(),
  since: Type.String(),
  /** Where the standalone listens, once it does. */
  url: Type.Optional(Type.String()),
});
export type Holder = Static<typeof Holder>;

interface FolderLock extends AsyncDisposable {
  /** Lets others see where the holder listens. */
  readonly publishUrl: (url: string) => Promise<void>;
}

export type Locked =
  | { readonly kind: 'locked'; readonly lock: FolderLock }
  | { readonly kind: 'held'; readonly by: Holder };

const MAX_ATTEMPTS = 20;

/**
 * Takes the lock file for this process. It replaces the lock of a process that has ended.
 * @throws Error for a failure of the file system, or if other starts keep taking the lock
 */
export const takeLock = async (path: string, now: () => Date): Promise<Locked> => {
  const identity = await identityOf(process.pid);
  if (identity === undefined) throw new Error('The lock needs /proc, which does not list this process.');
  const mine: Holder = { ...identity, since: now().toISOString() };
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    if (await createLock(path, mine)) return { kind: 'locked', lock: lockAt(path, mine) };
    const found = await read(path);
    if (found === undefined) continue;
    const holder = parseHolder(found);
    if (holder !== undefined && (await isRunning(holder))) return { kind: 'held', by: holder };
    await removeStale(path, found);
  }
  throw new Error(`Other processes keep taking and releasing the lock ${path}. Try again.`);
};

/** A link, unlike a rename, never replaces a file. The file is complete before it gets its name. */
const createLock = async (path: string, holder: Holder): Promise<boolean> => {
  const draft = await writeDraft(path, textOf(holder));
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
};

/** Removes the stale lock, unless another start has replaced it since it was read. */
const removeStale = async (path: string, stale: string): Promise<void> => {
  const aside = `${path}.${randomUUID()}.stale`;
  try {
    await rename(path, aside);
    if ((await read(aside)) !== stale) await link(aside, path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT') && !hasCode(error, 'EEXIST')) throw error;
  } finally {
    await rm(aside, { force: true });
  }
};

const lockAt = (path: string, mine: Holder): FolderLock => {
  let text = textOf(mine);
  return {
    publishUrl: async (url) => {
      text = textOf({ ...mine, url });
      await writePrivateFile(path, text);
    },
    [Symbol.asyncDispose]: async () => {
      if ((await read(path)) === text) await rm(path, { force: true });
    },
  };
};

const textOf = (holder: Holder): string => `${JSON.stringify(holder)}\n`;

const read = async (path: string): Promise<string | undefined> => {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
};

const parseHolder = (text: string): Holder | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return Value.Check(Holder, value) ? value : undefined;
  } catch {
    return undefined;
  }
};

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;
