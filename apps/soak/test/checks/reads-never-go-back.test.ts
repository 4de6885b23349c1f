import { assigned, cancelled, cancelRequested, EXECUTOR } from '@runledger/testing/run-events';
import { webhookDelivered, webhookStarted } from '@runledger/testing/webhook-events';
import { describe, expect, it } from 'vitest';
import { readsNeverGoBack } from '../../src/checks/reads-never-go-back.ts';
import type { Exchange } from '../../src/clients/client-records.ts';
import {
  arrived,
  aSoak,
  EVENTS,
  exchange,
  queuedRun,
  RUN,
  second,
  shownAfter,
  streamedFacts,
  wasQueued,
  wasShown,
} from '../fixtures/a-soak.ts';

const nothing = { streams: [], received: [] };
const check = (...exchanges: readonly Exchange[]) =>
  readsNeverGoBack(aSoak({ records: { ...nothing, exchanges } })).map(({ message }) => message);

describe('reads', () => {
  it('show at least what was shown before', () => {
    expect(check(wasQueued(1.1), wasShown(1.5, 1), wasShown(2, 1), wasShown(3, 2), wasShown(5, 4))).toEqual(
      [],
    );
  });

  it('never show less than before', () => {
    const [message, ...others] = check(wasShown(4.5, 3), wasShown(5, 2));
    expect(message).toContain('showed less of its lifecycle (up to 2) than was known before the request');
    expect(others).toEqual([]);
  });

  it('may show less if they were sent before the other answer arrived', () => {
    const slow = { ...wasShown(4.5, 2), seenAt: wasShown(6, 2).seenAt };
    expect(check(wasShown(4.5, 3), slow)).toEqual([]);
  });

  it('never answer 404', () => {
    const missing = exchange(5, { kind: 'refused', status: 404, why: 'Run not found' });
    expect(check(wasQueued(1.1), missing)).toEqual(['http://127.0.0.1:1/api answered get with 404.']);
  });

  it('show only states that the run had', () => {
    const [message] = check(wasShown(5, 4, { updated_at: '2026-01-01T00:00:03.999Z' }));
    expect(message).toContain('showed a state that the run never had');
  });

  it('show what a stream delivered', () => {
    const streams = [{ run: RUN.run_id, facts: streamedFacts(1, 2, 3), connections: [], complete: false }];
    const [violation] = readsNeverGoBack(
      aSoak({ records: { ...nothing, streams, exchanges: [wasShown(5, 2)] } }),
    );
    expect(violation?.message).toContain('a stream with RunStarted had shown 3');
  });

  it('show what a notification delivered', () => {
    const received = [arrived(4.6, 4)];
    const [violation] = readsNeverGoBack(
      aSoak({ records: { ...nothing, received, exchanges: [wasShown(5, 3)] } }),
    );
    expect(violation?.message).toContain('a notification with status success had shown 4');
  });

  it('show what an answered cancellation did', () => {
    const events = [queuedRun(), assigned(RUN), cancelRequested(RUN, 1, EXECUTOR)];
    const answered = exchange(
      3.5,
      { kind: 'cancelled', outcome: 'cancellation_requested' },
      { kind: 'cancel' },
    );
    const [violation] = readsNeverGoBack(
      aSoak({
        events: [...events, cancelled(RUN)],
        records: { ...nothing, exchanges: [answered, wasShown(4.5, 2)] },
      }),
    );
    expect(violation?.message).toContain('to cancel had shown 3');
  });

  it('never show an earlier webhook status', () => {
    const events = [...EVENTS.slice(0, 4), webhookStarted(RUN), webhookDelivered(RUN)];
    const shown = (at: number, webhook_status: 'not-started' | 'running' | 'success'): Exchange =>
      exchange(at, { kind: 'shown', shown: { ...shownAfter(4), webhook_status } });
    const seen = (...exchanges: readonly Exchange[]) =>
      readsNeverGoBack(aSoak({ events, records: { ...nothing, exchanges } }));
    expect(seen(shown(5, 'not-started'), shown(6, 'running'), shown(7, 'success'))).toEqual([]);
    expect(seen(shown(5, 'running'), shown(6, 'not-started'))).toHaveLength(1);
    expect(seen(shown(7, 'success'), shown(8, 'running'))).toMatchObject([
      { message: expect.stringContaining('less of its webhook_status') as unknown },
    ]);
  });

  it('may show an earlier webhook status than another gateway while the log is unavailable', () => {
    const events = [...EVENTS.slice(0, 4), webhookStarted(RUN), webhookDelivered(RUN)];
    const shown = (at: number, webhook_status: 'running' | 'success', gateway: string): Exchange =>
      exchange(at, { kind: 'shown', shown: { ...shownAfter(4), webhook_status } }, { gateway });
    const seen = (exchanges: readonly Exchange[], from: number) =>
      readsNeverGoBack(
        aSoak({
          events,
          records: { ...nothing, exchanges },
          faults: {
            missed: [],
            outages: [{ part: 'broker', role: 'broker', kind: 'kill', from, to: from + 1_000 }],
            stops: [],
            unexpectedEnds: [],
          },
        }),
      );
    const byAnother = [shown(7, 'success', 'one'), shown(9, 'running', 'two')];
    expect(seen(byAnother, second(8))).toEqual([]);
    expect(seen(byAnother, second(100))).toHaveLength(1);
    expect(seen([shown(7, 'success', 'one'), shown(9, 'running', 'one')], second(8))).toHaveLength(1);
  });
});
