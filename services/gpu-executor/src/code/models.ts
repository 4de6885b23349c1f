import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, open, rename, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isKeptModel, type CodeManifest, type ModelFile } from '@runledger/contracts/catalogue/code';
import type { FetchKeptModel } from '../runners/runner.ts';
import type { FetchUrl } from '../transfer/fetch-url.ts';
import { noPart, type FetchedFile, type FileToFetch, type PartOfFile } from '../transfer/input-file.ts';
import { modelRequest, type SecretValues } from './model-request.ts';
import { failed, type NotPrepared, type PreparedFolders } from './prepared-folders.ts';

export interface ModelsRun {
  readonly org_id: string;
  readonly manifest: CodeManifest;
  readonly secrets: SecretValues;
  readonly folders: PreparedFolders;
  readonly fetchKeptModel: FetchKeptModel;
  /** What happens, in a few words. It is shown, and a line of the log of the run unless `isLogged` is false. */
  readonly onStep: (step: string, isLogged?: boolean) => void;
  readonly stop: AbortSignal;
}

/** The weights of a version, by the paths that its manifest gives them. */
export interface PreparedModels extends Disposable {
  readonly kind: 'prepared';
  readonly path: string;
  readonly wasThere: boolean;
  /** All that it leads to. */
  readonly folders: readonly string[];
}

const READABLE = 0o755;
const MODEL = 0o444;
/** The name of the file in its folder. */
export const WEIGHTS = 'weights';

/**
 * Each file is kept once for an organisation, by its hash, and the folder has links to them. What was fetched of a file stays after a failure and a
 * kill, and is continued by who needs it next.
 */
export const prepareModels = async (
  fetchUrl: FetchUrl,
  run: ModelsRun,
): Promise<PreparedModels | NotPrepared> => {
  const { org_id, folders, manifest, stop } = run;
  const models = Object.entries(manifest.models ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const nested = nestedIn(models.map(([path]) => path));
  if (nested !== null) return failed(nested);
  using stack = new DisposableStack();
  const links = new Map<string, string>();
  let left = folders.maxBytes;
  let wasThere = true;
  for (const [path, model] of models) {
    const made = await folders.use(
      { org_id, of: 'models', key: model.sha256 },
      (folder) =>
        fetchModel(fetchUrl, run, { path, what: `The model ${path}`, model, folder, maxBytes: left }),
      stop,
    );
    if (made.kind !== 'prepared') return made;
    stack.use(made);
    wasThere &&= made.wasThere;
    const file = join(made.path, WEIGHTS);
    left -= (await stat(file)).size;
    if (left < 0) return failed(tooMany(folders));
    links.set(path, file);
  }
  const set = await folders.use(
    { org_id, of: 'model-sets', key: hashOf(JSON.stringify([...links])) },
    (folder) => linkAll(folder, links),
    stop,
  );
  if (set.kind !== 'prepared') return set;
  stack.use(set);
  const all = stack.move();
  return {
    kind: 'prepared',
    path: set.path,
    wasThere: wasThere && set.wasThere,
    folders: [set.path, ...[...links.values()].map(dirname)],
    [Symbol.dispose]: () => all.dispose(),
  };
};

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Why two paths cannot be in one folder; null when all can. */
const nestedIn = (paths: readonly string[]): string | null => {
  for (const path of paths) {
    const below = paths.find((each) => each.startsWith(`${path}/`));
    if (below !== undefined)
      return `The model ${below} is below ${path}, which is a model too. Rename one of them.`;
  }
  return null;
};

interface ModelToFetch {
  /** As the manifest has it. */
  readonly path: string;
  /** For the beginning of a sentence. */
  readonly what: string;
  readonly model: ModelFile;
  readonly folder: string;
  readonly maxBytes: number;
}

const tooMany = ({ maxBytes }: PreparedFolders): string =>
  `The models of the version have more than ${maxBytes} bytes, which is what this executor keeps of versions (EXECUTOR_CODE_BYTES).`;

/** Fetches the file behind what is there of it, and checks its hash. @throws errors of the disk */
export const fetchModel = async (
  fetchUrl: FetchUrl,
  run: ModelsRun,
  wanted: ModelToFetch,
): Promise<NotPrepared | null> => {
  const { path, what, model, folder, maxBytes } = wanted;
  const { org_id, folders, onStep, stop } = run;
  const part = noPart();
  const incoming = await folders.partOf(org_id, model.sha256);
  await readPart(incoming, part, stop);
  // Its server may have another file by now: only the hash of the whole says it.
  const wasContinued = part.bytes > 0;
  if (!wasContinued || sha256Of(part) !== model.sha256) {
    onStep(`fetching ${path}`);
    using telling = new DisposableStack();
    telling.use(tellEvery(path, part, onStep));
    const file = {
      path: incoming,
      maxBytes,
      what,
      kind: 'prepare_failed' as const,
      tooLarge: tooMany(folders),
      part,
    };
    const fetched = await fetchFrom(fetchUrl, run, wanted, file);
    if (fetched.kind === 'stopped') return fetched;
    if (fetched.kind === 'refused') {
      if (!fetched.error.retryable) await rm(incoming, { force: true });
      return { kind: 'failed', error: fetched.error };
    }
    if (fetched.kind === 'failed') return fetched;
  }
  const sha256 = sha256Of(part);
  if (sha256 === model.sha256) return keep(incoming, join(folder, WEIGHTS));
  await rm(incoming, { force: true });
  if (wasContinued) return fetchModel(fetchUrl, run, wanted);
  return failed(
    `${what} is not the file that the version names: its SHA-256 should be ${model.sha256} and is ${sha256}. ` +
      (isKeptModel(model)
        ? 'Deploy the folder again, from where the file is.'
        : 'Correct its sha256 or its url in the configuration of the folder, and deploy again.'),
  );
};

/** How the bytes of a model come here. */
const fetchFrom = async (
  fetchUrl: FetchUrl,
  { fetchKeptModel, manifest, secrets, stop }: ModelsRun,
  { path, model }: ModelToFetch,
  file: FileToFetch,
): Promise<FetchedFile | NotPrepared> => {
  if (isKeptModel(model)) return fetchKeptModel(model, file, stop);
  const request = modelRequest(path, model, manifest, secrets);
  if (typeof request === 'string') return failed(request);
  const fetched = await fetchUrl(request.url, { ...file, headers: request.headers }, stop);
  if (fetched.kind !== 'refused' || !DENIED.test(fetched.error.message)) return fetched;
  const message = `${fetched.error.message} ${request.whenDenied}`;
  return { kind: 'refused', error: { ...fetched.error, message } };
};

/** How a failure ends that is of who asks. */
const DENIED = / answered 40[13]\.$/;

const sha256Of = ({ hash }: PartOfFile): string => hash.copy().digest('hex');

const TELL_EVERY_MS = 1_000;
const MEGABYTE = 1_000_000;

const tellEvery = (path: string, part: PartOfFile, onStep: ModelsRun['onStep']): Disposable => {
  let told = part.bytes;
  const timer = setInterval(() => {
    if (part.bytes === told) return;
    told = part.bytes;
    const of = part.of === null ? '' : ` of ${Math.ceil(part.of / MEGABYTE)}`;
    onStep(`fetching ${path}, ${Math.floor(told / MEGABYTE)}${of} MB`, false);
  }, TELL_EVERY_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
};

/** Reads what is there of a file. A part without a hash is worth nothing. */
const readPart = async (path: string, part: PartOfFile, stop: AbortSignal): Promise<void> => {
  const isThere = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
  if (!isThere) return;
  await pipeline(
    createReadStream(path, { highWaterMark: 1024 ** 2 }),
    async (pieces: AsyncIterable<Buffer>) => {
      for await (const piece of pieces) {
        part.hash.update(piece);
        part.bytes += piece.byteLength;
      }
    },
    { signal: stop },
  ).catch((error: unknown) => {
    if (!stop.aborted) throw error;
  });
};

/** It is on the disk as a whole before anybody says so. */
const keep = async (incoming: string, file: string): Promise<null> => {
  await using handle = await open(incoming, 'r');
  await handle.sync();
  await chmod(incoming, MODEL);
  await rename(incoming, file);
  return null;
};

const linkAll = async (folder: string, links: ReadonlyMap<string, string>): Promise<null> => {
  for (const [path, file] of links) {
    await mkdir(join(folder, dirname(path)), { recursive: true });
    for (let each = dirname(path); each !== '.'; each = dirname(each))
      await chmod(join(folder, each), READABLE);
    await symlink(file, join(folder, path));
  }
  return null;
};
