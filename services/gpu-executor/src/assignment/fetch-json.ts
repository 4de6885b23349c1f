import { errorOf } from '@runledger/contracts/events/run-error';
import { parseJson } from '@runledger/contracts/json';
import type { AttemptGateway, GatewaySettings } from '../gateway/attempt-gateway.ts';
import { fetchBody, type FetchOptions, type NotFetched } from './fetch-body.ts';

/** A small JSON value of an attempt that no hash names, such as settings of its deployment. */
export interface NamedJson {
  readonly path: string;
  /** For people, in the plural. */
  readonly what: string;
}

export type FetchedJson = { readonly kind: 'fetched'; readonly value: unknown } | NotFetched;

const MAX_BYTES = 256 * 1024;

/** Waits while the gateway is unavailable. The value is undefined when the response is no JSON. */
export const fetchJson = async (
  settings: Pick<GatewaySettings, 'log'>,
  gateway: AttemptGateway,
  { path, what }: NamedJson,
  options: FetchOptions,
): Promise<FetchedJson> => {
  const answer = await fetchBody(settings, gateway, { path, what, maxBytes: MAX_BYTES }, options);
  if (answer.kind === 'stopped') return answer;
  if (answer.kind !== 'ok') return notUsable(what, answer.why);
  return { kind: 'fetched', value: parseJson(answer.body.toString('utf8')) };
};

export const notUsable = (what: string, why: string): NotFetched => ({
  kind: 'refused',
  error: errorOf('internal_error', `The ${what} of this run cannot be used: ${why}.`),
});
