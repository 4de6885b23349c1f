import { describe, expect, it } from 'vitest';
import { serviceHealth } from '../../src/checks/service-health.ts';
import type { Stopped, Outage } from '../../src/cluster/outages.ts';
import { aSoak, BEGUN_AT, RUN } from '../fixtures/a-soak.ts';

const messagesOf = (...given: Parameters<typeof aSoak>): string[] =>
  serviceHealth(aSoak(...given)).map((one) => one.message);
const noFaults = { missed: [], outages: [], stops: [], unexpectedEnds: [] };

describe('during faults of other parts', () => {
  it('there are no dead letters', () => {
    const deadLetters = [
      { subject: `runs.org.${RUN.run_id}.life.queued`, consumer: 'scheduler', reason: 'why' },
    ];
    expect(serviceHealth(aSoak({ deadLetters }))).toMatchObject([
      {
        run: RUN.run_id,
        message: `scheduler could not handle a message of runs.org.${RUN.run_id}.life.queued: why`,
      },
    ]);
  });

  it('no process ends by itself', () => {
    const unexpectedEnds = [{ part: 'gateway-1', at: BEGUN_AT, how: 'ended with exit status 1' }];
    expect(messagesOf({ faults: { ...noFaults, unexpectedEnds } })).toEqual([
      'gateway-1 ended with exit status 1 by itself at 2026-01-01T00:00:00.000Z.',
    ]);
  });

  it('every part recovers', () => {
    const outage = { part: 'broker-2', role: 'broker', kind: 'kill', from: BEGUN_AT, to: undefined } as const;
    const outages = [outage, { ...outage, failure: 'it has no leader' }];
    expect(messagesOf({ faults: { ...noFaults, outages } })).toEqual([
      'broker-2 did not recover from kill at 2026-01-01T00:00:00.000Z: it has no leader',
    ]);
  });

  it('services stop cleanly', () => {
    const stop = (role: Stopped['role'], endKind: Stopped['endKind']): Stopped => ({
      part: `${role}-1`,
      role,
      at: BEGUN_AT,
      tookMs: 10_000.4,
      how: 'ended with exit status 1',
      endKind,
    });
    const stops = [stop('notifier', 'gave up'), stop('notifier', 'clean'), stop('database', 'killed')];
    expect(messagesOf({ faults: { ...noFaults, stops } })).toEqual([
      'notifier-1 was stopped at 2026-01-01T00:00:00.000Z and ended with exit status 1 after 10000 ms.',
    ]);
    const brokerOutage: Outage = {
      part: 'broker',
      role: 'broker',
      kind: 'pause',
      from: BEGUN_AT - 1,
      to: BEGUN_AT + 1,
    };
    const whileAway = {
      ...noFaults,
      outages: [brokerOutage],
      stops: [...stops, stop('scheduler', 'killed')],
    };
    expect(messagesOf({ faults: whileAway })).toEqual([expect.stringMatching(/^scheduler-1 was stopped/)]);
  });
});
