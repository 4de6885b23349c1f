import { gpuModel } from '@runledger/contracts/gpu';
import { RunStatus } from '@runledger/contracts/http/runs/run-status';
import type { RunFilter } from '@runledger/contracts/http/runs/runs';
import type { Run } from '@runledger/contracts/fold/run';
import type { OrgId } from '@runledger/contracts/ids';
import type { RunQuery } from '../views/list-query.decide.ts';
import { textsIn, wordsIn } from '../door/nearest-name.ts';
import { cursorProblems, decodeCursor } from '../door/pagination.ts';
import type { Invalid } from '../door/refusal.ts';
import { isSortKey, type ListRange, type SortKey } from '../views/sort-key.decide.ts';
import type { CatalogueRecords } from '../records/catalogue/catalogue.ts';
import { searchWord, type RunSearch } from '../views/run-search.decide.ts';

type Fields = Pick<RunFilter, 'deployment_id' | 'workflow_id' | 'schedule_id' | 'gpu' | 'origin' | 'tag'> & {
  readonly status?: string | readonly RunStatus[] | null | undefined;
};

/** The conditions of a filter in a query or a body, apart from times. */
export const runFilterOf = ({
  status,
  deployment_id,
  workflow_id,
  schedule_id,
  gpu,
  origin,
  tag,
}: Fields): Pick<
  RunQuery,
  'statuses' | 'deploymentId' | 'workflowId' | 'scheduleId' | 'gpu' | 'origin' | 'tags'
> => {
  const statuses = wordsIn(RunStatus, status)?.filter(isOfRuns);
  return {
    ...(statuses ? { statuses } : {}),
    ...(typeof deployment_id === 'string' ? { deploymentId: deployment_id.toLowerCase() } : {}),
    ...(typeof workflow_id === 'string' ? { workflowId: workflow_id.toLowerCase() } : {}),
    ...(typeof schedule_id === 'string' ? { scheduleId: schedule_id.toLowerCase() } : {}),
    ...(gpu ? { gpu: gpuModel(gpu) } : {}),
    ...(origin ? { origin } : {}),
    ...(tag ? { tags: textsIn(tag) } : {}),
  };
};

/** No run has the status `not-started` yet. */
const isOfRuns = (status: RunStatus): status is Run['status'] => status !== 'not-started';

interface RangeFields {
  readonly created_after?: string | null | undefined;
  readonly created_before?: string | null | undefined;
}

/** The part of a list of runs that a request asks for: times of creation, and the sort key after which a page begins. */
export const listRange = (
  { created_after, created_before }: RangeFields,
  behind: SortKey | undefined,
): ListRange => ({
  ...(typeof created_after === 'string' ? { createdAfter: new Date(created_after) } : {}),
  ...(typeof created_before === 'string' ? { createdBefore: new Date(created_before) } : {}),
  ...(behind === undefined ? {} : { behind }),
});

/** The sort key after which a page begins; undefined for the first page. @throws TypeError for a cursor that `runCursorProblems` refuses */
export const sortKeyAt = (cursor: string | null | undefined): SortKey | undefined => {
  if (cursor === null || cursor === undefined) return undefined;
  const sortKey = decodeCursor(cursor);
  if (!isSortKey(sortKey)) throw new TypeError('A cursor was not checked before it was used');
  return sortKey;
};

/** Whether a cursor comes from a page of runs. */
export const runCursorProblems = (value: unknown, source: 'query' | 'body'): Invalid[] =>
  cursorProblems(value, source, isSortKey);

/** What a request searches runs for; nothing without a text. @throws {LogUnavailable} */
export type ReadSearch = (
  org_id: OrgId,
  text: string | null | undefined,
) => Promise<{ readonly search?: RunSearch }>;

/** The newest of the deployments whose names have the text: a database compares each run with all of them. */
const MAX_DEPLOYMENTS = 500;

/** Runs do not know the names of their deployments, which may change: the catalogue has them. */
export const readSearch =
  ({ deployments }: CatalogueRecords): ReadSearch =>
  async (org_id, given) => {
    if (given === null || given === undefined) return {};
    const text = searchWord(given);
    const ids = await deployments.ids(org_id, ({ name }) => searchWord(name).includes(text));
    return { search: { text, deploymentIds: ids.slice(0, MAX_DEPLOYMENTS) } };
  };
