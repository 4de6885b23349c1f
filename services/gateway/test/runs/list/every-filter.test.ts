import type { RunConditions, RunFilter } from '@runledger/contracts/http/runs/runs';
import { newUuid, orgId } from '@runledger/contracts/ids';
import type { Static, TObject } from 'typebox';
import { describe, expect, it } from 'vitest';
import { selectRuns } from '../../../src/runs/filter.ts';
import { runListQuery, type ListQuery } from '../../../src/views/list-query.decide.ts';
import { soughtIn } from '../../../src/views/run-search.decide.ts';

type Query = Static<TObject<typeof RunConditions>>;

/** A value of each member: a new one does not compile before it has one here. */
const IN_QUERY: Required<Query> = {
  status: ['queued'],
  deployment_id: newUuid(),
  deployment: 'portraits',
  workflow_id: newUuid(),
  schedule_id: newUuid(),
  gpu: 'h100',
  origin: 'replay',
  tag: ['a'],
  search: 'fox',
  created_after: '2026-01-31',
  created_before: '2026-01-31',
};
const IN_BODY: Required<RunFilter> = { ...IN_QUERY, status: 'queued', tag: 'a' };

const deployment = { id: newUuid(), name: 'portraits', archived: false };
const select = selectRuns({ deployments: { all: async () => [deployment] } as never });
const org_id = orgId(newUuid());

/** What is asked of a database. */
const listed = async (filter: Query | RunFilter): Promise<ListQuery> => {
  const query = await select(org_id, filter, ['query']);
  return runListQuery({ ...query, limit: 1 }, await soughtIn(query, async () => 0));
};

describe.each([
  ['a query', IN_QUERY],
  ['a body', IN_BODY],
])('a filter of %s', (_where, samples) => {
  it.each(Object.entries(samples))('selects less with %s', async (name, value) => {
    expect(await listed({ [name]: value })).not.toEqual(await listed({}));
  });
});

it.each(Object.keys(IN_BODY))('a filter whose %s is null is a filter without it', async (name) => {
  expect(await listed({ [name]: null })).toEqual(await listed({}));
});
