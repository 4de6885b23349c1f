import { inSpan, markFailed } from '@runledger/service-kit/tracing/spans';
import { attemptAttributes, type Assignment } from '../attempt/core/assignment.ts';

interface TracedRequest {
  readonly assignment: Assignment;
  readonly method: 'GET' | 'PUT';
  /** What is requested, such as `output`. The name of a file may be confidential, so it is not recorded. */
  readonly what: string;
  /** Of the body. */
  readonly bytes?: number;
}

/** One try of one request to the gateway. */
export const requestSpan = <Result extends { readonly kind: string }>(
  { assignment, method, what, bytes }: TracedRequest,
  send: () => Promise<Result>,
): Promise<Result> => {
  const attributes = {
    'http.request.method': method,
    ...(bytes === undefined ? {} : { 'http.request.body.size': bytes }),
    ...attemptAttributes(assignment),
  };
  return inSpan(`${method} ${what}`, { kind: 'client', attributes }, async (span) => {
    const result = await send();
    if (FAILED.has(result.kind)) markFailed(span, result.kind);
    return result;
  });
};

const FAILED: ReadonlySet<string> = new Set(['unavailable', 'not_current', 'refused']);
