import type { InvalidRequest } from '../../../http/refusal.ts';
import { invalid } from '../../../http/refusal.ts';

/** Times in milliseconds since 1970, the step in seconds; undefined for what the request leaves out. */
export interface AskedSpan {
  readonly since: number | undefined;
  readonly until: number | undefined;
  readonly step: number | undefined;
}

/** Both ends are whole steps since 1970. */
export interface ActivitySpan {
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
  const span = wholeSteps(since, until, step);
  const points = (span.until - span.since) / span.stepMs;
  if (points > MAX_POINTS)
    return refused(
      'step',
      `there are ${points} intervals of ${step} seconds between \`since\` and \`until\`, and ${MAX_POINTS} is the most. Use a \`step\` of at least ${leastStep(since, until)}, or a shorter time`,
    );
  return span;
};

const wholeSteps = (since: number, until: number, step: number): ActivitySpan => {
  const stepMs = step * 1_000;
  return {
    kind: 'span',
    since: Math.floor(since / stepMs) * stepMs,
    until: Math.ceil(until / stepMs) * stepMs,
    stepMs,
  };
};

/** Both ends may lie within an interval. */
const leastStep = (since: number, until: number): number =>
  Math.ceil((until - since) / 1_000 / (MAX_POINTS - 1));

const usualStep = (since: number, until: number): number =>
  Math.max(1, Math.ceil(leastStep(since, until) / MINUTE_S)) * MINUTE_S;

const refused = (name: string, why: string): InvalidRequest => ({
  kind: 'invalid',
  problems: [invalid(['query', name], 'value_error', `Value error, ${why}`)],
});
