import type { AttemptErrorKind } from '@runledger/contracts/events/run-error';
import { STORAGE_FULL } from '../gateway/gateway-request.ts';

/** Too large or too many outputs are an error of the workflow; any other refusal is one of the system. */
export const refusalKind = (status: number): AttemptErrorKind => {
  if (status === 413) return 'output_too_large';
  return status === STORAGE_FULL ? 'storage_full' : 'internal_error';
};
