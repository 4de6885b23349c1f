import type { InvalidRequest } from '../../../http/refusal.ts';
import { invalid } from '../../../http/refusal.ts';

/** Times in milliseconds since 1970, the step in seconds; undefined for what the request leaves out. */
export interface AskedSpan {
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly step: number | undefined;
}

/** Both ends are whole steps since 1970. */
export interface ActivitySpan {
  readonly kind: 'span';
  readonly from: number;
  readonly to: number;
  readonly stepMs: number;
}

export const MAX_POINTS = 1_000;
const HOUR_MS = 3_600_000;
const MINUTE_S = 60;

/** The intervals that a request asks for: of the last hour, and minutes, when it does not say. There is nothing after `now` to show. */
export const activitySpan = (asked: AskedSpan, now: number): ActivitySpan | InvalidRequest => {
  const to = Math.min(asked.to ?? now, now);
  const from = asked.from ?? to - HOUR_MS;
  if (from >= to) return refused('from', '`from` should be before `to`, and before now');
  const step = asked.step ?? usualStep(from, to);
  const span = wholeSteps(from, to, step);
  const points = (span.to - span.from) / span.stepMs;
  if (points > MAX_POINTS)
    return refused(
      'step',
      `there are ${points} intervals of ${step} seconds between \`from\` and \`to\`, and ${MAX_POINTS} is the most. Use a \`step\` of at least ${leastStep(from, to)}, or a shorter time`,
    );
  return span;
};

const wholeSteps = (from: number, to: number, step: number): ActivitySpan => {
  const stepMs = step * 1_000;
  return {
    kind: 'span',
    from: Math.floor(from / stepMs) * stepMs,
    to: Math.ceil(to / stepMs) * stepMs,
    stepMs,
  };
};

/** Both ends may lie within an interval. */
const leastStep = (from: number, to: number): number => Math.ceil((to - from) / 1_000 / (MAX_POINTS - 1));

const usualStep = (from: number, to: number): number =>
  Math.max(1, Math.ceil(leastStep(from, to) / MINUTE_S)) * MINUTE_S;

const refused = (name: string, why: string): InvalidRequest => ({
  kind: 'invalid',
  problems: [invalid(['query', name], 'value_error', `Value error, ${why}`)],
});
