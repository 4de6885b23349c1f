import { errorMessage, errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { isJsonObject, parseJson } from '@runledger/contracts/json';
import { saysOutOfMemory } from '../output/program-error.decide.ts';
import { parsePythonJson } from '../output/python-json.ts';

/** What a server says about a prediction. */
export interface Prediction {
  readonly status: 'starting' | 'processing' | 'succeeded' | 'failed' | 'canceled';
  /** Everything that it has printed so far. The last answer of one that failed or was canceled may have none. */
  readonly logs: string;
  readonly output: unknown;
  readonly error: string;
}

/** Null when this is no prediction. */
export const readPrediction = (text: string): Prediction | null => {
  const answer = parsePythonJson(text);
  if (!isJsonObject(answer)) return null;
  const { status, logs, output, error } = answer;
  if (!isStatus(status)) return null;
  return { status, logs: textOf(logs), output: output ?? null, error: textOf(error) };
};

const STATUSES = ['starting', 'processing', 'succeeded', 'failed', 'canceled'] as const;

const isStatus = (value: unknown): value is Prediction['status'] =>
  STATUSES.some((status) => status === value);

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** How a prediction ended. */
export type PredictionEnd =
  | { readonly kind: 'succeeded' }
  /** `isWorkerGone`: the server executes no further prediction before it is started again. */
  | { readonly kind: 'failed'; readonly error: AttemptError; readonly isWorkerGone: boolean }
  | { readonly kind: 'canceled' };

/** Null while it runs. */
export const endOfPrediction = ({ status, error }: Prediction, model: string): PredictionEnd | null => {
  switch (status) {
    case 'starting':
    case 'processing':
      return null;
    case 'succeeded':
    case 'canceled':
      return { kind: status };
    case 'failed':
      return {
        kind: 'failed',
        error: predictionError(error, model),
        isWorkerGone: WORKER_GONE.test(error),
      };
  }
};

const WORKER_GONE = /^(?:prediction failed: )*worker (?:crashed|died|terminated)/i;
const INVALID_INPUT = /^(?:prediction failed: )*input validation error/i;
/** It did not get a file of the inputs, or refuses another one: nothing was executed. */
export const hasRefusedInputs = ({ status, error }: Prediction): boolean =>
  status === 'failed' && INVALID_INPUT.test(error);

/** The server says once for each of its layers that it failed. */
const PREFIX = /^(?:(?:prediction failed|generator iteration error): )+/i;

const predictionError = (error: string, model: string): AttemptError => {
  if (WORKER_GONE.test(error)) return errorOf('crashed', `The worker of the Cog model ${model} crashed.`);
  const said = error.replace(PREFIX, '').trim();
  const message =
    said === '' ? `The Cog model ${model} says that the run has failed, and not why.` : errorMessage(said);
  if (INVALID_INPUT.test(error)) return errorOf('invalid_inputs', message);
  return errorOf(saysOutOfMemory(error) ? 'out_of_memory' : 'execution_error', message);
};

/** Why a server refused a prediction with this status and body; null when it may take it later. */
export const refusal = (status: number, text: string, model: string): AttemptError | null => {
  if (status === 409 || status === 429 || status === 503) return null;
  const said = whatWasWrong(text);
  const why = said === '' ? `status ${status}` : said;
  const message = errorMessage(`The Cog model ${model} refuses the inputs: ${why}`);
  if (status === 422 || status === 400 || status === 413) return errorOf('invalid_inputs', message);
  return errorOf(
    'execution_error',
    errorMessage(`The server of the Cog model ${model} refuses the run with status ${status}: ${said}`),
  );
};

/** The sentences of `{"detail": [{"loc", "msg"}]}` or `{"error"}`, or the beginning of any other text. */
const whatWasWrong = (text: string): string => {
  const answer = parseJson(text);
  const detail = isJsonObject(answer) ? (answer['detail'] ?? answer['error']) : text;
  if (!Array.isArray(detail)) return typeof detail === 'string' ? detail.slice(0, MAX_SAID) : '';
  return detail
    .filter(isJsonObject)
    .map(({ loc, msg }) => `${Array.isArray(loc) ? loc.slice(1).join('.') : ''}: ${String(msg)}`)
    .join('; ')
    .slice(0, MAX_SAID);
};

const MAX_SAID = 1_000;

/** What `GET /health-check` says. */
export type Health =
  | { readonly kind: 'starting' }
  /** `busy`: as many predictions run as it can execute at once. */
  | { readonly kind: 'ready' | 'busy' }
  /** `logs`: the end of what its setup printed. */
  | { readonly kind: 'setup_failed'; readonly logs: string }
  /** It answers, and takes no predictions any more until it is started again. */
  | { readonly kind: 'broken'; readonly status: string };

const MAX_SETUP_LOGS = 1_024;

/** Null when this is no answer of a Cog server. */
export const readHealth = (text: string): Health | null => {
  const answer = parseJson(text);
  if (!isJsonObject(answer) || typeof answer['status'] !== 'string') return null;
  switch (answer['status']) {
    case 'STARTING':
    // Servers of older releases say this before they say STARTING.
    case 'UNKNOWN':
      return { kind: 'starting' };
    case 'READY':
      return { kind: 'ready' };
    case 'BUSY':
      return { kind: 'busy' };
    case 'SETUP_FAILED':
      return { kind: 'setup_failed', logs: setupLogs(answer['setup']) };
    default:
      return { kind: 'broken', status: answer['status'].slice(0, 40) };
  }
};

const setupLogs = (setup: unknown): string => {
  const logs = isJsonObject(setup) && typeof setup['logs'] === 'string' ? setup['logs'].trimEnd() : '';
  return logs.length <= MAX_SETUP_LOGS ? logs : `…${logs.slice(-MAX_SETUP_LOGS).toWellFormed()}`;
};
