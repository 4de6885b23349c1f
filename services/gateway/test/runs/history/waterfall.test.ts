import type { RunEvent } from '@runledger/contracts/events/run-event';
import { lifecycleFilter, runEventSubject } from '@runledger/contracts/events/subjects';
import {
  aRun,
  assigned,
  OTHER_EXECUTOR,
  queued,
  requeued,
  runEvent,
  started,
  succeeded,
  uploading,
  EXECUTOR,
} from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { runSteps, waterfall, type RunStep } from '../../../src/runs/waterfall.decide.ts';
import { durationWords, waterfallPicture } from '../../../src/runs/picture.ts';
import { aDeliveryAttempt } from '../../fixtures/runs/notified-runs.ts';

const run = aRun();
const START = Date.UTC(2026, 0, 1);
const timeAt = (seconds: number): string => new Date(START + seconds * 1_000).toISOString();
const NOW = START + 100_000;

/** The events, each at so many seconds. */
const stepsOf = (...facts: readonly (readonly [seconds: number, event: RunEvent])[]): RunStep[] =>
  runSteps({
    webhook: [],
    life: facts.map(([seconds, event], n) => ({
      subject: runEventSubject(event),
      sequence: n + 1,
      time: timeAt(seconds),
      fence: lifecycleFilter(run),
      expectedSequence: n,
      body: event,
    })),
  });
/** Rows with their bars in seconds. */
const rowsOf = (
  steps: readonly RunStep[],
  deliveries: Parameters<typeof waterfall>[0]['deliveries'] = [],
): unknown =>
  waterfall({ steps, deliveries }, NOW)?.rows.map(({ name, bars }) => [
    name,
    ...bars.map(({ phase, from, to }) => `${phase} ${(from - START) / 1_000}-${(to - START) / 1_000}`),
  ]);
const second = { attempt: 2, executor: OTHER_EXECUTOR } as const;
const loaded = runEvent('RunStarted', run, { attempt: 1, executor: EXECUTOR, data: { cold_start_s: 3 } });
const whole = stepsOf(
  [0, queued(run)],
  [2, assigned(run)],
  [6, loaded],
  [10, uploading(run)],
  [12, succeeded(run)],
);

describe('the waterfall of a run', () => {
  it('has the phases of an attempt, with the time that it loaded', () =>
    expect(rowsOf(whole)).toEqual([
      ['attempt 1', 'queued 0-2', 'starting 2-3', 'cold start 3-6', 'running 6-10', 'uploading 10-12'],
    ]));

  it('has a row for each attempt, with the wait before it', () =>
    expect(
      rowsOf(
        stepsOf(
          [0, queued(run)],
          [1, assigned(run)],
          [2, started(run)],
          [5, requeued(run)],
          [7, assigned(run, second)],
          [8, started(run, 2, OTHER_EXECUTOR)],
        ),
      ),
    ).toEqual([
      ['attempt 1', 'queued 0-1', 'starting 1-2', 'running 2-5'],
      ['attempt 2', 'queued 5-7', 'starting 7-8', 'running 8-100'],
    ]));

  it('tells the wait for a time from the wait for a slot', () => {
    expect(rowsOf(stepsOf([0, queued(run, { delay_s: 20 })], [25, assigned(run)]))).toEqual([
      ['attempt 1', 'waits for its time 0-20', 'queued 20-25', 'starting 25-100'],
    ]);
    expect(rowsOf(stepsOf([0, queued(run, { start_at: timeAt(500) })]))).toEqual([
      ['attempt 1', 'waits for its time 0-100'],
    ]);
  });

  it('has the delivery attempts, by rounds', () => {
    const at = (seconds: number) => ({ started_at: timeAt(seconds) });
    const sent = [
      aDeliveryAttempt(1, at(12)),
      aDeliveryAttempt(2, at(17)),
      aDeliveryAttempt(1, { round: 2, ...at(60) }),
      aDeliveryAttempt(1, { notification: 'intermediate', ...at(7) }),
    ];
    expect(rowsOf(whole, sent)).toEqual([
      expect.anything(),
      ['notification', 'notifying 12-12.132', 'notifying 17-17.132'],
      ['round 2', 'notifying 60-60.132'],
      ['progress', 'notifying 7-7.132'],
    ]);
  });

  it('is not known when the beginning of the run is not', () =>
    expect(waterfall({ steps: whole.slice(1), deliveries: [] }, NOW)).toBeUndefined());
});

describe('its picture', () => {
  const drawn = waterfall({ steps: whole, deliveries: [] }, NOW);
  if (!drawn) throw new Error('it has a beginning');
  const picture = waterfallPicture(drawn, { title: 'Run <1>', subtitle: 'success & more' });

  it('names every bar with its length, and is the same each time', () => {
    for (const words of ['queued, 2 s', 'starting, 1 s', 'cold start, 3 s', 'running, 4 s', 'uploading, 2 s'])
      expect(picture).toContain(`<title>${words}</title>`);
    expect(picture).toContain('Run &lt;1&gt;');
    expect(picture).toContain('success &amp; more');
    expect(waterfallPicture(drawn, { title: 'Run <1>', subtitle: 'success & more' })).toBe(picture);
  });

  it('shows bars that are too short to be seen', () => {
    const short = stepsOf([0, queued(run)], [0.001, assigned(run)], [90, started(run)]);
    const view = waterfall({ steps: short, deliveries: [] }, NOW);
    if (!view) throw new Error('it has a beginning');
    expect(waterfallPicture(view, { title: 'a', subtitle: 'b' })).toContain('width="2"');
  });
});

it.each([
  [0, '0'],
  [0.0124, '12 ms'],
  [3.25, '3.3 s'],
  [59.96, '1 min'],
  [250, '4 min 10 s'],
  [3_600, '1 h'],
  [5_400, '1 h 30 min'],
  [172_800, '48 h'],
])('%s seconds are "%s"', (seconds, words) => {
  expect(durationWords(seconds)).toBe(words);
});
