import { errorOf, type AttemptErrorKind } from '@runledger/contracts/events/run-error';
import { createHash } from 'node:crypto';
import type { AttemptGateway, GatewaySettings } from '../gateway/attempt-gateway.ts';
import { fetchBody, type FetchOptions, type NotFetched } from './fetch-body.ts';

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
  settings: Pick<GatewaySettings, 'log'>,
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
