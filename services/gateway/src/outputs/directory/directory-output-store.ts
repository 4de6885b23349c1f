import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { access, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ConfigError } from '@runledger/service-kit/config/config';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { ByteSpan } from '../core/byte-range.ts';
import {
  isOutputKey,
  OutputStoreFull,
  OutputStoreUnavailable,
  type OutputStore,
  type OutputStoreAdapter,
  type OutputToStore,
  type StoredOutput,
} from '../store/output-store.ts';
import { FileDescription } from '../store/file-description.ts';
import { DAY_MS, keepDaysConfig } from '../store/keep-days.ts';
import { storedBody } from '../store/stored-body.ts';
import { openExpiry, type ExpiryOptions } from './expiry.ts';
import { CONTENT, DESCRIPTION, folderOf, incomingOf, isAbsent, shardOf } from './layout.ts';

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
