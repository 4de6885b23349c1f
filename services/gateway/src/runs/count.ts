import { RunCountQuery, RunCounts } from '@runledger/contracts/http/runs/run-counts';
import { operation, route, type Route } from '../door/operation.ts';
import { MAX_COUNTED } from '../views/counts.decide.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';
import { listRange, runFilterOf } from './filter.ts';

const most = MAX_COUNTED.toLocaleString('en');

const countRunsOperation = operation({
  id: 'countRuns',
  method: 'GET',
  path: '/runs/counts',
  tag: 'Runs',
  summary: 'Count runs',
  description: `How many runs that match every filter have each status now. The request waits up to 2 seconds until the counts show everything that was stored before. It looks at the newest ${most} runs of each status at most; with filters other than \`status\` and times, at the newest ${most} of all runs that have ended. If there are more, \`complete\` is false.`,
  scope: 'runs:read',
  request: { query: RunCountQuery },
  response: { status: 200, description: 'The counts.', body: RunCounts },
  refusals: [],
});

export const countRunsRoute = ({ views }: Kit, { fresh, searchOf }: Runs): Route =>
  route(countRunsOperation, async ({ query }, caller) => {
    const search = await searchOf(caller.org_id, query.search);
    await fresh.becomeFresh();
    const { counts, isComplete } = await views.countRuns({
      org_id: caller.org_id,
      ...runFilterOf(query),
      ...search,
      ...listRange(query, undefined),
    });
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    return { counts, total, complete: isComplete };
  });
