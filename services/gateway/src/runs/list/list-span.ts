import type { SortKey, ListRange } from '../../projection/core/sort-key.ts';

export const DEFAULT_LIMIT = 20;

interface SpanFields {
  readonly created_after?: string | null | undefined;
  readonly created_before?: string | null | undefined;
}

/** The part of a list that is asked for: times of creation, and the place behind which a page begins. */
export const spanOf = (
  { created_after, created_before }: SpanFields,
  behind: SortKey | undefined,
): ListRange => ({
  ...(typeof created_after === 'string' ? { createdAfter: new Date(created_after) } : {}),
  ...(typeof created_before === 'string' ? { createdBefore: new Date(created_before) } : {}),
  ...(behind === undefined ? {} : { behind }),
});
