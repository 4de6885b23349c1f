import { allRead } from '@runledger/contracts/all-read';
import { gpuModel } from '@runledger/contracts/gpu';
import { RunStatus } from '@runledger/contracts/http/runs/run-attempt';
import type { RunConditions, RunFilter } from '@runledger/contracts/http/runs/runs';
import type { Run } from '@runledger/contracts/fold/run';
import type { OrgId } from '@runledger/contracts/ids';
import type { Static, TObject } from 'typebox';
import type { CountQuery } from '../views/list-query.decide.ts';
import { textsIn, wordsIn } from '../door/checked-request.ts';
import { checkCursor, decodeCursor } from '../door/pagination.ts';
import { isSortKey, type ListRange, type SortKey } from '../views/sort-key.decide.ts';
import type { Catalogue } from '../records/catalogue/catalogue.ts';
import type { Invalid } from '../door/refusal.ts';
import { filteredDeploymentId } from './facts/named-deployment.ts';
import { searchWord, type RunSearch } from '../views/run-search.decide.ts';

type Conditions = Static<TObject<typeof RunConditions>>;

/** Members of a filter: of a query, where lists are lists, or of a body, where `null` is as good as nothing. */
type Filter = { readonly [Name in keyof Conditions]?: Conditions[Name] | RunFilter[Name] };

/** Which runs a request selects. It reads every member, so a new one does not compile before its line is here. @throws {Refused} for a name that means no deployment, or several @throws {LogUnavailable} */
export type SelectRuns = <Given extends Filter>(
  org_id: OrgId,
  filter: Given & Readonly<Record<Exclude<keyof Given, keyof Filter>, never>>,
  /** Where it is in the request. */
  loc: Invalid['loc'],
) => Promise<CountQuery>;

/** Runs do not know the names of their deployments, which may change: the catalogue has them. */
export const selectRuns =
  ({ deployments }: { readonly deployments: Catalogue['deployments'] }): SelectRuns =>
  async (org_id, filter: Filter, loc) => {
    const { status, workflow_id, schedule_id, gpu, origin, tag, search, ...others } = filter;
    const { deployment_id, deployment, ...times } = others;
    const { created_after, created_before, ...unread } = times;
    allRead(unread);
    const deploymentId = await filteredDeploymentId(deployments, org_id, { deployment_id, deployment }, loc);
    const statuses = wordsIn(RunStatus, status)?.filter(isOfRuns);
    return {
      org_id,
      ...(statuses ? { statuses } : {}),
      ...(deploymentId === undefined ? {} : { deploymentId }),
      ...(typeof workflow_id === 'string' ? { workflowId: workflow_id.toLowerCase() } : {}),
      ...(typeof schedule_id === 'string' ? { scheduleId: schedule_id.toLowerCase() } : {}),
      ...(gpu ? { gpu: gpuModel(gpu) } : {}),
      ...(origin ? { origin } : {}),
      ...(tag ? { tags: textsIn(tag) } : {}),
      ...(typeof search === 'string' ? { search: await searchFor(deployments, org_id, search) } : {}),
      ...listRange({ created_after, created_before }, undefined),
    };
  };

/** No run has the status `not-started` yet. */
const isOfRuns = (status: RunStatus): status is Run['status'] => status !== 'not-started';

type Times = Partial<Record<'created_after' | 'created_before', string | null | undefined>>;

/** The part of a list of runs that a request asks for: times of creation, and the sort key after which a page begins. */
export const listRange = (
  { created_after, created_before }: Times,
  behind: SortKey | undefined,
): ListRange => ({
  ...(typeof created_after === 'string' ? { createdAfter: new Date(created_after) } : {}),
  ...(typeof created_before === 'string' ? { createdBefore: new Date(created_before) } : {}),
  ...(behind === undefined ? {} : { behind }),
});

/** The sort key after which a page begins; undefined for the first page. @throws TypeError for a cursor that `checkRunCursor` refuses */
export const sortKeyAt = (cursor: string | null | undefined): SortKey | undefined => {
  if (cursor === null || cursor === undefined) return undefined;
  const sortKey = decodeCursor(cursor);
  if (!isSortKey(sortKey)) throw new TypeError('A cursor was not checked before it was used');
  return sortKey;
};

/** Whether a cursor comes from a page of runs. */
export const checkRunCursor = checkCursor(isSortKey);
/** The same of a request about many runs, which has it in its body. */
export const checkBulkCursor = checkCursor(isSortKey, 'body');

/** The newest of the deployments whose names have the text: a database compares each run with all of them. */
const MAX_DEPLOYMENTS = 500;

const searchFor = async (
  deployments: Catalogue['deployments'],
  org_id: OrgId,
  given: string,
): Promise<RunSearch> => {
  const text = searchWord(given);
  const named = (await deployments.all(org_id)).filter(({ name }) => searchWord(name).includes(text));
  return { text, deploymentIds: named.slice(0, MAX_DEPLOYMENTS).map(({ id }) => id) };
};
