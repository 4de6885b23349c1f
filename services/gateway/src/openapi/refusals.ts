import { HTTPValidationError, Refusal } from '@runledger/contracts/http/problem';
import { codesOfOperations } from '@runledger/contracts/http/refusals/refusal-codes';
import type { TSchema } from 'typebox';
import type { Operation } from '../http/operation.ts';
import { RESPONSES, type DescribedRefusals } from '../http/refused-statuses.ts';

/** The refusals of a status as a component of the document. */
export interface RefusalComponent extends DescribedRefusals {
  readonly status: number;
  readonly body: TSchema;
}

const sentenceOf = (codes: readonly string[]): string => {
  const all = codes.map((code) => `\`${code}\``).join(', ');
  return codes.length === 1 ? `Its code is ${all}.` : `Its code is one of ${all}.`;
};

/** In the order of the statuses. */
export const REFUSAL_COMPONENTS: readonly RefusalComponent[] = Object.entries<DescribedRefusals>(
  RESPONSES,
).map(([text, described]) => {
  const status = Number(text);
  return {
    ...described,
    status,
    body: status === 422 ? HTTPValidationError : Refusal,
    description: `${described.description}\n\n${sentenceOf(codesOfOperations(status))}`,
  };
});

/** The refusals with which an operation can answer. */
export const refusalsOf = ({ request, rawBody, refusals }: Operation): RefusalComponent[] => {
  const hasBody = request.body !== undefined || rawBody !== undefined;
  const listed: readonly number[] = refusals;
  const applies: Record<DescribedRefusals['of'], boolean> = {
    all: true,
    with_body: hasBody,
    with_raw_body: rawBody !== undefined,
    listed: false,
  };
  return REFUSAL_COMPONENTS.filter(({ of, status }) => applies[of] || listed.includes(status));
};
