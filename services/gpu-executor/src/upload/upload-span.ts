import { inSpan, markFailed } from '@runledger/service-kit/tracing/spans';
import { attemptAttributes, type Assignment } from '../attempt/core/assignment.ts';
import type { PutResult } from './put-file.ts';

/** One try to store one file. The file's name may be confidential, so it is not recorded. */
export const uploadSpan = (
  assignment: Assignment,
  bytes: number,
  put: () => Promise<PutResult>,
): Promise<PutResult> => {
  const attributes = {
    'http.request.method': 'PUT',
    'http.request.body.size': bytes,
    ...attemptAttributes(assignment),
  };
  return inSpan('PUT output', { kind: 'client', attributes }, async (span) => {
    const result = await put();
    if (result.kind !== 'stored') markFailed(span, result.kind);
    return result;
  });
};
