import type { Storing } from '../attempt/core/end-of-attempt.ts';
import { STORAGE_FULL } from '../gateway/gateway-request.ts';

/** Too large or too many outputs are an error of the workflow; any other refusal is one of the system. */
export const storingReason = (status: number): Extract<Storing, { readonly kind: 'refused' }>['reason'] => {
  if (status === 413) return 'workflow_error';
  return status === STORAGE_FULL ? 'storage_full' : 'internal_error';
};
