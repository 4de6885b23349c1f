import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, openAsBlob } from 'node:fs';
import { mkdir, readFile, realpath, rename, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, posix, relative, resolve, sep } from 'node:path';
import { Sha256 } from '@runledger/contracts/blobs';
import type { KeptModel } from '@runledger/contracts/catalogue/code';
import { Model } from '@runledger/contracts/http/models';
import { parseJson } from '@runledger/contracts/json';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { at, retryForAMinute } from '../api/api-call.ts';
import type { Client } from '../command/command-context.ts';
import { CommandError, plain } from '../command/command-error.ts';
import { whyUnreadable } from '../command/option-values.ts';
import { uploadBlob } from '../runs/files.ts';
import { sizeOf } from './folder-files.ts';

/** As the configuration of a folder has it. */
export interface ModelOfMachine {
  /** From the folder on, or absolute. */
  readonly path: string;
  readonly sha256?: string | undefined;
}

/** Weights that are a file of this machine. */
export interface LocalModel extends KeptModel {
  /** In the manifest. */
  readonly name: string;
  /** Absolute, without links. */
  readonly file: string;
  /** As it is named, absolute: perhaps a link to the file. */
  readonly named: string;
}

type ModelReader = Pick<Client, 'screen' | 'cacheFolder'>;

/** What the models of a folder are now. `configFile`: for messages. @throws CommandError */
export const localModels = async (
  client: ModelReader,
  folder: string,
  {
    configFile,
    models,
  }: { readonly configFile: string; readonly models: Readonly<Record<string, ModelOfMachine>> },
): Promise<LocalModel[]> => {
  const found: LocalModel[] = [];
  for (const [name, { path, sha256: promised }] of Object.entries(models)) {
    const member = `${configFile}: models.${JSON.stringify(name)}`;
    const { file, ...model } = await readModel(client, folder, path, member);
    if (promised !== undefined && promised !== model.sha256)
      throw new CommandError(
        `${plain(member)}.sha256 is not that of ${plain(path)}, which has ${model.sha256}. Correct it, or leave it out.`,
      );
    found.push({ name, file, named: resolve(folder, path), ...model });
  }
  return found;
};

/** Their paths in the folder, for those that are there: no part of its code. */
export const pathsIn = async (
  folder: string,
  models: readonly LocalModel[],
): Promise<ReadonlySet<string>> => {
  const root = await realpath(folder);
  const below = (from: string, file: string): string => relative(from, file).split(sep).join(posix.sep);
  return new Set(models.flatMap(({ file, named }) => [below(root, file), below(folder, named)]));
};

const readModel = async (
  client: ModelReader,
  folder: string,
  path: string,
  member: string,
): Promise<KeptModel & { readonly file: string }> => {
  const state = async (file: string) => {
    const stats = await stat(file, { bigint: true });
    return { isFile: stats.isFile(), bytes: Number(stats.size), mtime_ns: String(stats.mtimeNs) };
  };
  try {
    const file = await realpath(resolve(folder, path));
    const { isFile, ...before } = await state(file);
    if (!isFile)
      throw new CommandError(`${plain(member)} names ${plain(path)}, which is no file. Name a file.`);
    if (before.bytes === 0) throw new CommandError(`${plain(member)} names ${plain(path)}, which is empty.`);
    const known = (await readKnown(client))[file];
    if (known?.bytes === before.bytes && known.mtime_ns === before.mtime_ns)
      return { file, sha256: known.sha256, bytes: known.bytes };
    const sha256 = await hashOf(client, file, before.bytes);
    const { isFile: _isFile, ...after } = await state(file);
    if (after.bytes !== before.bytes || after.mtime_ns !== before.mtime_ns)
      throw new CommandError(`${plain(path)} was changed while it was read. Deploy when it is complete.`);
    await writeKnown(client, file, { ...after, sha256 });
    return { file, sha256, bytes: after.bytes };
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(
      `${plain(member)} names ${plain(path)}, which cannot be read: ${whyUnreadable(error)}`,
    );
  }
};

const TELL_EVERY_MS = 500;
const READ_BYTES = 1024 ** 2;

const hashOf = async ({ screen }: ModelReader, file: string, bytes: number): Promise<string> => {
  const hash = createHash('sha256');
  let [read, told] = [0, performance.now()];
  for await (const piece of createReadStream(file, { highWaterMark: READ_BYTES })) {
    const part: Buffer = piece;
    hash.update(part);
    read += part.byteLength;
    if (performance.now() - told < TELL_EVERY_MS) continue;
    told = performance.now();
    screen.redraw(`Reading ${plain(basename(file))}: ${sizeOf(read)} of ${sizeOf(bytes)}`);
  }
  screen.redraw();
  return hash.digest('hex');
};

/** Hashes of files that had this size and time: a file of 20 GB is read once. */
const Known = Type.Record(
  Type.String(),
  Type.Object({ bytes: Type.Integer(), mtime_ns: Type.String(), sha256: Sha256 }),
);
type Known = Static<typeof Known>;

const knownPath = ({ cacheFolder }: ModelReader): string | undefined =>
  cacheFolder && join(cacheFolder, 'model-hashes.json');

/** What cannot be read is made again. */
const readKnown = async (client: ModelReader): Promise<Known> => {
  const path = knownPath(client);
  const text = path === undefined ? '' : await readFile(path, 'utf8').catch(() => '');
  const known = text === '' ? undefined : parseJson(text);
  return Value.Check(Known, known) ? known : {};
};

const MOST_KNOWN = 1_000;

const writeKnown = async (client: ModelReader, file: string, model: Known[string]): Promise<void> => {
  const path = knownPath(client);
  if (path === undefined) return;
  const { [file]: _before, ...others } = await readKnown(client);
  const known = Object.fromEntries([...Object.entries(others), [file, model]].slice(-MOST_KNOWN));
  try {
    await mkdir(dirname(path), { recursive: true });
    const incoming = `${path}.${randomUUID()}`;
    await writeFile(incoming, JSON.stringify(known));
    await rename(incoming, path);
  } catch {
    // The file is read again the next time.
  }
};

/** Those that the organisation does not have, each once. */
export const missingModels = async (
  { call, screen }: Client,
  models: readonly LocalModel[],
): Promise<LocalModel[]> => {
  const missing: LocalModel[] = [];
  for (const model of new Map(models.map((each) => [each.sha256, each])).values()) {
    const path = at`/models/${model.sha256}`;
    try {
      await retryForAMinute(() => call(Model, { method: 'GET', path }), screen);
    } catch (error) {
      if (!(error instanceof CommandError) || error.refusal?.code !== 'model_not_found') throw error;
      missing.push(model);
    }
  }
  return missing;
};

/** The service copies the file, and a proxy may be less patient: what it has copied by then is there at the next try. */
const KEPT_WITHIN_MS = 3_600_000;

/** Uploads a file, and lets the organisation keep it as a model. After an interruption it continues. @throws CommandError */
export const sendModel = async (client: Client, { name, file, sha256 }: LocalModel): Promise<void> => {
  const { call, screen } = client;
  const uploaded = await uploadBlob(client, basename(file), await openAsBlob(file), {
    isModel: true,
    onSent: (sent, of) => screen.redraw(`Sending ${plain(name)}: ${sizeOf(sent)} of ${sizeOf(of)}`),
  });
  screen.redraw();
  if (uploaded.sha256 !== sha256)
    throw new CommandError(
      `${plain(file)} was changed while it was sent. Nothing was deployed: deploy when it is complete.`,
    );
  const request = {
    method: 'PUT',
    path: at`/models/${sha256}`,
    body: { file: uploaded.id },
    answerWithinMs: KEPT_WITHIN_MS,
  } as const;
  await retryForAMinute(() => call(Model, request), screen);
};
