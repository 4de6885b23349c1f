import { RunActivity, RunActivityQuery } from '@runledger/contracts/http/runs/run-activity';
import { operation, route, type Route } from '../../http/operation.ts';
import { invalid, invalidRequest } from '../../http/refusal.ts';
import { MAX_ACTIVE } from '../../projection/core/counts/run-activity.ts';
import type { FreshViews } from '../../projection/fresh-views.ts';
import type { RunViews } from '../../projection/run-views.ts';
import { activitySpan } from './core/activity-span.ts';

const most = MAX_ACTIVE.toLocaleString('en');

const activityOperation = operation({
  id: 'getRunActivity',
  method: 'GET',
  path: '/runs/activity',
  tag: 'Runs',
  summary: 'Read the activity of runs',
  description: `How many runs were queued, began to execute and ended in each interval, and how many waited and executed at its end, for a chart: every list has one number for each interval. Without parameters it is of the last hour, minute by minute. Ends are moved to whole steps since 1970 (UTC), so repeated requests have the same intervals. The request waits up to 2 seconds until all that was stored before is counted. Deleted runs, and those that were removed because of their age, are not counted. It reads at most ${most} runs, those that had not ended at \`since\` and all later ones: with more, it is a 422 that says so.`,
  scope: 'runs:read',
  request: { query: RunActivityQuery },
  response: { status: 200, description: 'The intervals, the oldest first.', body: RunActivity },
  refusals: [],
});

export interface ActivityRoute {
  readonly views: Pick<RunViews, 'runActivity'>;
  readonly fresh: Pick<FreshViews, 'becomeFresh'>;
  readonly now: () => Date;
}

export const activityRoute = ({ views, fresh, now }: ActivityRoute): Route =>
  route(activityOperation, async ({ query }, caller) => {
    const asked = { since: msOf(query.since), until: msOf(query.until), step: query.step };
    const span = activitySpan(asked, now().getTime());
    if (span.kind === 'invalid') throw invalidRequest(...span.problems);
    const { stepMs } = span;
    const [from, to] = [new Date(span.since), new Date(span.until)];
    await fresh.becomeFresh();
    const activity = await views.runActivity({ org_id: caller.org_id, from, to, stepMs });
    if (!activity) throw invalidRequest(tooMany);
    const { queued, started, ended, waiting, running } = activity;
    return {
      since: from.toISOString(),
      until: to.toISOString(),
      step_s: stepMs / 1_000,
      times: queued.map((_, place) => new Date(span.since + place * stepMs).toISOString()),
      queued: [...queued],
      started: [...started],
      succeeded: [...ended.success],
      failed: [...ended.failed],
      timed_out: [...ended.timeout],
      cancelled: [...ended.cancelled],
      waiting: [...waiting],
      running: [...running],
    };
  });

const tooMany = invalid(
  ['query', 'since'],
  'value_error',
  `Value error, more than ${most} runs ended since \`since\`, or have not ended yet, and one response counts no more. Use a later \`since\``,
);

const msOf = (time: string | undefined): number | undefined =>
  time === undefined ? undefined : Date.parse(time);
