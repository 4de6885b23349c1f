import { errorMessage, errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { MAX_OUTPUTS_BYTES } from '@runledger/contracts/limits';
import { mkdir, rename, open, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createHash } from 'node:crypto';
import { hashFile } from '../../folders/file-hash.ts';
import type { ProcessEnd } from '../../supervision/supervised-process.ts';
import { endOfServer } from '../model-server/model-server.ts';
import { cancelled, failed, succeeded, type Executed } from '../model-server/run-on-server.ts';
import type { OutputFile, RunnerWork } from '../runner.ts';
import { joinedText } from './split-answer.decide.ts';
import { namesInOrder, readOutputs, type PredictionOutputs, type FileNames } from './outputs.decide.ts';
import { endOfPrediction } from './prediction.decide.ts';
import type { CogApi } from './cog-api.ts';
import type { LoggedFile } from './output-log.ts';
import type { AnswerFailure, ReadAnswer, WatchedPrediction } from './watch-prediction.ts';
import { collectFiles, FILE_LIMITS, isWrittenSince, openUnchanged } from '../output-files.ts';

export interface PredictionTask {
  readonly model: string;
  /** Of the prediction. */
  readonly id: string;
  readonly work: RunnerWork;
  /** A folder of this run alone. */
  readonly temporary: string;
  readonly cancelGraceMs: number;
  /** How long a server may refuse it because it executes something else. */
  readonly busyMs: number;
}

/** What its server has written since the prediction was sent. */
interface Writing {
  readonly api: CogApi;
  /** Milliseconds since 1970. */
  readonly since: number;
}

export type Sent =
  | { readonly kind: 'ended'; readonly answer: ReadAnswer }
  | { readonly kind: 'refused'; readonly error: AttemptError }
  | AnswerFailure;

interface EndedPrediction extends Writing {
  readonly answer: ReadAnswer;
  /** What was seen of it last while it ran. */
  readonly last: ReadAnswer | null;
  readonly watched: WatchedPrediction;
  /** The kernel killed a process of this machine meanwhile, because memory was short. */
  readonly isMemoryShort: boolean;
}

export const resultOf = async (
  { model, id, work }: PredictionTask,
  { answer, last, watched, api, since, isMemoryShort }: EndedPrediction,
): Promise<Executed> => {
  const { prediction } = answer;
  const end = prediction && endOfPrediction(prediction, model);
  if (prediction === null || end === null) return failed(work, noEnd(model), { isUsable: false });
  watched.log(longer(prediction.logs, last?.prediction?.logs ?? ''), true);
  const text = end.kind === 'succeeded' ? joinedText(prediction.output, answer.files.nonce) : null;
  // It becomes a file when it is large, however large it is.
  if (text !== null && (await api.joinsOutput())) return succeeded(work, { text: [text.toWellFormed()] });
  const { outputLog } = api;
  const logged = end.kind === 'succeeded' ? await outputLog.filesOf(id) : outputLog.filesSoFar(id);
  const saved = await saveOutputs(work, prediction.output === null ? (last ?? answer) : answer, logged, {
    api,
    since,
  });
  if (end.kind === 'failed') {
    const error = end.isWorkerGone && isMemoryShort ? workerKilled(model) : end.error;
    return failed(work, error, { isUsable: !end.isWorkerGone });
  }
  if (end.kind === 'canceled') return failed(work, CANCELED_ELSEWHERE, { isUsable: true });
  const unread = logged.find((file) => file.unread !== null);
  if (unread) return failed(work, unreadFile(model, unread), { isUsable: true });
  if (Buffer.byteLength(JSON.stringify(saved.data)) > MAX_OUTPUTS_BYTES)
    return failed(work, textTooLarge(model), { isUsable: true });
  return inOrder(await succeeded(work, saved.data), saved.files);
};

/** The last answer of a prediction that failed has no logs. */
const longer = (one: string, other: string): string => (one.length >= other.length ? one : other);

interface StoppedPrediction extends Writing {
  readonly last: EndedPrediction['last'];
  readonly sent: Sent;
  readonly forced: boolean;
}

/** A run that was stopped, with what it had put out. */
export const stopped = async (
  { id, work }: PredictionTask,
  { sent, last, api, since, forced }: StoppedPrediction,
): Promise<Executed> => {
  const answer = sent.kind === 'ended' && sent.answer.prediction?.output ? sent.answer : last;
  if (answer !== null) await saveOutputs(work, answer, api.outputLog.filesSoFar(id), { api, since });
  return { result: await cancelled(work, forced), isUsable: !forced };
};

/** Moves the files of an answer to where the run's files are. */
const saveOutputs = async (
  { outputDir }: RunnerWork,
  { prediction, files, folder }: ReadAnswer,
  logged: readonly LoggedFile[],
  { api, since }: Writing,
): Promise<PredictionOutputs> => {
  const output = prediction?.output ?? null;
  const pathOf = (number: number): string => join(folder, String(number));
  const told = logged.filter(({ unread }) => unread === null).map(({ name }) => name);
  const names = namesInOrder(output, files, told);
  const unnamed = [...files.types.keys()].filter((number) => !names.has(number));
  const written = await writtenNames(
    api.temporary,
    since,
    new Map(unnamed.map((each) => [each, pathOf(each)])),
  );
  const outputs = readOutputs(output, files, new Map([...names, ...written]));
  for (const { number, path: place } of outputs.files) {
    const path = join(outputDir, ...place);
    await mkdir(dirname(path), { recursive: true });
    await rename(pathOf(number), path);
  }
  return outputs;
};

/** The files in the order of the output: by their names they need not be. */
const inOrder = ({ result, isUsable }: Executed, files: PredictionOutputs['files']): Executed => {
  if (result.outcome !== 'succeeded') return { result, isUsable };
  const order = new Map(files.map(({ path: place }, index) => [place.join('/'), index]));
  const at = ({ subfolder, filename }: OutputFile): number =>
    order.get(join(subfolder, filename)) ?? order.size;
  return { result: { ...result, files: result.files.toSorted((a, b) => at(a) - at(b)) }, isUsable };
};

const unreadFile = (model: string, { path, unread }: LoggedFile): AttemptError =>
  errorOf(
    'invalid_output',
    errorMessage(
      `The Cog model ${model} returned the file ${path}, which its server could not read: ${unread}. Return the path of a file that is there when the prediction ends.`,
    ),
  );

const workerKilled = (model: string): AttemptError =>
  errorOf(
    'out_of_memory',
    `The worker of the Cog model ${model} was killed: the machine had no memory left.`,
  );

const noEnd = (model: string): AttemptError =>
  errorOf(
    'crashed',
    `The server of the Cog model ${model} answered with something that is no end of a prediction.`,
  );

const CANCELED_ELSEWHERE = errorOf(
  'execution_error',
  'Somebody canceled the prediction at the Cog server itself.',
);

const textTooLarge = (model: string): AttemptError =>
  errorOf(
    'output_too_large',
    `The texts of the Cog model ${model} are larger than ${MAX_OUTPUTS_BYTES / 1024} KiB as JSON. Let it return large results as files.`,
  );

export const tooLarge = (model: string, why: string): AttemptError =>
  errorOf('output_too_large', `The outputs of the Cog model ${model} cannot be kept: ${why}.`);

export const STORAGE_FULL = errorOf(
  'storage_full',
  'The work folder of the executor has no room for the files of the run.',
);

interface Lost {
  readonly why: string;
  /** Of the executor's own server; null when it has not ended. */
  readonly end: ProcessEnd | null;
  readonly isMemoryShort: boolean;
}

export const lostError = (model: string, { why, end, isMemoryShort }: Lost): AttemptError => {
  const server = `The server of the Cog model ${model}`;
  if (end === null)
    return errorOf('crashed', `The connection to the server of the Cog model ${model} broke (${why}).`);
  const { kind, what } = endOfServer(server, end, isMemoryShort);
  return errorOf(kind, what);
};

/**
 * The names of files by their content: a server says none of a file in an object, but its model has written it. The name is that of the only file in
 * the temporary folder of the server which has this content, and was written since the prediction was sent. There is none where files with the
 * content have different names, where several files of the output would have the same, and for an empty one. `outputs`: where the files lie.
 */
export const writtenNames = async (
  temporary: string | null,
  since: number,
  outputs: ReadonlyMap<number, string>,
): Promise<FileNames> => {
  if (temporary === null || outputs.size === 0) return new Map();
  const sizes = new Map<number, number>();
  for (const [number, path] of outputs) sizes.set(number, await sizeOf(path));
  const written = await namesByContent(temporary, since, [...sizes.values()]);
  if (written.size === 0) return new Map();
  const found = new Map<number, string>();
  for (const [number, path] of outputs) {
    await using output = await open(path);
    const [name, another] = written.get(await contentOf(output, sizes.get(number) ?? 0)) ?? [];
    if (name !== undefined && another === undefined) found.set(number, name);
  }
  const names = [...found.values()];
  return new Map([...found].filter(([, name]) => names.indexOf(name) === names.lastIndexOf(name)));
};

const LIMITS = { ...FILE_LIMITS, files: FILE_LIMITS.entries };
/** What is read beyond twice the output: any number of files may be as large as one of its files. */
const MAX_MORE_BYTES = 1024 ** 3;
/** What `tempfile` of Python makes up, as for the inputs of a prediction. */
const MADE_UP = /^tmp[a-z0-9_]{8}/;

/** None when there is more than is looked at. */
const namesByContent = async (
  folder: string,
  since: number,
  sizes: readonly number[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> => {
  const names = new Map<string, Set<string>>();
  const files = await writtenFiles(folder, since, new Set(sizes));
  const most = MAX_MORE_BYTES + 2 * sumOf(sizes);
  if (sumOf(files.map(({ bytes }) => bytes)) > most) return names;
  for (const file of files) {
    await using source = await openUnchanged(file);
    // What cannot be read has no name to give.
    const content = await (source && contentOf(source, file.bytes).catch(() => undefined));
    if (content !== undefined) names.set(content, (names.get(content) ?? new Set()).add(file.filename));
  }
  return names;
};

/** The files of these sizes with a name that somebody gave them. */
const writtenFiles = async (
  folder: string,
  since: number,
  sizes: ReadonlySet<number>,
): Promise<readonly OutputFile[]> => {
  const { files, tooMany } = await collectFiles(folder, LIMITS);
  const written: OutputFile[] = [];
  for (const file of tooMany === null ? files : []) {
    const { bytes, filename } = file;
    if (bytes === 0 || !sizes.has(bytes) || MADE_UP.test(filename)) continue;
    await using source = await openUnchanged(file);
    if (source && isWrittenSince(since, await source.stat())) written.push(file);
  }
  return written;
};

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);

const sizeOf = async (path: string): Promise<number> => {
  await using file = await open(path);
  return (await file.stat()).size;
};

/** The same for the same bytes, and for no others. */
const contentOf = async (file: FileHandle, bytes: number): Promise<string> => {
  if (bytes === 0) return '';
  return (await hashFile(createHash('sha256'), file, { end: bytes - 1 })).digest('hex');
};
