import {
  assigned,
  cancelled,
  cancelRequested,
  failed,
  EXECUTOR,
  started,
} from '@runledger/testing/events/run-events';
import { describe, expect, it } from 'vitest';
import { cancels } from '../../src/checks/cancels.ts';
import { foldRuns } from '../../src/evidence/logged-run.ts';
import type { Outage } from '../../src/cluster/outages.ts';
import { aSoak, BEGUN_AT, EVENTS, exchange, queuedRun, RUN, second, stored } from '../fixtures/a-soak.ts';

const says = (...given: Parameters<typeof aSoak>): string[] =>
  cancels(aSoak(...given)).map((one) => one.says);
const asked = exchange(2.5, { kind: 'cancelled', outcome: 'cancelled' }, { kind: 'cancel' });
const executing = [queuedRun(), assigned(RUN), started(RUN), cancelRequested(RUN, 1, EXECUTOR)];

describe('a cancelled run', () => {
  it('ends as cancelled', () => {
    expect(says({ events: [...executing, cancelled(RUN)] })).toEqual([]);
    expect(says({ records: { exchanges: [asked] } })).toEqual([
      'http://127.0.0.1:1/api answered its cancellation with cancelled, and it is success.',
    ]);
  });

  it('does not end otherwise, whatever the log would take', () => {
    const honest = foldRuns(stored([...executing, cancelled(RUN)])).get(RUN.run_id);
    const ended = foldRuns(stored(EVENTS)).get(RUN.run_id);
    if (!honest || !ended) throw new Error('there is no run');
    const forged = new Map([[RUN.run_id, { ...honest, situations: ended.situations }]]);
    expect(says({ runs: forged })).toEqual(['Its cancellation was requested, and it ended as success.']);
  });

  it('is not begun when it was queued', () => {
    const honest = foldRuns(stored([queuedRun(), cancelRequested(RUN)])).get(RUN.run_id);
    const begun = foldRuns(stored(EVENTS)).get(RUN.run_id);
    if (!honest || !begun) throw new Error('there is no run');
    const forged = new Map([
      [RUN.run_id, { ...honest, facts: [...honest.facts, ...begun.facts.slice(1, 2)] }],
    ]);
    expect(says({ runs: forged })).toEqual([
      'It was cancelled while it was queued, and RunAssigned followed.',
    ]);
  });

  const tookAMinute = (troubles: readonly Outage[] = []): string[] => {
    const messages = stored([...executing, cancelled(RUN)]).map((message) =>
      message.sequence === 5 ? { ...message, time: new Date(second(64)).toISOString() } : message,
    );
    return says({ runs: foldRuns(messages), faults: { outages: troubles, stops: [], unexpectedEnds: [] } });
  };
  const trouble = (role: Outage['role']): Outage[] => [
    { part: `${role}-1`, role, kind: 'pause', from: BEGUN_AT, to: second(40) },
  ];

  it('ends within its bound', () => {
    expect(tookAMinute()).toEqual([
      'Its cancellation took 60.0 s, with trouble of 0.0 s: 38.0 s were allowed.',
    ]);
  });

  it('may take longer while those that it takes are away', () => {
    expect(tookAMinute(trouble('scheduler'))).toEqual([]);
    expect(tookAMinute(trouble('notifier'))).toHaveLength(1);
  });

  it('may have failed when nobody asked for its end', () => {
    expect(says({ events: [queuedRun(), assigned(RUN), started(RUN), failed(RUN)] })).toEqual([]);
  });
});
