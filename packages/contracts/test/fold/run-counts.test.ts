import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StoredMessage } from '../../src/fold/chain.ts';
import { isDeleted, isEnded, isExecuting, type RunState } from '../../src/fold/run.ts';
import { countRuns, NO_RUNS, type RunCounts } from '../../src/fold/log-capacity.ts';
import { runOfSubject } from '../../src/events/subjects.ts';
import { anEvent, stored } from '../fixtures/run-events.ts';
import { logOf, someSteps } from '../fixtures/possible-histories.ts';

const counted = (messages: readonly StoredMessage[]): RunCounts => messages.reduce(countRuns, NO_RUNS);
const numbers = ({ live, executing }: RunCounts) => ({ live, executing });
const situation = (runs: readonly RunState[]) => ({
  live: runs.filter((run) => !isEnded(run) && !isDeleted(run)).length,
  executing: runs.filter(isExecuting).length,
});

describe('the counts of runs', () => {
  it('are those of the folded runs, for any possible log', () => {
    fc.assert(
      fc.property(someSteps(5, 60), (steps) => {
        const { messages, runs } = logOf(steps);
        expect(numbers(counted(messages))).toEqual(situation([...runs.values()]));
      }),
    );
  });

  it('are those of the runs with a fact in the log, when the beginning of the log has expired', () => {
    fc.assert(
      fc.property(someSteps(5, 60), fc.nat(60), (steps, expired) => {
        const { messages, runs } = logOf(steps);
        const left = messages.slice(expired);
        const seen = new Set<string>(left.map(({ subject }) => runOfSubject(subject)?.run_id ?? ''));
        const known = [...runs].filter(([id]) => seen.has(id)).map(([, run]) => run);
        expect(numbers(counted(left))).toEqual(situation(known));
      }),
    );
  });

  it('do not depend on where a reader paused', () => {
    fc.assert(
      fc.property(someSteps(5, 60), fc.nat(60), (steps, pause) => {
        const { messages } = logOf(steps);
        const before = counted(messages.slice(0, pause));
        expect(messages.slice(pause).reduce(countRuns, before)).toEqual(counted(messages));
      }),
    );
  });

  it('ignore what readers refuse, and facts of webhooks', () => {
    const queued = stored(anEvent('RunQueued'), 1, 0);
    const before = counted([queued]);
    const ended = stored(anEvent('RunTimedOut', {}, { attempt: 0, executor: null }), 2, 1);
    expect(before).toMatchObject({ live: 1 });
    for (const forged of [
      { ...ended, fence: null },
      { ...ended, expectedSequence: null },
      { ...ended, subject: `${ended.subject}.more.tokens` },
      { ...ended, subject: ended.subject.replace('.life.', '.webhook.') },
    ])
      expect(countRuns(before, forged)).toEqual(before);
    expect(countRuns(before, ended)).toMatchObject({ live: 0, executing: 0 });
  });

  it('end a run of which nothing was left in the log', () => {
    const before: RunCounts = { from: 1, live: 3, executing: 2 };
    const queued = stored(anEvent('RunTimedOut', {}, { attempt: 0, executor: null }), 900, 0);
    expect(countRuns(before, queued)).toEqual({ from: 1, live: 2, executing: 2 });
    expect(countRuns(before, stored(anEvent('RunGivenUp'), 900, 0))).toEqual({
      from: 1,
      live: 2,
      executing: 1,
    });
  });
});
