import { errorMessage } from '@runledger/contracts/events/error-message';
import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { MAX_OUTPUTS_BYTES } from '@runledger/contracts/limits';
import { mkdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ProcessEnd } from '../../../supervision/supervised-process.ts';
import { endOfServer } from '../../model-server/describe-end.ts';
import { cancelled, failed, succeeded, type Executed } from '../../model-server/executed.ts';
import type { OutputFile, RunnerWork } from '../../../runners/runner.ts';
import { joinedText } from '../core/joined-text.ts';
import { namesInOrder, readOutputs, type PredictionOutputs } from '../core/outputs.ts';
import { endOfPrediction } from '../core/prediction.ts';
import type { CogApi } from '../server/cog-api.ts';
import type { LoggedFile } from '../server/output-log.ts';
import type { AnswerFailure, ReadAnswer } from './read-answer.ts';
import type { WatchedPrediction } from './watch-prediction.ts';
import { writtenNames } from './written-names.ts';

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
  readonly api: Pick<CogApi, 'outputLog' | 'temporary'>;
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
  readonly api: Writing['api'] & Pick<CogApi, 'joinsOutput'>;
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
  const kept = await keepOutputs(work, prediction.output === null ? (last ?? answer) : answer, logged, {
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
  if (Buffer.byteLength(JSON.stringify(kept.data)) > MAX_OUTPUTS_BYTES)
    return failed(work, textTooLarge(model), { isUsable: true });
  return inOrder(await succeeded(work, kept.data), kept.files);
};

/** The last answer of a prediction that failed has no logs. */
const longer = (one: string, other: string): string => (one.length >= other.length ? one : other);

interface StoppedPrediction extends Writing, Pick<EndedPrediction, 'last'> {
  readonly sent: Sent;
  readonly forced: boolean;
}

/** A run that was stopped, with what it had put out. */
export const stopped = async (
  { id, work }: PredictionTask,
  { sent, last, api, since, forced }: StoppedPrediction,
): Promise<Executed> => {
  const answer = sent.kind === 'ended' && sent.answer.prediction?.output ? sent.answer : last;
  if (answer !== null) await keepOutputs(work, answer, api.outputLog.filesSoFar(id), { api, since });
  return { result: await cancelled(work, forced), isUsable: !forced };
};

/** Moves the files of an answer to where the run's files are. */
const keepOutputs = async (
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
  for (const { number, place } of outputs.files) {
    const path = join(outputDir, ...place);
    await mkdir(dirname(path), { recursive: true });
    await rename(pathOf(number), path);
  }
  return outputs;
};

/** The files in the order of the output: by their names they need not be. */
const inOrder = ({ result, isUsable }: Executed, files: PredictionOutputs['files']): Executed => {
  if (result.outcome !== 'succeeded') return { result, isUsable };
  const order = new Map(files.map(({ place }, index) => [place.join('/'), index]));
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
