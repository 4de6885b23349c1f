import type { AttemptError } from '@runledger/contracts/events/run-error';
import type { AttemptGateway, GatewaySettings } from '../gateway/attempt-gateway.ts';
import { requestGateway, type GatewayAnswer } from '../gateway/gateway-request.ts';
import { requestSpan } from '../gateway/request-span.ts';
import { untilAnswered, type Answered, type UntilAnswered } from '../gateway/until-answered.ts';

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
export const fetchBody = async (
  { log }: Pick<GatewaySettings, 'log'>,
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
