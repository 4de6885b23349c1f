import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { createHash } from 'node:crypto';
import type { AttemptGateway, GatewaySettings } from '../gateway/attempt-gateway.ts';
import { requestGateway } from '../gateway/gateway-request.ts';
import { requestSpan } from '../gateway/request-span.ts';
import { untilAnswered } from '../gateway/until-answered.ts';

/** JSON text that an assignment names. */
export interface NamedText {
  readonly name: 'workflow' | 'inputs';
  readonly sha256: string;
  readonly maxBytes: number;
}

export type NotFetched =
  /** It can never be fetched. */
  | { readonly kind: 'refused'; readonly error: AttemptError }
  /** The run was cancelled or requeued meanwhile, or the executor stops. */
  | { readonly kind: 'stopped' };

export type FetchedText = { readonly kind: 'fetched'; readonly text: Buffer } | NotFetched;

export interface FetchOptions {
  readonly stop: AbortSignal;
  /** The gateway is unavailable: the fetch waits for it. */
  readonly onWaiting: () => void;
}

const FETCH_WITHIN_MS = 30_000;
const GONE = 410;
const DAMAGED = 424;

/** Fetches the text from the gateway and checks its hash. Waits while the gateway is unavailable. */
export const fetchText = async (
  { log }: Pick<GatewaySettings, 'log'>,
  { assignment, url, token }: AttemptGateway,
  { name, sha256, maxBytes }: NamedText,
  { stop, onWaiting }: FetchOptions,
): Promise<FetchedText> => {
  const { run_id, attempt } = assignment;
  const onRetry = (why: string): void => {
    log.warn({ run_id, attempt, why }, `fetching the ${name} again`);
    onWaiting();
  };
  const request = {
    method: 'GET',
    url: url(name),
    token: await token(),
    maxResponseBytes: maxBytes,
  } as const;
  const answer = await untilAnswered({ stop, onRetry }, () => {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(FETCH_WITHIN_MS)]);
    return requestSpan({ assignment, method: 'GET', what: name }, () => requestGateway(request, signal));
  });
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

const refused = (why: string, kind: AttemptError['kind'] = 'internal_error'): NotFetched => ({
  kind: 'refused',
  error: errorOf(kind, why),
});
