import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@runledger/event-log/connect/logger';
import { CONTENT, incomingOf, isAbsent, isShard } from './layout.ts';

export interface ExpiryOptions {
  readonly root: string;
  /** Older files are removed. */
  readonly keepMs: number;
  readonly now: () => Date;
  readonly logger: Logger;
}

const SWEEP_EVERY_MS = 3_600_000;
/** No upload takes longer: a request may last an hour. */
const MAX_UPLOAD_MS = 24 * 3_600_000;

/** Removes expired files now and every hour, and incomplete uploads of gateways that crashed. Several gateways may do so at once. */
export const openExpiry = (options: ExpiryOptions): AsyncDisposable => {
  let sweeping = sweep(options);
  const timer = setInterval(() => {
    sweeping = sweeping.then(() => sweep(options));
  }, SWEEP_EVERY_MS).unref();
  return {
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      await sweeping;
    },
  };
};

const sweep = async ({ root, keepMs, now, logger }: ExpiryOptions): Promise<void> => {
  const present = now().getTime();
  try {
    const shards = (await readdir(root)).filter(isShard).map((shard) => join(root, shard));
    for (const shard of shards) await removeOlder(shard, CONTENT, present - keepMs);
    await removeOlder(incomingOf(root), '.', present - MAX_UPLOAD_MS);
  } catch (err) {
    logger.warn({ err, root }, 'expired output files could not be removed');
  }
};

/** Removes the folders in `parent` whose `dated` entry is older than `time`. */
const removeOlder = async (parent: string, dated: string, time: number): Promise<void> => {
  for (const name of await entries(parent)) {
    const folder = join(parent, name);
    const written = await writtenAt(join(folder, dated));
    if (written !== undefined && written < time) await rm(folder, { recursive: true, force: true });
  }
};

const entries = async (folder: string): Promise<string[]> => {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
};

const writtenAt = async (path: string): Promise<number | undefined> => {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
};
