import { errorOf } from '@runledger/contracts/events/run-error';
import { parseJson } from '@runledger/contracts/json';
import type { AttemptGateway, GatewaySettings } from '../gateway/attempt-gateway.ts';
import { requestGateway } from '../gateway/gateway-request.ts';
import { requestSpan } from '../gateway/request-span.ts';
import { untilAnswered } from '../gateway/until-answered.ts';
import type { FetchOptions, NotFetched } from './fetch-text.ts';

/** A small JSON value of an attempt that no hash names, such as settings of its deployment. */
export interface NamedJson {
  readonly path: string;
  /** For people, in the plural. */
  readonly what: string;
}

export type FetchedJson = { readonly kind: 'fetched'; readonly value: unknown } | NotFetched;

const MAX_BYTES = 256 * 1024;
const FETCH_WITHIN_MS = 30_000;

/** Waits while the gateway is unavailable. The value is undefined when the response is no JSON. */
export const fetchJson = async (
  { log }: Pick<GatewaySettings, 'log'>,
  { assignment, url, token }: AttemptGateway,
  { path, what }: NamedJson,
  { stop, onWaiting }: FetchOptions,
): Promise<FetchedJson> => {
  const { run_id, attempt } = assignment;
  const onRetry = (why: string): void => {
    log.warn({ run_id, attempt, why }, `fetching the ${what} again`);
    onWaiting();
  };
  const request = {
    method: 'GET',
    url: url(path),
    token: await token(),
    maxResponseBytes: MAX_BYTES,
  } as const;
  const answer = await untilAnswered({ stop, onRetry }, () => {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(FETCH_WITHIN_MS)]);
    return requestSpan({ assignment, method: 'GET', what }, () => requestGateway(request, signal));
  });
  if (answer.kind === 'stopped') return answer;
  if (answer.kind !== 'ok') return notUsable(what, answer.why);
  return { kind: 'fetched', value: parseJson(answer.body.toString('utf8')) };
};

export const notUsable = (what: string, why: string): NotFetched => ({
  kind: 'refused',
  error: errorOf('internal_error', `The ${what} of this run cannot be used: ${why}.`),
});
