import type { Run } from '@runledger/contracts/fold/run';
import { isRunId, type OrgId } from '@runledger/contracts/ids';
import { foldedText } from './folded-text.ts';
import { searchTextOf } from './search-text.ts';

/** What runs are searched for. */
export interface RunSearch {
  /** Folded, at least one character. */
  readonly text: string;
  /** Of the deployments whose names have the text: their runs are found too. */
  readonly deploymentIds: readonly string[];
}

/** Runs whose ids begin with a text: from the first text on, and before the second. */
export interface IdRange {
  readonly from: string;
  readonly before: string;
}

/** How runs are found. Of many ids the runs are scanned, as those of a text are. */
export type Sought =
  | ({ readonly kind: 'text' } & RunSearch)
  | ({ readonly kind: 'ids' | 'many_ids' } & IdRange);

/** Of a search, in UTF-16 units: room for the characters that a request may have. */
const MAX_SEARCH = 1_000;
/** Of ids that began with fewer, an organisation may have very many. */
const MIN_ID_PREFIX = 8;
const ANY_ID = '00000000-0000-0000-0000-000000000000';
/** Behind every character of an id. */
const BEHIND = 'g';

/** A search as it is compared; empty when it has no character that counts. */
export const searchWord = (text: string): string => foldedText(text, MAX_SEARCH);

/** The ids that a text can be the beginning of; undefined when it can be that of none. */
export const idsBeginningWith = (text: string): IdRange | undefined =>
  text.length >= MIN_ID_PREFIX && isRunId(text + ANY_ID.slice(text.length))
    ? { from: text, before: text + BEHIND }
    : undefined;

/** How many runs of an organisation have such an id, up to a number. */
export type CountIds = (org_id: OrgId, ids: IdRange, atMost: number) => Promise<number>;

/** As many are read and sorted at once. Ids begin with their time: very many runs of one minute begin alike. */
const MAX_SORTED = 5_000;

/** Decides the search of a query: a text that ids of runs begin with finds those runs, and any other one is looked for in what runs say. */
export const decideSearch = async <Query extends { readonly org_id: OrgId; readonly search?: RunSearch }>(
  { search, ...query }: Query,
  countIds: CountIds,
): Promise<Omit<Query, 'search'> & { readonly sought: Sought | undefined }> => {
  if (!search) return { ...query, sought: undefined };
  const ids = idsBeginningWith(search.text);
  const count = ids ? await countIds(query.org_id, ids, MAX_SORTED + 1) : 0;
  if (!ids || count === 0) return { ...query, sought: { kind: 'text', ...search } };
  return { ...query, sought: { kind: count > MAX_SORTED ? 'many_ids' : 'ids', ...ids } };
};

/** Whether a search finds a run, as a database decides it. */
export const isFound = (run: Run, { text, deploymentIds }: RunSearch): boolean =>
  (idsBeginningWith(text) !== undefined && run.run_id.startsWith(text)) ||
  deploymentIds.includes(run.request.deployment_id) ||
  searchTextOf(run).includes(text);
