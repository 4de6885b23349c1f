import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Logger } from '@runledger/event-log/connect/observability';
import { codeOf, messageOf } from '@runledger/resilience/errors';
import {
  isOutputKey,
  OutputStoreFull,
  OutputStoreUnavailable,
  FileDescription,
  DAY_MS,
  hashed,
  keepDaysConfig,
  openSweeps,
  storing,
  type ByteSpan,
  type OutputStore,
  type OutputStoreAdapter,
  type OutputToStore,
  type StoredOutput,
} from '../output-store.ts';
import {
  directoryOf,
  orAbsent,
  placeWhole,
  removeIncomplete,
  removeOlder,
  writtenAt,
} from './whole-files.ts';

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
  open: ({ RUNLEDGER_OUTPUTS_DIRECTORY, RUNLEDGER_OUTPUTS_KEEP_DAYS: keepDays }, { logger, now }, place) => {
    const root = directoryOf(RUNLEDGER_OUTPUTS_DIRECTORY, 'RUNLEDGER_OUTPUTS');
    if (place === 'models') return openDirectoryModels(root);
    return openDirectoryFiles({ root, keepMs: keepDays * DAY_MS, now, logger });
  },
};

/** Files in this directory. What is older than `keepMs`, in milliseconds, expires. */
const openDirectoryFiles = (options: ExpiryOptions): OutputStore & AsyncDisposable => {
  const { root, keepMs, now } = options;
  const expiry = openExpiry(options);
  return {
    ...directoryOutputStore(root, pathOf, () => now().getTime() - keepMs),
    keepsForMs: async () => keepMs,
    [Symbol.asyncDispose]: () => expiry[Symbol.asyncDispose](),
  };
};

/** Below one folder, in which nothing expires. What killed gateways were writing is removed with that of output files. */
const openDirectoryModels = (root: string): OutputStore & AsyncDisposable => ({
  ...directoryOutputStore(
    root,
    (key) => [MODELS, ...pathOf(key)],
    () => Number.NEGATIVE_INFINITY,
  ),
  keepsForMs: async () => Number.POSITIVE_INFINITY,
  [Symbol.asyncDispose]: async () => undefined,
});

/** No folder of output files, whose names have two characters. */
const MODELS = 'models';

/** `retentionCutoff`: files that were stored before it have expired. Milliseconds since 1970. */
const directoryOutputStore = (
  root: string,
  pathOf: (key: string) => readonly string[],
  retentionCutoff: () => number,
): Omit<OutputStore, 'keepsForMs'> => ({
  put: async (output, body) => {
    if (!isOutputKey(output.key)) throw new TypeError('An output file needs a key of 43 characters.');
    const place = (pieces: AsyncIterable<Uint8Array>) =>
      placeWhole(root, pathOf(output.key), (folder) => writeFiles(folder, output, pieces));
    return storing(body, place, (error) =>
      isFull(error) ? full(error) : unavailable('storing an output file', error),
    );
  },
  find: (key) =>
    isOutputKey(key)
      ? findFile(root, { key, path: pathOf(key) }, retentionCutoff())
      : Promise.resolve(undefined),
  read: (output, span) => readFileSpan(join(root, ...pathOf(output.key), CONTENT), span),
  remove: async (key) => {
    if (!isOutputKey(key)) return false;
    try {
      const isPresent = (await writtenAt(root, ...pathOf(key))) !== undefined;
      await rm(join(root, ...pathOf(key)), { recursive: true, force: true });
      return isPresent;
    } catch (error) {
      throw unavailable('removing an output file', error);
    }
  },
});

/** The file and its description, in a new folder. */
const writeFiles = async (
  folder: string,
  { key, filename, content_type }: OutputToStore,
  body: AsyncIterable<Uint8Array>,
): Promise<StoredOutput> => {
  await mkdir(folder);
  const content = join(folder, CONTENT);
  const hashing = hashed(body);
  await pipeline(hashing.pieces, createWriteStream(content, { flags: 'wx', flush: true }));
  const described = { key, filename, content_type, ...hashing.done() };
  await writeFile(join(folder, DESCRIPTION), JSON.stringify(described), { flush: true });
  return { ...described, stored_at: (await stat(content)).mtime.toISOString() };
};

const findFile = async (
  root: string,
  { key, path }: { readonly key: string; readonly path: readonly string[] },
  retentionCutoff: number,
): Promise<StoredOutput | undefined> => {
  const folder = join(root, ...path);
  try {
    const found = await orAbsent(root, undefined, () =>
      Promise.all([stat(join(folder, CONTENT)), readFile(join(folder, DESCRIPTION), 'utf8')]),
    );
    if (!found) return undefined;
    const [{ size, mtime }, text] = found;
    if (mtime.getTime() < retentionCutoff) return undefined;
    const described: unknown = JSON.parse(text);
    if (!Value.Check(FileDescription, described) || described.bytes !== size) {
      throw new OutputStoreUnavailable(`The output file in ${folder} is damaged.`);
    }
    // A file system that ignores case finds more than one key.
    return described.key === key ? { ...described, stored_at: mtime.toISOString() } : undefined;
  } catch (error) {
    if (error instanceof OutputStoreUnavailable) throw error;
    throw unavailable('looking for an output file', error);
  }
};

async function* readFileSpan(path: string, { first, last }: ByteSpan): AsyncGenerator<Uint8Array> {
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

/** Of the disk, or of the user's part of it. */
const isFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(codeOf(error));

const full = (cause: unknown): OutputStoreFull =>
  new OutputStoreFull(
    'The disk of the output files is full. An operator has to make room in RUNLEDGER_OUTPUTS_DIRECTORY of the gateway, or let files expire sooner (RUNLEDGER_OUTPUTS_KEEP_DAYS)',
    { cause },
  );

const unavailable = (what: string, error: unknown): OutputStoreUnavailable => {
  const why = messageOf(error);
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

/** Removes expired files now and every hour, and incomplete uploads of gateways that crashed. Several gateways may do so at once. */
const openExpiry = ({ root, keepMs, now, logger }: ExpiryOptions): AsyncDisposable =>
  openSweeps(SWEEP_EVERY_MS, async () => {
    const present = now().getTime();
    try {
      for (const shard of (await readdir(root)).filter(isShard))
        await removeOlder(root, shard, present - keepMs, CONTENT);
      await removeIncomplete(root, present);
    } catch (err) {
      logger.warn({ err, root }, 'expired output files could not be removed');
    }
  });

/** `<root>/<two characters>/<key>/` holds one file and its description: thousands of entries in one folder are slow on some file systems. */
const CONTENT = 'content';
const DESCRIPTION = 'description.json';
const pathOf = (key: string): readonly [shard: string, key: string] => [key.slice(0, 2), key];

const SHARD = /^[A-Za-z0-9_-]{2}$/;
const isShard = (name: string): boolean => SHARD.test(name);
