import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { MAX_ERROR_NAME } from '@runledger/contracts/limits';
import { basename, join, extname, posix } from 'node:path';
import { isJsonObject, parseJson } from '@runledger/contracts/json';
import { openAsBlob } from 'node:fs';
import { sha256OfFile } from '../../folders/file-hash.ts';
import { inputFiles, serveInputs } from '../model-server/serve-inputs.ts';
import type { RunnerWork } from '../runner.ts';
import { type ServedInput, externalNodes } from './bind-inputs.decide.ts';
import { nodeName } from './prompt-error.decide.ts';
import type { ComfyWorkflow } from './workflow.decide.ts';
import type { ComfyApi } from './comfy-api.ts';

/** Files that nodes of a run fetch by URL, until it is disposed. */
export interface FetchedInputs extends AsyncDisposable {
  /** By the names of their inputs. */
  readonly served: ReadonlyMap<string, ServedInput>;
  /**
   * Why the run made something else than it was asked for: a node of it has begun, and nobody has asked for a file of its input. Such a
   * node goes on without it, and without a word.
   */
  readonly unread: (begun: ReadonlySet<string>) => AttemptError | null;
}

/** Serves the files of the inputs that nodes of the workflow fetch themselves. */
export const openFetchedInputs = async (
  workflow: ComfyWorkflow,
  work: RunnerWork,
): Promise<FetchedInputs> => {
  const nodes = externalNodes(workflow).filter(([, { byUrl }]) => byUrl);
  const takers = new Set(nodes.map(([, { input }]) => input));
  const files = new Map(
    [...inputFiles(work)].filter(([input, { names }]) => takers.has(input) && names.length > 0),
  );
  if (files.size === 0) return NOTHING;
  const server = await serveInputs(
    work.inputDir,
    [...files.values()].flatMap(({ names }) => names),
  );
  const served = new Map<string, ServedInput>();
  for (const [input, { names, isList }] of files) {
    const [first = ''] = names;
    const url = isList ? names.map((name) => server.urlOf(name)) : server.urlOf(first);
    served.set(input, { url, contentName: await contentName(join(work.inputDir, first)) });
  }
  return {
    served,
    unread: (begun) => {
      for (const [id, { input, savedAs: keptAs }] of nodes) {
        // One that keeps its file may have it already, and fails aloud when it cannot fetch it.
        if (!begun.has(id) || keptAs !== undefined) continue;
        const unread = files.get(input)?.names.find((name) => !server.wasAsked(name));
        if (unread !== undefined) return unreadBy(nodeName(workflow, id), id, basename(unread));
      }
      return null;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
};

const NOTHING: FetchedInputs = {
  served: new Map(),
  unread: () => null,
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

const unreadBy = (node: string, id: string, file: string): AttemptError =>
  errorOf(
    'input_unavailable',
    `${node} did not fetch ${file}, which is its input. ComfyUI must reach the loopback address of the executor: run it on the same machine, without a network of its own, and with 127.0.0.1 in NO_PROXY where it has a proxy.`,
    { node: id.slice(0, MAX_ERROR_NAME), retryable: false },
  );

type Inputs = RunnerWork['inputs'];

export type UploadedInputs =
  | { readonly kind: 'uploaded'; readonly inputs: Inputs }
  | { readonly kind: 'failed'; readonly error: AttemptError };

/** The folder of all input files of the executor below the input folder of the server. */
const SUBFOLDER = 'runledger';
const TOO_LARGE = 413;

/**
 * Gives the server the input files of a run, and the inputs the names by which its nodes find them. A file is named by its content, so
 * that the server keeps it once, and takes what it made of it from its cache. An input that no node takes by its name is not given to it.
 */
export const uploadInputs = async (
  api: ComfyApi,
  work: RunnerWork,
  isWanted: (input: string) => boolean,
): Promise<UploadedInputs> => {
  const uploaded: [string, unknown][] = [];
  for (const [input, { names, isList }] of inputFiles(work)) {
    if (!isWanted(input)) continue;
    const files: string[] = [];
    for (const name of names) {
      const file = await uploadFile(api, join(work.inputDir, name), 'input');
      if ('error' in file) return { kind: 'failed', error: file.error(input) };
      files.push(posix.join(file.subfolder, file.filename));
    }
    uploaded.push([input, isList ? files : files[0]]);
  }
  return { kind: 'uploaded', inputs: { ...work.inputs, ...Object.fromEntries(uploaded) } };
};

/** As `/view` of the server wants it. */
interface UploadedFile {
  readonly filename: string;
  readonly subfolder: string;
  readonly type: 'input' | 'temp';
}

interface NotUploaded {
  readonly error: (input: string) => AttemptError;
}

/** Into a folder of the server: it empties that of temporary files when it starts. Twice when the first try fails: it is the same file again. */
const uploadFile = async (
  api: ComfyApi,
  path: string,
  type: UploadedFile['type'],
): Promise<UploadedFile | NotUploaded> => {
  const form = new FormData();
  form.append('image', await openAsBlob(path), await contentName(path));
  form.append('subfolder', SUBFOLDER);
  form.append('type', type);
  form.append('overwrite', 'true');
  let answer = await api.upload('upload/image', form);
  if (answer.kind === 'unreachable') answer = await api.upload('upload/image', form);
  if (answer.kind === 'unreachable') {
    const { why } = answer;
    return {
      error: (input) =>
        errorOf(
          'crashed',
          `The file of the input "${input}" cannot be given to ComfyUI: it does not answer (${why}).`,
        ),
    };
  }
  const { status, text } = answer;
  const stored = status === 200 ? storedAs(parseJson(text)) : undefined;
  return stored === undefined ? { error: (input) => refused(input, status) } : { ...stored, type };
};

const refused = (input: string, status: number): AttemptError =>
  status === TOO_LARGE
    ? errorOf(
        'invalid_inputs',
        `The file of the input "${input}" is larger than the ComfyUI server of the executor takes. Send a smaller one, or start the server with a larger --max-upload-size.`,
      )
    : errorOf('execution_error', `ComfyUI refuses the file of the input "${input}" with status ${status}.`);

/** It may give the file another name. */
const storedAs = (answer: unknown): { readonly filename: string; readonly subfolder: string } | undefined => {
  if (!isJsonObject(answer) || typeof answer['name'] !== 'string') return undefined;
  const { name: filename, subfolder } = answer;
  return { filename, subfolder: typeof subfolder === 'string' ? subfolder : '' };
};

/** A name for the content of a file, with its suffix. */
const contentName = async (path: string): Promise<string> =>
  `${await sha256OfFile(path)}${extname(path).toLowerCase()}`;

/**
 * The first file that a node is to read as a picture, and could not; null when there is none. Such a node would take its default, or
 * leave the picture out of its batch, without a word. The server itself is asked to decode each, with the library that the node uses.
 */
export const unreadablePicture = async (
  api: ComfyApi,
  workflow: ComfyWorkflow,
  work: RunnerWork,
): Promise<AttemptError | null> => {
  const files = inputFiles(work);
  const readable = new Set<string>();
  for (const [id, { input, isPicture, unpacks }] of externalNodes(workflow)) {
    if (!isPicture) continue;
    for (const name of files.get(input)?.names ?? []) {
      if (unpacks?.test(name) || readable.has(name)) continue;
      if (await isUnreadable(api, join(work.inputDir, name))) return noPicture(workflow, id, input, name);
      readable.add(name);
    }
  }
  return null;
};

/** How the server can be asked to decode a picture. It cannot write each size as a JPEG; the other way takes long. */
const DECODED: readonly Readonly<Record<string, string>>[] = [{ preview: 'jpeg;1' }, { channel: 'rgb' }];

/** Only when it says so: what it cannot be asked about may be a picture. */
const isUnreadable = async (api: ComfyApi, path: string): Promise<boolean> => {
  const file = await uploadFile(api, path, 'temp');
  if ('error' in file) return false;
  for (const how of DECODED) {
    const answer = await api.get('view', { ...file, ...how });
    if (answer.kind !== 'answered' || answer.status !== FAILED) return false;
  }
  return true;
};

const FAILED = 500;

const noPicture = (workflow: ComfyWorkflow, id: string, input: string, name: string): AttemptError =>
  errorOf(
    'invalid_inputs',
    `The file ${basename(name)} of the input "${input}" is not a picture that ComfyUI can read, and ${nodeName(workflow, id)} would go on without it. Send a picture, such as a PNG, JPEG or WebP file.`,
    { node: id.slice(0, MAX_ERROR_NAME) },
  );
