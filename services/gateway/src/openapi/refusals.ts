import { Refusal as RefusalBody } from '@runledger/contracts/http/problem';
import type { TSchema } from 'typebox';
import type { Operation } from '../http/operation.ts';
import { REFUSALS, type DescribedRefusal } from '../http/refusal-responses.ts';

/** A refusal as a component of the document. */
export interface RefusalComponent extends DescribedRefusal {
  readonly name: string;
  readonly status: number;
  readonly body: TSchema;
}

/** `too_large` becomes TooLarge. */
const componentName = (kind: string): string =>
  kind.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Every refusal of an operation, in the order of the statuses. */
export const REFUSAL_COMPONENTS: readonly RefusalComponent[] = Object.entries(REFUSALS)
  .flatMap(([kind, row]) =>
    'described' in row
      ? [{ body: RefusalBody, ...row.described, name: componentName(kind), status: row.status }]
      : [],
  )
  .toSorted((one, other) => one.status - other.status);

/** The refusals with which an operation can answer. */
export const refusalsOf = ({ request, rawBody, refusals }: Operation): RefusalComponent[] => {
  const hasBody = request.body !== undefined || rawBody !== undefined;
  const hasSchemas = hasBody || Object.keys(request).length > 0;
  const listed: readonly number[] = refusals;
  const applies: Record<DescribedRefusal['of'], (status: number) => boolean> = {
    all: () => true,
    with_body: () => hasBody,
    with_raw_body: () => rawBody !== undefined,
    with_schemas: () => hasSchemas,
    listed: (status) => listed.includes(status),
  };
  return REFUSAL_COMPONENTS.filter(({ of, status }) => applies[of](status) || listed.includes(status));
};
