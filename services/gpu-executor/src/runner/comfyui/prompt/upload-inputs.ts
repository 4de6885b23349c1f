import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { isJsonObject, parseJson } from '@runledger/contracts/json';
import { createHash } from 'node:crypto';
import { createReadStream, openAsBlob } from 'node:fs';
import { extname, join, posix } from 'node:path';
import { inputFiles } from '../../model-server/input-files.ts';
import type { RunnerWork } from '../../../runners/runner.ts';
import type { ComfyApi } from '../server/comfy-api.ts';

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
  work: Pick<RunnerWork, 'inputDir' | 'inputs' | 'fileInputs'>,
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
export const uploadFile = async (
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
  const place = status === 200 ? placeOf(parseJson(text)) : undefined;
  return place === undefined ? { error: (input) => refused(input, status) } : { ...place, type };
};

const refused = (input: string, status: number): AttemptError =>
  status === TOO_LARGE
    ? errorOf(
        'invalid_inputs',
        `The file of the input "${input}" is larger than the ComfyUI server of the executor takes. Send a smaller one, or start the server with a larger --max-upload-size.`,
      )
    : errorOf('execution_error', `ComfyUI refuses the file of the input "${input}" with status ${status}.`);

/** It may give the file another name. */
const placeOf = (answer: unknown): Pick<UploadedFile, 'filename' | 'subfolder'> | undefined => {
  if (!isJsonObject(answer) || typeof answer['name'] !== 'string') return undefined;
  const { name: filename, subfolder } = answer;
  return { filename, subfolder: typeof subfolder === 'string' ? subfolder : '' };
};

/** A name for the content of a file, with its suffix. */
export const contentName = async (path: string): Promise<string> =>
  `${await sha256Of(path)}${extname(path).toLowerCase()}`;

const sha256Of = async (path: string): Promise<string> => {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
};
