import { RunListQuery, RunPage } from '@runledger/contracts/http/runs/runs';
import type { ListRuns } from './list-runs.ts';
import { operation, route, type Route } from '../../http/operation.ts';
import { cursorAt, DEFAULT_LIMIT } from '../../http/pagination.ts';
import { listRange, runCursorProblems, sortKeyAt } from './list-range.ts';
import { runFilterOf } from './run-filter.ts';
import type { ReadSearch } from './run-search.ts';
import { includeOf } from '../read/read-included.ts';
import { showCallback } from '../../webhooks/core/show-callback.ts';
import { createdAtIn } from '../../projection/core/sort-key.ts';
import { own } from '../../validation/node.ts';

const listRunsOperation = operation({
  id: 'listRuns',
  method: 'GET',
  path: '/runs',
  tag: 'Runs',
  summary: 'List runs',
  description:
    'The runs that match every filter, newest first. The request waits up to 2 seconds until the list shows everything that was stored before. Pages skip no run and repeat none, also while runs are queued. With `at` it shows the runs as they were then, as far as the log or the archive still has their facts; deleted ones are not in it. With `search` a page says how far back it has looked.',
  scope: 'runs:read',
  request: { query: RunListQuery },
  response: { status: 200, description: 'A page of runs.', body: RunPage },
  refusals: [],
});

export interface ListRunsRoute {
  readonly listRuns: ListRuns;
  readonly searchOf: ReadSearch;
}

export const listRunsRoute = ({ listRuns, searchOf }: ListRunsRoute): Route =>
  route(
    listRunsOperation,
    async ({ query }, caller) => {
      const { items, unknown, end } = await listRuns(
        {
          org_id: caller.org_id,
          ...runFilterOf(query),
          ...(await searchOf(caller.org_id, query.search)),
          ...listRange(query, sortKeyAt(query.cursor)),
          limit: query.limit ?? DEFAULT_LIMIT,
          at: query.at === undefined ? undefined : Date.parse(query.at),
        },
        includeOf(query),
        showCallback(caller.key.scopes),
      );
      return {
        runs: [...items],
        ...(query.at === undefined ? {} : { unknown_runs: [...unknown] }),
        ...(query.search === undefined ? {} : { searched_to: end === undefined ? null : createdAtIn(end) }),
        next_cursor: cursorAt(end),
      };
    },
    ({ query }) => runCursorProblems(own(query, 'cursor'), 'query'),
  );
