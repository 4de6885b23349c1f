import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { access, mkdir, open, readFile, rename, rm, stat, writeFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ConfigError } from '@runledger/service-kit/config';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Logger } from '@runledger/event-log/connect/observability';
import {
  isOutputKey,
  OutputStoreFull,
  OutputStoreUnavailable,
  FileDescription,
  DAY_MS,
  keepDaysConfig,
  storedBody,
  type ByteSpan,
  type OutputStore,
  type OutputStoreAdapter,
  type OutputToStore,
  type StoredOutput,
} from '../output-store.ts';

const READ_BYTES = 128 * 1024;

const settings = {
  RUNLEDGER_OUTPUTS_DIRECTORY: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'with RUNLEDGER_OUTPUTS=directory: the directory of the output files, which has to exist; on a shared mount a directory inside it, so that a missing mount is noticed',
    }),
  ),
  ...keepDaysConfig,
};

/** Files in a directory, for a standalone or on a mount that all gateways share. Its disk is the limit of all files together. */
export const directory: OutputStoreAdapter<typeof settings> = {
  settings,
  needsLog: false,
  open: ({ RUNLEDGER_OUTPUTS_DIRECTORY: root, RUNLEDGER_OUTPUTS_KEEP_DAYS: keepDays }, { logger, now }) => {
    if (root === undefined) {
      throw new ConfigError([
        {
          variable: 'RUNLEDGER_OUTPUTS_DIRECTORY',
          wrong: 'is not set, and RUNLEDGER_OUTPUTS is "directory"',
          right: 'an existing directory',
        },
      ]);
    }
    return openDirectoryObjects({ root, keepMs: keepDays * DAY_MS, now, logger });
  },
};

/** Files in this directory. What is older than `keepMs`, in milliseconds, expires. */
export const openDirectoryObjects = (options: ExpiryOptions): OutputStore & AsyncDisposable => {
  const { root, keepMs, now } = options;
  const expiry = openExpiry(options);
  return {
    ...directoryOutputStore(root, () => now().getTime() - keepMs),
    keepsForMs: async () => keepMs,
    [Symbol.asyncDispose]: () => expiry[Symbol.asyncDispose](),
  };
};

/** `keptSince`: files that were stored before it have expired. Milliseconds since 1970. */
const directoryOutputStore = (root: string, keptSince: () => number): Omit<OutputStore, 'keepsForMs'> => ({
  put: async (output, body) => {
    if (!isOutputKey(output.key)) throw new TypeError('An output file needs a key of 43 characters.');
    const source = storedBody(body);
    const incoming = incomingOf(root, `${output.key}.${randomUUID()}`);
    try {
      return await putFile(root, incoming, output, source.pieces);
    } catch (error) {
      void source.pieces.return();
      await rm(incoming, { recursive: true, force: true }).catch(() => undefined);
      throw source.broken() ?? (isFull(error) ? full(error) : unavailable('storing an output file', error));
    }
  },
  find: (key) => (isOutputKey(key) ? findFile(root, key, keptSince()) : Promise.resolve(undefined)),
  read: (output, span) => readFileSpan(root, output, span),
  remove: async (key) => {
    if (!isOutputKey(key)) return false;
    const folder = folderOf(root, key);
    try {
      const isPresent = await exists(folder);
      await rm(folder, { recursive: true, force: true });
      return isPresent;
    } catch (error) {
      throw unavailable('removing an output file', error);
    }
  },
});

/** The file and its description are written in a temporary directory and appear at once, by one rename. */
const putFile = async (
  root: string,
  incoming: string,
  output: OutputToStore,
  body: AsyncIterable<Uint8Array>,
): Promise<StoredOutput> => {
  await makeFolder(incomingOf(root));
  await mkdir(incoming);
  const content = join(incoming, CONTENT);
  const hash = createHash('sha256');
  const hashed = async function* (pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      hash.update(piece);
      yield piece;
    }
  };
  await pipeline(body, hashed, createWriteStream(content, { flags: 'wx', flush: true }));
  const { size, mtime } = await stat(content);
  const { key, filename, content_type } = output;
  const described = { key, filename, content_type, bytes: size, sha256: hash.digest('hex') };
  await writeFile(join(incoming, DESCRIPTION), JSON.stringify(described), { flush: true });
  const shard = shardOf(root, key);
  await makeFolder(shard);
  await rename(incoming, folderOf(root, key));
  await flushFolder(shard);
  return { ...described, stored_at: mtime.toISOString() };
};

const findFile = async (root: string, key: string, keptSince: number): Promise<StoredOutput | undefined> => {
  const folder = folderOf(root, key);
  try {
    const { size, mtime } = await stat(join(folder, CONTENT));
    if (mtime.getTime() < keptSince) return undefined;
    const described: unknown = JSON.parse(await readFile(join(folder, DESCRIPTION), 'utf8'));
    if (!Value.Check(FileDescription, described) || described.bytes !== size) {
      throw new OutputStoreUnavailable(`The output file in ${folder} is damaged.`);
    }
    // A file system that ignores case finds more than one key.
    return described.key === key ? { ...described, stored_at: mtime.toISOString() } : undefined;
  } catch (error) {
    if (error instanceof OutputStoreUnavailable) throw error;
    if (isAbsent(error) && (await exists(root))) return undefined;
    throw unavailable('looking for an output file', error);
  }
};

async function* readFileSpan(
  root: string,
  output: StoredOutput,
  { first, last }: ByteSpan,
): AsyncGenerator<Uint8Array> {
  const path = join(folderOf(root, output.key), CONTENT);
  const stream = createReadStream(path, { start: first, end: last, highWaterMark: READ_BYTES });
  let remaining = last + 1 - first;
  try {
    for await (const piece of stream) {
      const bytes = Buffer.from(piece);
      remaining -= bytes.byteLength;
      yield bytes;
    }
  } catch (error) {
    throw unavailable('reading an output file', error);
  }
  if (remaining > 0) throw new OutputStoreUnavailable(`The output file ${path} is shorter than it was.`);
}

/** Creates no parents: when the root is missing, the mount may be missing. */
const makeFolder = async (path: string): Promise<void> => {
  try {
    await mkdir(path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
};

/** A rename survives a loss of power only once its folder is on the disk. */
const flushFolder = async (path: string): Promise<void> => {
  await using folder = await open(path, 'r');
  await folder.sync();
};

const exists = (root: string): Promise<boolean> =>
  access(root).then(
    () => true,
    () => false,
  );

/** Of the disk, or of the user's part of it. */
const isFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');

const full = (cause: unknown): OutputStoreFull =>
  new OutputStoreFull(
    'The disk of the output files is full. An operator has to make room in RUNLEDGER_OUTPUTS_DIRECTORY of the gateway, or let files expire sooner (RUNLEDGER_OUTPUTS_KEEP_DAYS)',
    { cause },
  );

const unavailable = (what: string, error: unknown): OutputStoreUnavailable => {
  const why = error instanceof Error ? error.message : String(error);
  return new OutputStoreUnavailable(`${what}: the file system failed (${why})`, { cause: error });
};

interface ExpiryOptions {
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
const openExpiry = (options: ExpiryOptions): AsyncDisposable => {
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

/**
 * `<root>/<two characters>/<key>/` holds one file and its description. `<root>/incoming/` holds uploads in
 * progress. They are moved as a whole, so a file exists completely or not at all.
 */
const CONTENT = 'content';
const DESCRIPTION = 'description.json';
const INCOMING = 'incoming';

const SHARD = /^[A-Za-z0-9_-]{2}$/;
const isShard = (name: string): boolean => SHARD.test(name);

/** Thousands of files in one folder are slow on some file systems. */
const shardOf = (root: string, key: string): string => join(root, key.slice(0, 2));
const folderOf = (root: string, key: string): string => join(shardOf(root, key), key);
const incomingOf = (root: string, ...name: readonly string[]): string => join(root, INCOMING, ...name);

/** The file does not exist; another gateway may have removed it. */
const isAbsent = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
