import { describe, expect, it } from 'vitest';
import { bystanders } from '../../src/checks/bystanders.ts';
import type { Stopped, Outage } from '../../src/cluster/outages.ts';
import { aSoak, BEGUN_AT, exchange, RUN } from '../fixtures/a-soak.ts';

const says = (...given: Parameters<typeof aSoak>): string[] =>
  bystanders(aSoak(...given)).map((one) => one.says);
const quiet = { outages: [], stops: [], unexpectedEnds: [] };

describe('whatever is done to others', () => {
  it('nothing is parked', () => {
    const parked = [{ subject: `runs.org.${RUN.run_id}.life.queued`, consumer: 'scheduler', reason: 'why' }];
    expect(bystanders(aSoak({ deadLetters: parked }))).toMatchObject([
      { run: RUN.run_id, says: `scheduler parked a message of runs.org.${RUN.run_id}.life.queued: why` },
    ]);
  });

  it('no process ends by itself', () => {
    const surprises = [{ part: 'gateway-1', at: BEGUN_AT, how: 'ended with exit status 1' }];
    expect(says({ faults: { ...quiet, unexpectedEnds: surprises } })).toEqual([
      'gateway-1 ended with exit status 1 by itself at 2026-01-01T00:00:00.000Z.',
    ]);
  });

  it('services stop when they are told to', () => {
    const stop = (role: Stopped['role'], manner: Stopped['endKind']): Stopped => ({
      part: `${role}-1`,
      role,
      at: BEGUN_AT,
      tookMs: 10_000.4,
      how: 'ended with exit status 1',
      endKind: manner,
    });
    const stops = [stop('notifier', 'gave up'), stop('notifier', 'clean'), stop('database', 'killed')];
    expect(says({ faults: { ...quiet, stops } })).toEqual([
      'notifier-1 was stopped at 2026-01-01T00:00:00.000Z and ended with exit status 1 after 10000 ms.',
    ]);
    const away: Outage = {
      part: 'broker',
      role: 'broker',
      kind: 'pause',
      from: BEGUN_AT - 1,
      to: BEGUN_AT + 1,
    };
    const whileAway = { ...quiet, outages: [away], stops: [...stops, stop('scheduler', 'killed')] };
    expect(says({ faults: whileAway })).toEqual([expect.stringMatching(/^scheduler-1 was stopped/)]);
  });

  it('a sound request is not called wrong', () => {
    const refused = (status: number) => exchange(2, { kind: 'refused', status, why: 'words' });
    const exchanges = [refused(503), refused(404), refused(500)];
    expect(says({ records: { exchanges } })).toEqual(['http://127.0.0.1:1/api answered get with 500: words']);
  });
});
