import { errorOf } from '@runledger/contracts/events/run-error';
import { BlobRef } from '@runledger/contracts/blobs';
import type { RunOutput } from '@runledger/contracts/events/run-event-data';
import { parseJson } from '@runledger/contracts/json';
import { Value } from 'typebox/value';
import type { Assignment } from '../attempt/core/assignment.ts';
import type { Storing } from '../attempt/core/end-of-attempt.ts';
import { openAttemptGateway, type GatewaySettings } from '../gateway/attempt-gateway.ts';
import { requestGateway } from '../gateway/gateway-request.ts';
import { requestSpan } from '../gateway/request-span.ts';
import { untilAnswered } from '../gateway/until-answered.ts';
import { refusalKind } from './refusal-kind.ts';

export type StoredList =
  | { readonly kind: 'stored'; readonly blob: BlobRef }
  | Exclude<Storing, { readonly kind: 'stored' }>;

const MAX_LIST_RESPONSE_BYTES = 4 * 1024;

/** Stores a list of outputs that is too large for an event. Waits while the gateway is unavailable. */
export const storeList = async (
  settings: GatewaySettings,
  assignment: Assignment,
  outputs: readonly RunOutput[],
  stop: AbortSignal,
): Promise<StoredList> => {
  const { run_id, attempt } = assignment;
  const { url, token } = openAttemptGateway(settings, assignment);
  const content = Buffer.from(JSON.stringify(outputs));
  const bytes = content.byteLength;
  const request = {
    method: 'PUT',
    url: url('output-list'),
    token: await token(),
    body: { type: 'application/json', bytes, content },
    maxResponseBytes: MAX_LIST_RESPONSE_BYTES,
  } as const;
  const onRetry = (why: string): void =>
    settings.log.warn({ run_id, attempt, why }, 'storing the list of outputs again');
  const answer = await untilAnswered({ stop, onRetry }, () =>
    requestSpan({ assignment, method: 'PUT', what: 'output list', bytes }, () =>
      requestGateway(request, stop),
    ),
  );
  if (answer.kind === 'stopped') return answer;
  if (answer.kind !== 'ok') {
    const kind = answer.kind === 'refused' ? refusalKind(answer.status) : 'internal_error';
    return {
      kind: 'refused',
      error: errorOf(kind, `The list of outputs could not be stored: ${answer.why}`),
    };
  }
  const blob = parseJson(answer.body.toString('utf8'));
  if (Value.Check(BlobRef, blob)) return { kind: 'stored', blob };
  const why =
    'The list of outputs could not be stored: the response of the gateway is not a reference to it.';
  return { kind: 'refused', error: errorOf('internal_error', why) };
};
