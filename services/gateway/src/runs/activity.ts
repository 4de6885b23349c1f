import { RunActivity, RunActivityQuery } from '@runledger/contracts/http/runs/run-activity';
import { operation, route, type Route } from '../door/operation.ts';
import { invalid, wrongValue, invalidRequest, type InvalidRequest } from '../door/refusal.ts';
import { MAX_ACTIVE } from '../views/counts.decide.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';

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
});

export const activityRoute = ({ views, now }: Kit, { fresh }: Runs): Route =>
  route(activityOperation, async ({ query }, caller) => {
    const asked = { since: msOf(query.since), until: msOf(query.until), step: query.step };
    const span = activitySpan(asked, now().getTime());
    if (span.kind === 'invalid') throw invalidRequest(...span.problems);
    const { stepMs } = span;
    const [from, to] = [new Date(span.since), new Date(span.until)];
    await fresh.becomeFresh(caller.org_id);
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
  `More than ${most} runs ended since \`since\`, or have not ended yet, and one response counts no more. Use a later \`since\``,
);

const msOf = (time: string | undefined): number | undefined =>
  time === undefined ? undefined : Date.parse(time);

/** Times in milliseconds since 1970, the step in seconds; undefined for what the request leaves out. */
export interface AskedSpan {
  readonly since: number | undefined;
  readonly until: number | undefined;
  readonly step: number | undefined;
}

/** Both ends are whole steps since 1970. */
interface ActivitySpan {
  readonly kind: 'span';
  readonly since: number;
  readonly until: number;
  readonly stepMs: number;
}

export const MAX_POINTS = 1_000;
const HOUR_MS = 3_600_000;
const MINUTE_S = 60;

/** The intervals that a request asks for: of the last hour, and minutes, when it does not say. There is nothing after `now` to show. */
export const activitySpan = (asked: AskedSpan, now: number): ActivitySpan | InvalidRequest => {
  const until = Math.min(asked.until ?? now, now);
  const since = asked.since ?? until - HOUR_MS;
  if (since >= until) return refused('since', '`since` should be before `until`, and before now');
  const step = asked.step ?? usualStep(since, until);
  const stepMs = step * 1_000;
  const [first, last] = [Math.floor(since / stepMs) * stepMs, Math.ceil(until / stepMs) * stepMs];
  const points = (last - first) / stepMs;
  if (points > MAX_POINTS)
    return refused(
      'step',
      `there are ${points} intervals of ${step} seconds between \`since\` and \`until\`, and ${MAX_POINTS} is the most. Use a \`step\` of at least ${leastStep(since, until)}, or a shorter time`,
    );
  return { kind: 'span', since: first, until: last, stepMs };
};

/** Both ends may lie within an interval. */
const leastStep = (since: number, until: number): number =>
  Math.ceil((until - since) / 1_000 / (MAX_POINTS - 1));

const usualStep = (since: number, until: number): number =>
  Math.max(1, Math.ceil(leastStep(since, until) / MINUTE_S)) * MINUTE_S;

const refused = (name: string, why: string): InvalidRequest => ({
  kind: 'invalid',
  problems: [wrongValue(['query', name], why)],
});
