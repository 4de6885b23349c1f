import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseJson } from '@runledger/contracts/json';
import { boundedText, whyOf } from '../model-server/model-server.ts';
import { readHealth, type Health } from './prediction.decide.ts';
import { schemaJoins } from './split-answer.decide.ts';
import type { OutputLog } from './output-log.ts';

/** The HTTP interface of one Cog server. Nothing here throws: a server that cannot be reached is a value. */
export interface CogApi {
  health(): Promise<HealthAnswer>;
  /**
   * Executes a prediction: the answer comes when it has ended. `onSent` is called when the server has the whole body. A server of this
   * release cancels the prediction when the connection is cut, as it is by the signal.
   */
  predict(prediction: NewPrediction, onSent: () => void, signal: AbortSignal): Promise<CogAnswer>;
  /**
   * The present state of a prediction that runs. Only the same request again tells it, and that executes a prediction which has just ended once more: so
   * it has an input that every server refuses.
   */
  look(id: string, signal: AbortSignal): Promise<CogAnswer>;
  cancel(id: string): Promise<void>;
  /** Whether its model says that the list which it puts out is one text in pieces. */
  joinsOutput(): Promise<boolean>;
  readonly outputLog: OutputLog;
  /** Its temporary folder; null when the executor does not know it. */
  readonly temporary: string | null;
}

export type HealthAnswer =
  | { readonly kind: 'answered'; readonly health: Health | null }
  | { readonly kind: 'unreachable'; readonly why: string };

interface NewPrediction {
  readonly id: string;
  /** `{"input": …}`, as it is made. */
  readonly body: AsyncIterable<string>;
  readonly traceparent: string | null;
}

type CogAnswer =
  | { readonly kind: 'answered'; readonly status: number; readonly body: AsyncIterable<Uint8Array> }
  | { readonly kind: 'lost'; readonly why: string };

const ANSWERS_WITHIN_MS = 30_000;
const MAX_HEALTH_BYTES = 8 * 1024 ** 2;
const MAX_SCHEMA_BYTES = 8 * 1024 ** 2;
const KEEP_ALIVE_MS = 30_000;
const NO_INPUT = JSON.stringify({ input: [] });
const JSON_HEADER = { 'Content-Type': 'application/json' };

interface CogConnection {
  /** Ends with a slash. */
  readonly base: URL;
  /** Answers for a model that was not built, which has no schema. */
  readonly sourceJoins: () => Promise<boolean>;
  readonly outputLog: OutputLog;
  readonly temporary: string | null;
}

export const cogApi = ({ base, sourceJoins, outputLog, temporary }: CogConnection): CogApi => {
  const predictionUrl = (id: string): URL => new URL(`predictions/${id}`, base);
  return {
    outputLog,
    temporary,
    health: async () => {
      try {
        const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS);
        const { body } = await fetch(new URL('health-check', base), { signal, redirect: 'error' });
        const text = await boundedText(body, MAX_HEALTH_BYTES);
        return { kind: 'answered', health: text === undefined ? null : readHealth(text) };
      } catch (error) {
        return { kind: 'unreachable', why: whyOf(error) };
      }
    },
    predict: ({ id, body, traceparent }, onSent, signal) =>
      put(predictionUrl(id), { body, traceparent, onSent, signal }),
    look: async (id, signal) => {
      try {
        const response = await fetch(predictionUrl(id), {
          method: 'PUT',
          headers: { ...JSON_HEADER, Prefer: 'respond-async' },
          body: NO_INPUT,
          redirect: 'error',
          signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWERS_WITHIN_MS)]),
        });
        return { kind: 'answered', status: response.status, body: response.body ?? Readable.from([]) };
      } catch (error) {
        return { kind: 'lost', why: whyOf(error) };
      }
    },
    joinsOutput: async () => {
      try {
        const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS);
        const { body } = await fetch(new URL('openapi.json', base), { signal, redirect: 'error' });
        const joins = schemaJoins(parseJson((await boundedText(body, MAX_SCHEMA_BYTES)) ?? ''));
        return joins ?? (await sourceJoins());
      } catch {
        return sourceJoins();
      }
    },
    cancel: async (id) => {
      const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS);
      const url = new URL(`predictions/${id}/cancel`, base);
      await fetch(url, { method: 'POST', redirect: 'error', signal })
        .then(({ body }) => body?.cancel())
        // It is asked again until the prediction has ended.
        .catch(() => undefined);
    },
  };
};

interface Put {
  readonly body: AsyncIterable<string>;
  readonly traceparent: string | null;
  readonly onSent: () => void;
  readonly signal: AbortSignal;
}

/** Not by `fetch`, which gives up when an answer takes longer than five minutes. */
const put = async (url: URL, { body, traceparent, onSent, signal }: Put): Promise<CogAnswer> => {
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const headers = { ...JSON_HEADER, ...(traceparent === null ? {} : { traceparent }) };
  const request = send(url, { method: 'PUT', headers, signal, agent: false });
  request.setSocketKeepAlive(true, KEEP_ALIVE_MS);
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve);
    request.on('error', reject);
  });
  try {
    // A server may answer before it has read the whole body, and then reads no further.
    await Promise.race([pipeline(Readable.from(body), request), answer]);
    onSent();
    const response = await answer;
    return { kind: 'answered', status: response.statusCode ?? 0, body: response };
  } catch (error) {
    answer.catch(() => undefined);
    return { kind: 'lost', why: whyOf(error) };
  }
};
