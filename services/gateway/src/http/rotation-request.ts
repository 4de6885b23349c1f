import type { JsonValue } from '@runledger/contracts/json';
import { MOST_OVERLAP_S } from '@runledger/webhooks/signing-secrets';
import { bodyObject, member, refuse } from './body-object.ts';
import { invalid } from './problem.ts';

export interface RotationRequest {
  /** Seconds for which the present secret signs too; undefined for the usual time. */
  readonly overlap_s: number | undefined;
}

const LOC = ['body', 'overlap_s'];

/** Checks the body of a request to rotate the signing secret; it may be left out. */
export const rotationRequest = (body: JsonValue | undefined): RotationRequest => {
  const value = body === undefined ? undefined : member(bodyObject(body), 'overlap_s');
  if (value === undefined || value === null) return { overlap_s: undefined };
  if (typeof value !== 'number') refuse([invalid(LOC, 'float_type', 'Input should be a valid number')]);
  if (value < 0) {
    refuse([invalid(LOC, 'greater_than_equal', 'Input should be greater than or equal to 0')]);
  }
  if (value > MOST_OVERLAP_S) {
    const msg = `Input should be less than or equal to ${MOST_OVERLAP_S}, the seconds of 7 days`;
    refuse([invalid(LOC, 'less_than_equal', msg)]);
  }
  return { overlap_s: value };
};
