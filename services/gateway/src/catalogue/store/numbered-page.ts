import type { NumberedVersion } from '@runledger/contracts/catalogue/records';

/** The version with a number; undefined when it does not exist, or no longer. @throws {LogUnavailable} */
export type AtNumber = (number: number) => Promise<NumberedVersion | undefined>;

export interface NumberedSpan {
  readonly limit: number;
  readonly archived: boolean;
  /** Only versions with a smaller number. */
  readonly below?: number;
}

export interface NumberedPage {
  /** Newest first. There may be fewer than the limit although others follow. */
  readonly versions: readonly NumberedVersion[];
  /** The next page has smaller numbers than this; undefined when nothing follows. */
  readonly below: number | undefined;
}

const MAX_READS = 1_000;

/** Reads from the newest number downwards, so that a page costs the same however many versions there are. */
export const numberedPage = async (
  at: AtNumber,
  { limit, archived, below, newest }: NumberedSpan & { readonly newest: number },
): Promise<NumberedPage> => {
  const first = Math.min(below === undefined ? newest : below - 1, newest);
  const versions: NumberedVersion[] = [];
  for (let from = first; from > 0; from -= limit) {
    if (first - from >= MAX_READS) return { versions, below: from + 1 };
    const numbers = Array.from({ length: Math.min(limit, from) }, (_, index) => from - index);
    for (const version of await Promise.all(numbers.map(at))) {
      if (version?.archived !== archived) continue;
      const last = versions.at(-1);
      if (last && versions.length === limit) return { versions, below: last.number };
      versions.push(version);
    }
  }
  return { versions, below: undefined };
};
