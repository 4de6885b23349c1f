import { parseJson } from '@runledger/contracts/json';
import { DOCUMENTED_WEBHOOK_HEADERS } from '@runledger/contracts/deliveries/webhook-headers';
import { WebhookPayload } from '@runledger/contracts/deliveries/webhook-payload';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { counted } from '@runledger/contracts/counted';
import { plain, shorten } from '../../output/plain-text.ts';
import type { Checked } from './check-signature.ts';
import type { ReceivedRequest } from './receiver.ts';

/** Only the number of outputs is shown. No error is: one of a later release may be of another kind. */
const ShownPayload = Type.Object({
  ...Type.Omit(WebhookPayload, ['outputs', 'error', 'attempts']).properties,
  outputs: Type.Array(Type.Unknown()),
});

const LONGEST = 160;

export interface Notification {
  readonly at: Date;
  readonly received: ReceivedRequest;
  readonly signature: Checked;
  /** The status of the answer. */
  readonly answered: number;
}

/** One line for a person. */
export const notificationLine = ({ at, received, signature, answered }: Notification): string =>
  [
    at.toISOString(),
    shorten(plain(received.path), LONGEST),
    payloadWords(received.body),
    signatureWords(signature),
    `answered ${answered}`,
    shorten(plain(header(received, 'webhook-id') ?? ''), LONGEST),
  ]
    .join('  ')
    .trimEnd();

/** All of it for a program. */
export const notificationJson = ({ at, received, signature, answered }: Notification): object => ({
  received_at: at.toISOString(),
  path: received.path,
  headers: Object.fromEntries(
    DOCUMENTED_WEBHOOK_HEADERS.map(({ name }) => [name, header(received, name) ?? null]),
  ),
  signature,
  answered,
  body: parseJson(received.body.toString('utf8')) ?? received.body.toString('utf8'),
});

/** Undefined also for a header that was sent twice. */
export const header = ({ headers }: ReceivedRequest, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
};

const payloadWords = (body: Buffer): string => {
  const payload = parseJson(body.toString('utf8'));
  if (!Value.Check(ShownPayload, payload))
    return `not a notification: ${shorten(plain(body.toString('utf8', 0, LONGEST * 4)), LONGEST)}`;
  const { run_id, status, progress, live_status, finished, outputs, end_reason, warnings = [] } = payload;
  if (!finished)
    return `run ${run_id} ${status} ${Math.floor(progress * 100)} % ${shorten(plain(live_status ?? ''), 40)}`.trimEnd();
  return `run ${run_id} has ended: ${status}${status === 'success' ? '' : ` (${plain(end_reason ?? '')})`}, ${counted(outputs.length, 'output')}${warnings.length === 0 ? '' : `, ${counted(warnings.length, 'warning')}`}`;
};

const signatureWords = (signature: Checked): string => {
  switch (signature) {
    case 'right':
      return 'signature valid';
    case 'wrong':
      return 'SIGNATURE INVALID';
    case 'stale':
      return 'SIGNATURE TOO OLD';
    case 'unsigned':
      return 'NOT SIGNED';
    case 'not checked':
      return 'signature not checked';
  }
};
