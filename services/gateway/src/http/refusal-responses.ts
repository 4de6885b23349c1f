import { statusOf } from '@runledger/contracts/http/refusals/refusal-codes';
import type { Invalid, Refusal } from './refusal.ts';

/** The body of a refusal. */
interface RefusalBody {
  readonly detail: string | readonly Invalid[];
  readonly code: Refusal['code'];
  readonly request_id: string;
}

export interface RefusalResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: RefusalBody;
}

/** Headers that every refusal with a status has, unless it has them with another value. */
const HEADERS_OF_STATUS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'WWW-Authenticate': 'Bearer' },
  408: { Connection: 'close' },
  // Use ends when runs start or clients leave. Retrying earlier does not help.
  429: { 'Retry-After': '5' },
  431: { Connection: 'close' },
  503: { 'Retry-After': '2' },
};

export const responseTo = (refusal: Refusal, request_id: string): RefusalResponse => {
  const { code } = refusal;
  const status = statusOf(code);
  const own = 'headers' in refusal ? refusal.headers : undefined;
  const detail = refusal.code === 'invalid_request' ? refusal.problems : refusal.why;
  return { status, headers: { ...HEADERS_OF_STATUS[status], ...own }, body: { detail, code, request_id } };
};
