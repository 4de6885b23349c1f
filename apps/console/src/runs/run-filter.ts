import type { Schemas } from '../api/schemas.ts';
import { searchIn } from './search-text.ts';

export type RunStatus = Schemas['RunStatus'];

export const STATUSES = [
  'queued',
  'started',
  'running',
  'uploading',
  'success',
  'failed',
  'timeout',
  'cancelled',
] as const satisfies readonly RunStatus[];

/** Which runs are shown. It is in the address of the page, so that a link leads to the same runs. */
export interface RunFilter {
  readonly status?: readonly RunStatus[];
  readonly deployment_id?: string;
  readonly workflow_id?: string;
  readonly schedule_id?: string;
  readonly gpu?: string;
  readonly tag?: readonly string[];
  readonly search?: string;
}

const MOST_TAGS = 16;

/** The filter in the query of an address, without what the API would refuse. */
export const runFilterIn = (query: Readonly<Record<string, unknown>>): RunFilter => {
  const texts = (name: string): string[] =>
    [query[name]].flat().filter((value): value is string => typeof value === 'string' && value !== '');
  const status = texts('status').filter((text): text is (typeof STATUSES)[number] =>
    (STATUSES as readonly string[]).includes(text),
  );
  const tag = texts('tag').slice(0, MOST_TAGS);
  const [gpu] = texts('gpu');
  const search = searchIn(query['search']);
  return {
    ...(status.length > 0 && { status }),
    ...(tag.length > 0 && { tag }),
    ...(gpu !== undefined && { gpu }),
    ...(search !== undefined && { search }),
    ...ids(query),
  };
};

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const ids = (query: Readonly<Record<string, unknown>>): RunFilter =>
  Object.fromEntries(
    ['deployment_id', 'workflow_id', 'schedule_id']
      .map((name) => [name, query[name]] as const)
      .filter(([, id]) => typeof id === 'string' && UUID.test(id)),
  );

/** Without a member, or with it. */
export const withMember = <Name extends keyof RunFilter>(
  filter: RunFilter,
  name: Name,
  value: RunFilter[Name] | undefined,
): RunFilter => {
  const { [name]: _former, ...others } = filter;
  const isEmpty = value === undefined || value.length === 0;
  return isEmpty ? others : { ...others, [name]: value };
};

/** The filter as a request has it. */
export const asRequested = ({ status, tag, ...others }: RunFilter): RequestedFilter => ({
  ...others,
  ...(status && { status: [...status] }),
  ...(tag && { tag: [...tag] }),
});

interface RequestedFilter extends Omit<RunFilter, 'status' | 'tag'> {
  status?: RunStatus[];
  tag?: string[];
}
