import {
  assigned,
  cancelled,
  cancelRequested,
  failed,
  EXECUTOR,
  started,
} from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { cancels } from '../../src/checks/cancels.ts';
import { foldRuns } from '../../src/evidence/logged-run.ts';
import type { Outage } from '../../src/cluster/outages.ts';
import { aSoak, BEGUN_AT, EVENTS, exchange, queuedRun, RUN, second, stored } from '../fixtures/a-soak.ts';

const messagesOf = (...given: Parameters<typeof aSoak>): string[] =>
  cancels(aSoak(...given)).map((one) => one.message);
const requested = exchange(2.5, { kind: 'cancelled', outcome: 'cancelled' }, { kind: 'cancel' });
const executing = [queuedRun(), assigned(RUN), started(RUN), cancelRequested(RUN, 1, EXECUTOR)];

describe('a cancelled run', () => {
  it('ends as cancelled', () => {
    expect(messagesOf({ events: [...executing, cancelled(RUN)] })).toEqual([]);
    expect(messagesOf({ records: { exchanges: [requested] } })).toEqual([
      'http://127.0.0.1:1/api answered the cancel request with cancelled, but the run is success.',
    ]);
  });

  it('does not end with another status, even if the log accepts it', () => {
    const honest = foldRuns(stored([...executing, cancelled(RUN)])).get(RUN.run_id);
    const ended = foldRuns(stored(EVENTS)).get(RUN.run_id);
    if (!honest || !ended) throw new Error('there is no run');
    const changed = new Map([[RUN.run_id, { ...honest, situations: ended.situations }]]);
    expect(messagesOf({ runs: changed })).toEqual([
      'Its cancellation was requested, but it ended as success.',
    ]);
  });

  it('does not start after a cancel request in the queue', () => {
    const honest = foldRuns(stored([queuedRun(), cancelRequested(RUN)])).get(RUN.run_id);
    const begun = foldRuns(stored(EVENTS)).get(RUN.run_id);
    if (!honest || !begun) throw new Error('there is no run');
    const changed = new Map([
      [RUN.run_id, { ...honest, facts: [...honest.facts, ...begun.facts.slice(1, 2)] }],
    ]);
    expect(messagesOf({ runs: changed })).toEqual([
      'It was cancelled in the queue, but RunAssigned followed.',
    ]);
  });

  const tookAMinute = (outages: readonly Outage[] = []): string[] => {
    const messages = stored([...executing, cancelled(RUN)]).map((message) =>
      message.sequence === 5 ? { ...message, time: new Date(second(64)).toISOString() } : message,
    );
    return messagesOf({
      runs: foldRuns(messages),
      faults: { missed: [], outages, stops: [], unexpectedEnds: [] },
    });
  };
  const outageOf = (role: Outage['role']): Outage[] => [
    { part: `${role}-1`, role, kind: 'pause', from: BEGUN_AT, to: second(40) },
  ];

  it('ends within the time limit', () => {
    expect(tookAMinute()).toEqual([
      'Its cancellation took 60.0 s with outages of 0.0 s. The limit was 38.0 s.',
    ]);
  });

  it('may take longer while a part that it needs is down', () => {
    expect(tookAMinute(outageOf('scheduler'))).toEqual([]);
    expect(tookAMinute(outageOf('notifier'))).toHaveLength(1);
  });

  it('may fail without a cancel request', () => {
    expect(messagesOf({ events: [queuedRun(), assigned(RUN), started(RUN), failed(RUN)] })).toEqual([]);
  });
});
