import type { StoredMessage } from '@runledger/contracts/history';
import { readHistory } from '@runledger/contracts/history';
import type { RunEvent } from '@runledger/contracts/run-event';
import { lifecycleOf, subjectOf, type RunKey } from '@runledger/contracts/subjects';
import { describe, expect, it } from 'vitest';
import { projectRuns, runsIn } from '../../src/views/project-runs.ts';
import type { RunView } from '../../src/views/run-views.ts';
import { timeOf } from '../fixtures/folded-runs.ts';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';

const stored = (
  key: RunKey,
  event: RunEvent,
  sequence: number,
  expected: number,
  changes: Partial<StoredMessage> = {},
): StoredMessage => ({
  subject: subjectOf(event),
  sequence,
  time: timeOf(sequence),
  fence: lifecycleOf(key),
  expectedSequence: expected,
  body: event,
  ...changes,
});
const project = (present: readonly RunView[], messages: readonly StoredMessage[]) => {
  const projected = projectRuns(present, messages);
  if (projected.kind !== 'projected') throw new Error(projected.kind);
  return projected;
};

const [one, other] = [aRun(), aRun()];
const messages = [
  stored(one, queued(one), 1, 0),
  stored(other, queued(other), 2, 0),
  stored(one, assigned(one), 3, 1),
  stored(other, assigned(other), 4, 2),
  stored(one, started(one), 5, 3),
  stored(one, succeeded(one), 6, 5),
];

describe('a projection of runs', () => {
  it('is the fold of each run, however the log is cut into batches', () => {
    const whole = readHistory(
      one,
      messages.filter(({ subject }) => subject.includes(one.run_id)),
    );
    if (whole.kind !== 'whole') throw new Error(whole.kind);
    for (let cut = 0; cut <= messages.length; cut += 1) {
      const first = project([], messages.slice(0, cut));
      const second = project(first.views, messages.slice(cut));
      const views = new Map([...first.views, ...second.views].map((view) => [view.run.run_id, view]));
      expect(views.get(one.run_id)).toEqual(whole.history);
      expect(views.get(other.run_id)).toMatchObject({ head: 4, run: { status: 'started' } });
    }
  });

  it('changes nothing when a batch is given again', () => {
    const { views } = project([], messages);
    expect(project(views, messages)).toMatchObject({ views: [], refused: [], gaps: [] });
  });

  it('knows the runs of a batch, each once', () => {
    expect(runsIn(messages)).toEqual([one, other]);
  });

  it('sets a forged fact aside and counts it as the head, as the broker does', () => {
    const forged = stored(one, assigned(one), 3, 1, { fence: 'runs.>' });
    const { views, refused } = project([], [...messages.slice(0, 1), forged]);
    expect(views).toMatchObject([{ head: 3, run: { status: 'queued' } }]);
    expect(refused).toEqual([{ message: forged, why: expect.stringContaining('fenced on') }]);
  });

  it('sets a subject of another form aside', () => {
    const odd = stored(one, queued(one), 1, 0, { subject: 'runs.a.b.life.queued' });
    expect(project([], [odd]).refused).toHaveLength(1);
  });

  it('names a run with a gap, and leaves its view as it was', () => {
    const { views, gaps } = project([], [...messages.slice(0, 2), ...messages.slice(4)]);
    expect(views.map(({ run }) => run.run_id)).toEqual([other.run_id]);
    expect(gaps).toEqual([{ key: one, message: messages.at(-1) }]);
  });

  it('stops at a version that it does not know', () => {
    const newer = stored(one, { ...queued(one), version: 2 }, 1, 0);
    expect(projectRuns([], [newer])).toMatchObject({ kind: 'newer_version', version: 2, sequence: 1 });
  });

  it('derives a view anew whose head went back to 0', () => {
    const { views } = project([], messages);
    const again = views.map((view) => ({ ...view, head: 0 }));
    expect(project(again, messages.slice(0, 1)).views).toMatchObject([
      { head: 1, run: { status: 'queued' } },
    ]);
    expect(project(again, messages).views).toEqual(views);
  });
});
