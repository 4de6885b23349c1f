import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { MAX_ERROR_NAME } from '@runledger/contracts/limits';
import { basename, join } from 'node:path';
import { inputFiles } from '../../model-server/input-files.ts';
import type { RunnerWork } from '../../../runners/runner.ts';
import { externalNodes } from '../core/external-nodes.ts';
import { nodeName } from '../core/prompt-error.ts';
import type { ComfyWorkflow } from '../core/workflow.ts';
import type { ComfyApi } from '../server/comfy-api.ts';
import { uploadFile } from './upload-inputs.ts';

/**
 * The first file that a node is to read as a picture, and could not; null when there is none. Such a node would take its default, or
 * leave the picture out of its batch, without a word. The server itself is asked to decode each, with the library that the node uses.
 */
export const unreadablePicture = async (
  api: ComfyApi,
  workflow: ComfyWorkflow,
  work: Pick<RunnerWork, 'inputDir' | 'inputs' | 'fileInputs'>,
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
