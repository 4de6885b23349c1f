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

/** How the page shows each member of the API's filter: a new one does not compile before its line is here. */
const MEMBERS = {
  status: 'statuses',
  deployment_id: 'id',
  deployment: 'not shown',
  workflow_id: 'id',
  schedule_id: 'id',
  gpu: 'text',
  origin: 'not shown',
  tag: 'tags',
  search: 'search',
  created_after: 'not shown',
  created_before: 'not shown',
} as const satisfies Record<
  keyof Schemas['RunFilter'],
  'id' | 'text' | 'statuses' | 'tags' | 'search' | 'not shown'
>;

interface Shown {
  readonly id: string;
  readonly text: string;
  readonly search: string;
  readonly statuses: readonly RunStatus[];
  readonly tags: readonly string[];
}

type Members = typeof MEMBERS;

/** Which runs are shown. It is in the address of the page, so that a link leads to the same runs. */
export type RunFilter = {
  readonly [Name in keyof Members as Members[Name] extends keyof Shown ? Name : never]?: Shown[Members[Name] &
    keyof Shown];
};

const MOST_TAGS = 16;

/** The filter in the query of an address, without what the API would refuse. */
export const runFilterIn = (query: Readonly<Record<string, unknown>>): RunFilter =>
  Object.fromEntries(
    Object.entries(MEMBERS).flatMap(([name, shown]) => {
      const value = shown === 'not shown' ? undefined : READ[shown](query[name]);
      return value === undefined ? [] : [[name, value]];
    }),
  );

const textsOf = (value: unknown): string[] =>
  [value].flat().filter((text): text is string => typeof text === 'string' && text !== '');

const listOf = <Text extends string>(texts: readonly Text[]): readonly Text[] | undefined =>
  texts.length === 0 ? undefined : texts;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const READ: { readonly [Kind in keyof Shown]: (value: unknown) => Shown[Kind] | undefined } = {
  id: (value) => (typeof value === 'string' && UUID.test(value) ? value : undefined),
  text: (value) => textsOf(value)[0],
  search: searchIn,
  statuses: (value) =>
    listOf(
      textsOf(value).filter((text): text is (typeof STATUSES)[number] =>
        (STATUSES as readonly string[]).includes(text),
      ),
    ),
  tags: (value) => listOf(textsOf(value).slice(0, MOST_TAGS)),
};

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
