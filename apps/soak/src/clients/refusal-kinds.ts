import type { Answer } from './client-records.ts';

/** What the texts of refusals say to people. */
const REFUSAL_TEXTS = [
  [503, 'no room in RUNS', /^The log of runs has no room /],
  [503, 'a store is full', /^The log is full /],
  [507, 'BLOBS is full', /^The store of large inputs is full/],
  [507, 'WORKFLOWS is full', /^The store of workflows is full/],
  [507, 'OUTPUTS is full', /^The object store OUTPUTS of the broker is full/],
  [429, 'too many uploads', /uploads in progress at this gateway/],
  [409, 'outlives the log', /^Nothing was queued: A run of this deployment could live /],
  [422, 'outlives the log', /A run of this deployment could live /],
  [429, 'over quota', /^(The organisation (has reached|would exceed) |With these inputs )/],
] as const;

const BY_STATUS = [
  [404, 'not found'],
  // A gateway that was paused did not read the request in time.
  [408, 'unavailable'],
  [409, 'conflict'],
  [503, 'unavailable'],
] as const;

export type RefusalKind =
  | (typeof REFUSAL_TEXTS)[number][1]
  | (typeof BY_STATUS)[number][1]
  /** No valid request gets it. */
  | 'other';

export const refusalOf = ({ status, why }: Extract<Answer, { kind: 'refused' }>): RefusalKind => {
  const text = detailOf(why);
  const named = REFUSAL_TEXTS.find(([of, , pattern]) => of === status && pattern.test(text));
  return named?.[1] ?? BY_STATUS.find(([of]) => of === status)?.[1] ?? 'other';
};

/** The body is cut, so it may be no JSON. */
const detailOf = (why: string): string => why.replace(/^\{"detail":"/, '');
