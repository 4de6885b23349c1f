import { sleep } from '@runledger/resilience/abort';
import { rm, mkdir, open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { RunObserver } from '../runner.ts';
import { NOTHING_READ, readLogs } from './server-log.decide.ts';
import type { CogApi } from './cog-api.ts';
import { whyOf } from '../model-server/model-server.ts';
import { FILE_LIMITS } from '../output-files.ts';
import type { AnswerFiles } from './outputs.decide.ts';
import { readPrediction, type Prediction } from './prediction.decide.ts';
import { AnswerSplitter, type AnswerPart } from './split-answer.decide.ts';

/** What is seen of a prediction while it runs. */
export interface WatchedPrediction extends AsyncDisposable {
  /** From now on it is looked at. */
  begin(): void;
  /** No look is under way any more when it resolves, with the last state that was seen. */
  stop(): Promise<ReadAnswer | null>;
  /** The lines that are new in these logs go to the run. */
  log(logs: string, isEnd: boolean): void;
}

const LOOK_EVERY_MS = 250;
/** A look takes as long as the logs and outputs so far are large. It may take a tenth of the time. */
const PAUSE_FACTOR = 9;

export const watchPrediction = (
  api: CogApi,
  id: string,
  temporary: string,
  observe: RunObserver,
): WatchedPrediction => {
  const over = new AbortController();
  let read = NOTHING_READ;
  let last: ReadAnswer | null = null;
  let looking = Promise.resolve();

  const log = (logs: string, isEnd: boolean): void => {
    const step = readLogs(read, logs, isEnd);
    ({ read } = step);
    for (const report of step.reports) observe.progress(report);
    for (const line of step.lines) observe.log({ stream: 'stdout', line });
  };

  const look = async (folder: string): Promise<void> => {
    const answer = await api.look(id, over.signal);
    if (answer.kind === 'lost') return;
    const state = await readAnswer(answer.body, folder);
    if ('kind' in state || state.prediction?.status !== 'processing') return rmFolder(folder);
    if (last !== null) await rmFolder(last.folder);
    last = state;
    log(state.prediction.logs, false);
  };

  const watch = async (): Promise<void> => {
    let pauseMs = LOOK_EVERY_MS;
    for (let number = 0; ; number += 1) {
      await sleep(pauseMs, over.signal);
      if (over.signal.aborted) return;
      const since = performance.now();
      await look(join(temporary, `look-${number}`));
      pauseMs = Math.max(LOOK_EVERY_MS, PAUSE_FACTOR * (performance.now() - since));
    }
  };

  const stop = async (): Promise<ReadAnswer | null> => {
    over.abort();
    await looking;
    return last;
  };
  return {
    begin: () => {
      looking = looking.then(watch);
    },
    stop,
    log,
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
};

const rmFolder = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true });

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
