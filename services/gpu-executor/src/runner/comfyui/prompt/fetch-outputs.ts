import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { MAX_OUTPUTS_BYTES } from '@runledger/contracts/limits';
import { sleep } from '@runledger/resilience/abort';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { placeOfFile } from '../core/run-folder.ts';
import { readOutputs, type ServerFile } from '../core/server-outputs.ts';
import { FILE_LIMITS } from '../../output-files.ts';
import type { RunData } from '../../runner.ts';
import { whyOf } from '../../model-server/http-answer.ts';
import type { ComfyApi } from '../server/comfy-api.ts';

export interface FetchedOutputs {
  readonly data: RunData;
  /** Why they are not complete; null when they are. */
  readonly error: AttemptError | null;
}

export interface OutputTarget {
  readonly outputDir: string;
  /** Of the attempt, below the output folder of the server. */
  readonly folder: string;
}

const TRIES = 3;
const AGAIN_AFTER_MS = 500;

/** Fetches the files of a prompt, one after the other, until one cannot be fetched. */
export const fetchOutputs = async (
  api: ComfyApi,
  outputs: Readonly<Record<string, unknown>>,
  target: OutputTarget,
  signal: AbortSignal,
): Promise<FetchedOutputs> => {
  const { data, files } = readOutputs(outputs);
  if (files.length > FILE_LIMITS.files) return { data, error: tooMany(files.length) };
  for (const file of files) {
    if (signal.aborted) break;
    const error = await fetchFile(api, file, target, signal);
    if (error !== null) return { data, error };
  }
  return { data, error: Buffer.byteLength(JSON.stringify(data)) > MAX_OUTPUTS_BYTES ? TEXT_TOO_LARGE : null };
};

const tooMany = (count: number): AttemptError =>
  errorOf('output_too_large', `The workflow made ${count} files, and a run may have ${FILE_LIMITS.files}.`);

const TEXT_TOO_LARGE = errorOf(
  'output_too_large',
  `The text outputs of the workflow are larger than ${MAX_OUTPUTS_BYTES / 1024} KiB as JSON. Save large results as files.`,
);

const fetchFile = async (
  api: ComfyApi,
  file: ServerFile,
  { outputDir, folder }: OutputTarget,
  signal: AbortSignal,
): Promise<AttemptError | null> => {
  const { filename, subfolder, type, node } = file;
  const place = placeOfFile(file, folder);
  if (place === null) {
    return errorOf(
      'invalid_output',
      `Node ${node} names a file that is none below the output folder: ${filename}`,
      { node },
    );
  }
  const path = join(outputDir, ...place);
  await mkdir(dirname(path), { recursive: true });
  let why = '';
  for (let tries = 0; tries < TRIES && !signal.aborted; tries += 1) {
    if (tries > 0) await sleep(AGAIN_AFTER_MS, signal);
    const download = await api.download({ filename, subfolder, type }, signal);
    if (download.kind === 'refused') return refusedFile(api, file, download.status);
    if (download.kind === 'unreachable') {
      why = download.why;
      continue;
    }
    try {
      await pipeline(download.body, createWriteStream(path, { flags: 'w', mode: 0o600 }), { signal });
      return null;
    } catch (error) {
      why = whyOf(error);
      if (why === 'ENOSPC' || why === 'EDQUOT')
        return errorOf(
          'storage_full',
          'The work folder of the executor has no room for the files of the run.',
        );
    }
  }
  return signal.aborted
    ? null
    : errorOf('crashed', `ComfyUI does not give the file ${filename} of node ${node} (${why}).`);
};

/** The server took what an earlier run made from its cache, and that file is gone: without the cache it makes it again. */
const refusedFile = async (
  api: ComfyApi,
  { filename, node }: ServerFile,
  status: number,
): Promise<AttemptError> => {
  await api.post('free', { free_memory: true });
  const message = `ComfyUI has no file ${filename} of node ${node} (status ${status}): somebody removed it. Its cache is emptied, so that another run makes it again.`;
  return errorOf('invalid_output', message, { node, retryable: true });
};
