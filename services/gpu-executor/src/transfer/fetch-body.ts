import { type AttemptError, errorOf, type AttemptErrorKind } from '@runledger/contracts/events/run-error';
import { createHash } from 'node:crypto';
import { parseJson } from '@runledger/contracts/json';
import {
  type AttemptGateway,
  type GatewaySettings,
  requestGateway,
  type GatewayAnswer,
  requestSpan,
  untilAnswered,
  type Answered,
  type UntilAnswered,
} from './attempt-gateway.ts';

export interface FetchOptions {
  readonly stop: AbortSignal;
  /** The gateway is unavailable: the fetch waits for it. */
  readonly onWaiting: () => void;
}

export type NotFetched =
  /** It can never be fetched. */
  | { readonly kind: 'refused'; readonly error: AttemptError }
  /** The run was cancelled or requeued meanwhile, or the executor stops. */
  | { readonly kind: 'stopped' };

interface NamedBody {
  readonly path: string;
  /** For people. */
  readonly what: string;
  readonly maxBytes: number;
}

const FETCH_WITHIN_MS = 30_000;

/** The gateway's answer for an attempt. Waits while the gateway is unavailable. */
const fetchBody = async (
  { log }: GatewaySettings,
  { assignment, url, token }: AttemptGateway,
  { path, what, maxBytes }: NamedBody,
  { stop, onWaiting }: FetchOptions,
): Promise<Answered<GatewayAnswer<Buffer>>> => {
  const { run_id, attempt } = assignment;
  const onRetry: UntilAnswered['onRetry'] = (why, level) => {
    log[level]({ run_id, attempt, why }, `fetching the ${what} again`);
    onWaiting();
  };
  const request = {
    method: 'GET',
    url: url(path),
    token: await token(),
    maxResponseBytes: maxBytes,
  } as const;
  return untilAnswered({ stop, onRetry }, () => {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(FETCH_WITHIN_MS)]);
    return requestSpan({ assignment, method: 'GET', what }, () => requestGateway(request, signal));
  });
};

/** JSON text that an assignment names. */
export interface NamedText {
  readonly name: 'workflow' | 'inputs';
  readonly sha256: string;
  readonly maxBytes: number;
}

export type FetchedText = { readonly kind: 'fetched'; readonly text: Buffer } | NotFetched;

const GONE = 410;
const DAMAGED = 424;

/** Fetches the text from the gateway and checks its hash. Waits while the gateway is unavailable. */
export const fetchText = async (
  settings: GatewaySettings,
  gateway: AttemptGateway,
  { name, sha256, maxBytes }: NamedText,
  options: FetchOptions,
): Promise<FetchedText> => {
  const answer = await fetchBody(settings, gateway, { path: name, what: name, maxBytes }, options);
  switch (answer.kind) {
    case 'ok':
      return checked(name, sha256, answer.body);
    case 'stopped':
      return answer;
    case 'not_current':
      return refused(`The ${name} of this run cannot be fetched: ${answer.why}.`);
    case 'refused':
      if (answer.status === DAMAGED) return refused(answer.detail);
      if (answer.status !== GONE) return refused(`The ${name} of this run cannot be fetched: ${answer.why}.`);
      return refused(answer.detail, name === 'workflow' ? 'deployment_removed' : 'internal_error');
  }
};

const checked = (name: string, expected: string, text: Buffer): FetchedText => {
  const found = createHash('sha256').update(text).digest('hex');
  if (found === expected) return { kind: 'fetched', text };
  return refused(
    `The ${name} that the gateway has is not what this run was queued with: its SHA-256 should be ${expected} and is ${found}. ` +
      'Its store was damaged: create a new workflow version, and queue the run on it.',
  );
};

const refused = (why: string, kind: AttemptErrorKind = 'internal_error'): NotFetched => ({
  kind: 'refused',
  error: errorOf(kind, why),
});

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
  settings: GatewaySettings,
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
