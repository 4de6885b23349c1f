import type { CodeManifest, ModelFile } from '@runledger/contracts/catalogue/code';
import { untilAborted } from '@runledger/resilience/abort';
import { codeOf } from '@runledger/resilience/errors';
import { keyedMutex } from '@runledger/resilience/keyed-mutex';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, link, mkdir, open, rename, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { VersionSource } from '../runners/runner.ts';
import type { FetchUrl } from '../transfer/fetch-url.ts';
import { noPart, type FetchedFile, type FileToFetch, type PartOfFile } from '../transfer/input-file.ts';

export interface ModelsToPrepare {
  /** Has a folder for each organisation: they share nothing. On one disk. */
  readonly folder: string;
  readonly org_id: string;
  readonly models: NonNullable<CodeManifest['models']>;
  /** Of all of them together. */
  readonly maxBytes: number;
  readonly fetchUrl: FetchUrl;
  readonly source: VersionSource;
  /** At most twice a second while a file is on its way, and when it is there. */
  readonly onProgress: (progress: ModelProgress) => void;
  readonly stop: AbortSignal;
}

/** One file on its way. */
export interface ModelProgress {
  /** As the manifest has it. */
  readonly path: string;
  readonly bytes: number;
  /** Null while its server has not said it. */
  readonly of: number | null;
}

export type PreparedModels =
  | { readonly kind: 'ready'; readonly folder: string }
  /** `why`: sentences, for people. */
  | { readonly kind: 'failed'; readonly why: string; readonly retryable: boolean }
  /** The run was cancelled or requeued meanwhile, or the executor stops. */
  | { readonly kind: 'stopped' };

type NotPrepared = Exclude<PreparedModels, { readonly kind: 'ready' }>;

const PROGRESS_EVERY_MS = 500;
/** Whoever has a user of its own gets to its models, and lists nothing above them. */
const ENTERABLE = 0o711;
const READABLE = 0o755;
const MODEL = 0o444;

/**
 * The folder with the files of a manifest by their paths, read-only. Each file is stored once for an organisation, by its hash, and is in any number of
 * such folders as a link. What was fetched of a file stays after a failure and a kill, and is continued by who needs it next.
 */
export const prepareModels = async (options: ModelsToPrepare): Promise<PreparedModels> => {
  try {
    return await prepare(options);
  } catch (error) {
    if (options.stop.aborted) return { kind: 'stopped' };
    if (!['ENOSPC', 'EDQUOT'].includes(codeOf(error))) throw error;
    return failed('The disk of the executor has no room for the models. Its operator can make room.', true);
  }
};

const prepare = async (options: ModelsToPrepare): Promise<PreparedModels> => {
  const { folder, org_id, maxBytes } = options;
  const models = Object.entries(options.models).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const nested = nestedIn(models.map(([path]) => path));
  if (nested !== null) return failed(nested, false);
  const own = join(folder, org_id);
  const [store, sets] = [join(own, 'models'), join(own, 'model-sets')];
  await mkdir(store, { recursive: true });
  await mkdir(sets, { recursive: true });
  for (const each of [folder, own, store, sets]) await chmod(each, ENTERABLE);
  const set = join(sets, hashOf(JSON.stringify(models.map(([path, { sha256 }]) => [path, sha256]))));
  // Also what an earlier version had; a link says nothing of a file that was removed by hand.
  if (models.length > 0 && (await areThere(models.map(([path]) => join(set, path)))))
    return { kind: 'ready', folder: set };
  let left = maxBytes;
  const stored = new Map<string, string>();
  for (const [path, model] of models) {
    const file = join(store, model.sha256);
    const bytes = await storeOnce({ ...options, path, model, file, left });
    if (typeof bytes !== 'number') return bytes;
    if (bytes > left) return failed(tooMany(maxBytes), false);
    left -= bytes;
    stored.set(path, file);
  }
  await linkAll(set, stored);
  return { kind: 'ready', folder: set };
};

const failed = (why: string, retryable: boolean): NotPrepared => ({ kind: 'failed', why, retryable });
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const tooMany = (maxBytes: number): string =>
  `The models of the version have more than ${maxBytes} bytes, which is what this executor takes of one version.`;

/** Why two paths cannot be in one folder; null when all can. */
const nestedIn = (paths: readonly string[]): string | null => {
  for (const path of paths) {
    const below = paths.find((each) => each.startsWith(`${path}/`));
    if (below !== undefined)
      return `The model ${below} is below ${path}, which is a model too. Rename one of them.`;
  }
  return null;
};

const areThere = async (paths: readonly string[]): Promise<boolean> => {
  const found = await Promise.all(paths.map((path) => bytesAt(path)));
  return !found.includes(null);
};

/** Null without a file. */
const bytesAt = async (path: string): Promise<number | null> => {
  try {
    const found = await stat(path);
    return found.isFile() ? found.size : null;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return null;
    throw error;
  }
};

interface ModelToStore extends ModelsToPrepare {
  readonly path: string;
  readonly model: ModelFile;
  /** Where it is stored. */
  readonly file: string;
  /** Bytes that it may have. */
  readonly left: number;
}

interface Fetching {
  readonly model: ModelFile;
  readonly part: PartOfFile;
  readonly result: Promise<NotPrepared | number>;
}

/** By the path where the file is stored. All slots of the executor are in this process. */
const fetching = new Map<string, Fetching>();

/** Its bytes, when it is stored. Of all who need it one fetches it, and the others wait: when that one was stopped, the next continues. */
const storeOnce = async (wanted: ModelToStore): Promise<NotPrepared | number> => {
  const { file, model, stop } = wanted;
  while (!stop.aborted) {
    const bytes = await bytesAt(file);
    if (bytes !== null) return bytes;
    const others = fetching.get(file);
    if (others === undefined) {
      const part = noPart();
      const own = { model, part, result: store(wanted, part).finally(() => fetching.delete(file)) };
      fetching.set(file, own);
      return await reporting(wanted, part, own.result);
    }
    const shared = await reporting(
      wanted,
      others.part,
      untilAborted(
        others.result.catch(() => undefined),
        stop,
      ),
    );
    const isSame = others.model.url === model.url && others.model.file === model.file;
    if (typeof shared === 'object' && shared.kind === 'failed' && isSame) return shared;
  }
  return { kind: 'stopped' };
};

const reporting = async <Result>(
  { path, onProgress }: ModelToStore,
  part: PartOfFile,
  work: Promise<Result>,
): Promise<Result> => {
  let reported = 0;
  const report = (): void => {
    if (part.bytes !== reported) onProgress({ path, bytes: (reported = part.bytes), of: part.of });
  };
  const timer = setInterval(report, PROGRESS_EVERY_MS);
  try {
    const result = await work;
    if (typeof result === 'number') onProgress({ path, bytes: result, of: result });
    return result;
  } finally {
    clearInterval(timer);
  }
};

/** Fetches the file behind what is there of it, checks its hash, and gives it its place. */
const store = async (wanted: ModelToStore, part: PartOfFile): Promise<NotPrepared | number> => {
  const { file, model, path, stop } = wanted;
  const incoming = `${file}.part`;
  await readPart(incoming, part, stop);
  // It was killed when all had arrived.
  if (part.bytes > 0 && sha256Of(part) === model.sha256) return keep(incoming, file, part.bytes);
  // Its server may have another file by now: only the hash of the whole says it.
  const wasContinued = part.bytes > 0;
  const fetched = await fetchTo(wanted, incoming, part);
  if (fetched.kind === 'stopped') return fetched;
  if (fetched.kind === 'refused') {
    if (!fetched.error.retryable) await rm(incoming, { force: true });
    return failed(fetched.error.message, fetched.error.retryable);
  }
  const sha256 = sha256Of(part);
  if (sha256 === model.sha256) return keep(incoming, file, part.bytes);
  await rm(incoming, { force: true });
  if (wasContinued) return store(wanted, Object.assign(part, noPart()));
  return failed(
    `The model ${path} is not the file that the version names: its SHA-256 should be ${model.sha256} and is ${sha256}. ` +
      'Correct its sha256 or where it is in the configuration of the folder, and deploy again.',
    false,
  );
};

const sha256Of = ({ hash }: PartOfFile): string => hash.copy().digest('hex');

const fetchTo = async (
  { path, model, left, maxBytes, fetchUrl, source, stop }: ModelToStore,
  incoming: string,
  part: PartOfFile,
): Promise<FetchedFile> => {
  const what = `The model ${path}`;
  const file: FileToFetch = {
    path: incoming,
    maxBytes: left,
    what,
    kind: 'prepare_failed',
    tooLarge: tooMany(maxBytes),
    part,
  };
  if (model.url !== undefined) return fetchUrl(model.url, file, stop);
  if (model.file === undefined)
    throw new TypeError('A model has neither a URL nor a file: its schema was not checked');
  Object.assign(part, noPart());
  const fetched = await source.file(model.file, incoming, left, stop);
  if (fetched.kind === 'fetched') await readPart(incoming, part, stop);
  return fetched;
};

/** Reads what is there of a file. A part without a hash is worth nothing. */
const readPart = async (path: string, part: PartOfFile, stop: AbortSignal): Promise<void> => {
  if ((await bytesAt(path)) === null) return;
  await pipeline(
    createReadStream(path, { highWaterMark: 1024 ** 2 }),
    async (pieces: AsyncIterable<Buffer>) => {
      for await (const piece of pieces) {
        part.hash.update(piece);
        part.bytes += piece.byteLength;
      }
    },
    { signal: stop },
  );
};

/** The file has its name only when it is on the disk as a whole. */
const keep = async (incoming: string, file: string, bytes: number): Promise<number> => {
  await flush(incoming);
  await chmod(incoming, MODEL);
  await rename(incoming, file);
  await flush(dirname(file));
  return bytes;
};

const flush = async (path: string): Promise<void> => {
  await using handle = await open(path, 'r');
  await handle.sync();
};

/** One at a time makes the folder, which appears as a whole by one rename. One that lacks a file is of no use, and is replaced. */
const linkAll = (set: string, stored: ReadonlyMap<string, string>): Promise<void> =>
  linking(set, async () => {
    if (stored.size > 0 && (await areThere([...stored.keys()].map((path) => join(set, path))))) return;
    const half = `${set}.half`;
    await rm(half, { recursive: true, force: true });
    await mkdir(half);
    await chmod(half, READABLE);
    for (const [path, file] of stored) {
      await makeFolders(half, dirname(path));
      await linkTo(file, join(half, path));
    }
    await rm(set, { recursive: true, force: true });
    await rename(half, set);
  });

const linking = keyedMutex();

const makeFolders = async (root: string, path: string): Promise<void> => {
  await mkdir(join(root, path), { recursive: true });
  for (let each = path; each !== '.'; each = dirname(each)) await chmod(join(root, each), READABLE);
};

/** Not every disk has hard links, and of one file not any number. */
const linkTo = async (file: string, path: string): Promise<void> => {
  try {
    await link(file, path);
  } catch (error) {
    if (!NO_HARD_LINK.has(codeOf(error))) throw error;
    await symlink(file, path);
  }
};

const NO_HARD_LINK: ReadonlySet<string> = new Set([
  'EPERM',
  'EMLINK',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EXDEV',
]);
