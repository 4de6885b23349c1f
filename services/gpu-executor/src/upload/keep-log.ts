import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { BlobRef } from '@runledger/contracts/blobs';
import { parseJson } from '@runledger/contracts/json';
import type { AttemptLog as KeptLog } from '@runledger/contracts/logs/kept-log';
import { Value } from 'typebox/value';
import type { Assignment } from '../attempt/core/assignment.ts';
import { openAttemptGateway, type GatewaySettings } from '../gateway/attempt-gateway.ts';
import { requestGateway } from '../gateway/gateway-request.ts';
import { requestSpan } from '../gateway/request-span.ts';
import { untilAnswered } from '../gateway/until-answered.ts';

const MAX_RESPONSE_BYTES = 4 * 1024;
/** The end of an attempt waits no longer: its log stays at the brokers for some time. */
const KEEP_WITHIN_MS = 3_000;

const compress = promisify(gzip);

/** Hands the log of an attempt to the gateway, which keeps it with the run. Undefined when it cannot be kept. */
export const keepLog = async (
  settings: GatewaySettings,
  assignment: Assignment,
  log: KeptLog,
): Promise<BlobRef | undefined> => {
  if (log.chunks.length === 0) return undefined;
  const { run_id, attempt } = assignment;
  const { url, token } = openAttemptGateway(settings, assignment);
  const content = await compress(JSON.stringify(log));
  const bytes = content.byteLength;
  const body = { type: 'application/gzip', bytes, content };
  const request = {
    method: 'PUT',
    url: url('log'),
    token: await token(),
    body,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  } as const;
  const stop = AbortSignal.timeout(KEEP_WITHIN_MS);
  const answer = await untilAnswered({ stop, onRetry: () => undefined }, () =>
    requestSpan({ assignment, method: 'PUT', what: 'log', bytes }, () => requestGateway(request, stop)),
  );
  const blob = answer.kind === 'ok' ? parseJson(answer.body.toString('utf8')) : undefined;
  if (Value.Check(BlobRef, blob)) return blob;
  const why = 'why' in answer ? answer.why : 'the gateway did not respond in time';
  settings.log.warn({ run_id, attempt, why }, 'the log of an attempt could not be kept with the run');
  return undefined;
};
