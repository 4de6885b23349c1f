import { RunCountQuery, RunCounts } from '@runledger/contracts/http/runs/run-counts';
import { operation, route, type Route } from '../door/operation.ts';
import { MAX_COUNTED } from '../views/counts.decide.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';

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

export const countRunsRoute = ({ views }: Kit, { fresh, selectRuns }: Runs): Route =>
  route(countRunsOperation, async ({ query }, caller) => {
    const selected = await selectRuns(caller.org_id, query);
    await fresh.becomeFresh();
    const { counts, isComplete } = await views.countRuns(selected);
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    return { counts, total, complete: isComplete };
  });
