import { randomUUID } from 'node:crypto';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { whyOf } from '../../model-server/http-answer.ts';
import { FILE_LIMITS } from '../../../runners/output-files.ts';
import type { AnswerFiles } from '../core/outputs.ts';
import { readPrediction, type Prediction } from '../core/prediction.ts';
import { AnswerSplitter, type AnswerPart } from '../core/split-answer.ts';

/** An answer about a prediction, with its files in a folder, named by their numbers. */
export interface ReadAnswer {
  /** Null when this is no prediction; then `text` says what it is. */
  readonly prediction: Prediction | null;
  readonly text: string;
  readonly files: AnswerFiles;
  readonly folder: string;
}

export type AnswerFailure =
  | { readonly kind: 'too_large'; readonly why: string }
  | { readonly kind: 'storage_full' }
  | { readonly kind: 'lost'; readonly why: string };

const MAX_LOGS = 64 * 1024 ** 2;
const MAX_JSON = MAX_LOGS + 16 * 1024 ** 2;

/** Reads the body of an answer into memory, and its files into a new folder. */
export const readAnswer = async (
  body: AsyncIterable<Uint8Array>,
  folder: string,
): Promise<ReadAnswer | AnswerFailure> => {
  const nonce = randomUUID();
  const splitter = new AnswerSplitter(nonce, MAX_LOGS);
  const into: Into = { folder, json: [], bytes: 0, types: [], file: null };
  try {
    await mkdir(folder, { mode: 0o700 });
    for await (const chunk of body) {
      for (const part of splitter.push(chunk)) await take(into, part);
      if (into.bytes > MAX_JSON)
        return { kind: 'too_large', why: 'its answer is larger than 80 MiB without files' };
      if (into.types.length > FILE_LIMITS.files)
        return { kind: 'too_large', why: `it made more than ${FILE_LIMITS.files} files` };
    }
  } catch (error) {
    const why = whyOf(error);
    return why === 'ENOSPC' || why === 'EDQUOT' ? { kind: 'storage_full' } : { kind: 'lost', why };
  } finally {
    await into.file?.close();
  }
  const text = Buffer.concat(into.json).toString('utf8');
  return { prediction: readPrediction(text), text, files: { nonce, types: into.types }, folder };
};

interface Into {
  readonly folder: string;
  readonly json: Uint8Array[];
  bytes: number;
  readonly types: string[];
  file: FileHandle | null;
}

const take = async (into: Into, part: AnswerPart): Promise<void> => {
  switch (part.kind) {
    case 'json':
      into.json.push(part.bytes);
      into.bytes += part.bytes.length;
      return;
    case 'file': {
      await into.file?.close();
      into.file = null;
      into.file = await open(join(into.folder, String(into.types.length)), 'wx', 0o600);
      into.types.push(part.type);
      return;
    }
    case 'content':
      await into.file?.writeFile(part.bytes);
  }
};
