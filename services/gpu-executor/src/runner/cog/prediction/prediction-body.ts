import { contentTypeOf } from '@runledger/contracts/content-type';
import { isJsonObject } from '@runledger/contracts/json';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import type { FilesOfInput } from '../../model-server/input-files.ts';
import type { ServedInputs } from '../../model-server/serve-inputs.ts';
import type { RunnerWork } from '../../../runners/runner.ts';

/** As many bytes as base64 has whole groups for, so that the groups of two chunks can be joined. */
const CHUNK_BYTES = 3 * 64 * 1024;

/**
 * The request of a prediction: the inputs of the workflow version, and over them those of the run. A file is its URL, by which the model gets its
 * name too, or a data URL, of which nothing stays in memory.
 */
export async function* predictionBody(
  { workflow, inputs, inputDir }: Pick<RunnerWork, 'workflow' | 'inputs' | 'inputDir'>,
  files: ReadonlyMap<string, FilesOfInput>,
  served: Pick<ServedInputs, 'urlOf'> | null,
): AsyncGenerator<string, void> {
  const all = { ...inputsOf(workflow), ...inputs };
  let before = '{"input":{';
  for (const [name, value] of Object.entries(all)) {
    if (value === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    before = ',';
    const file = files.get(name);
    if (file === undefined) yield JSON.stringify(value);
    else yield* fileUrls(inputDir, file, served);
  }
  yield before === ',' ? '}}' : '{"input":{}}';
}

const inputsOf = (workflow: unknown): Readonly<Record<string, unknown>> => {
  const input = isJsonObject(workflow) ? workflow['input'] : undefined;
  return isJsonObject(input) ? input : {};
};

async function* fileUrls(
  inputDir: string,
  { names, isList }: FilesOfInput,
  served: Pick<ServedInputs, 'urlOf'> | null,
): AsyncGenerator<string, void> {
  if (isList) yield '[';
  for (const [index, name] of names.entries()) {
    if (index > 0) yield ',';
    if (served === null) yield* dataUrl(join(inputDir, name));
    else yield JSON.stringify(served.urlOf(name));
  }
  if (isList) yield ']';
}

async function* dataUrl(path: string): AsyncGenerator<string, void> {
  const [type = ''] = contentTypeOf(path).split(';');
  yield `"data:${type};base64,`;
  let rest = Buffer.alloc(0);
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) {
    const bytes = Buffer.concat([rest, chunk as Buffer]);
    const whole = bytes.length - (bytes.length % 3);
    yield bytes.toString('base64', 0, whole);
    rest = bytes.subarray(whole);
  }
  yield `${rest.toString('base64')}"`;
}
