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
  /** Where it serves, once it does. */
  url: Type.Optional(Type.String()),
});
export type Holder = Static<typeof Holder>;

interface FolderLock extends AsyncDisposable {
  /** Lets others see where the holder serves. */
  readonly tellUrl: (url: string) => Promise<void>;
}

export type Locked =
  | { readonly kind: 'locked'; readonly lock: FolderLock }
  | { readonly kind: 'held'; readonly by: Holder };

const MOST_TRIES = 20;

/**
 * Takes the lock file for this process. The lock of a process that is gone, however it ended, is taken over.
 * @throws Error when the file system refuses, or when other starts take the lock in turn without end
 */
export const takeLock = async (path: string, now: () => Date): Promise<Locked> => {
  const identity = await identityOf(process.pid);
  if (identity === undefined) throw new Error('This process is not listed in /proc, which the lock needs.');
  const mine: Holder = { ...identity, since: now().toISOString() };
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    if (await placeLock(path, mine)) return { kind: 'locked', lock: lockAt(path, mine) };
    const found = await read(path);
    if (found === undefined) continue;
    const holder = parseHolder(found);
    if (holder !== undefined && (await isRunning(holder))) return { kind: 'held', by: holder };
    await removeStale(path, found);
  }
  throw new Error(`The lock ${path} is taken and given back by others all the time. Try again.`);
};

/** A link, unlike a rename, replaces nothing; and the file is whole before it has its name. */
const placeLock = async (path: string, holder: Holder): Promise<boolean> => {
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

/** Takes away the stale lock, and only that: another start may have replaced it since it was read. */
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
    tellUrl: async (url) => {
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
