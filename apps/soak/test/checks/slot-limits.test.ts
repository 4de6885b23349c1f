import { newUuid } from '@runledger/contracts/ids';
import { describe, expect, it } from 'vitest';
import { slotLimits } from '../../src/checks/slot-limits.ts';
import type { SharingEvidence } from '../../src/evidence/evidence.ts';
import { aSoak } from '../fixtures/a-soak.ts';
import { aSharedLog, type SharedLog } from '../fixtures/shared-slots.ts';

const ORG = newUuid();

const violations = (log: SharedLog, sharing: Partial<SharingEvidence> = {}) =>
  slotLimits(
    aSoak({
      runs: log.runs(),
      sharing: { greedy_ids: [ORG], modest_id: newUuid(), orgLimits: {}, pools: [], ...sharing },
    }),
  );

describe('a limit', () => {
  it.each([
    ['concurrency_limit', { concurrency_limit: 1 }, {}, 'Its deployment may hold 1 slots'],
    ['concurrency_key', { concurrency_key: 'a' }, {}, 'Its concurrency key a may hold 1 slots'],
    ['RUNLEDGER_ORG_LIMITS', {}, { [ORG]: 1 }, 'Its organisation may hold 1 slots'],
  ])('of slots is never exceeded, as the log has it: %s', (_name, changes, orgLimits, words) => {
    const log = aSharedLog();
    const [first, second, third] = [
      log.queue(ORG, changes),
      log.queue(ORG, changes),
      log.queue(ORG, changes),
    ];
    log.start(first, 'east');
    log.lose(first);
    log.start(second, 'west');
    log.end(second);
    log.start(third, 'west');
    expect(violations(log, { orgLimits })).toEqual([]);
    log.start(log.queue(ORG, changes), 'north');
    const message = expect.stringMatching(`^${words}, .* while ${third.run_id} held west`);
    expect(violations(log, { orgLimits })).toMatchObject([{ message }]);
  });

  it('says nothing about other keys, deployments and organisations', () => {
    const log = aSharedLog();
    for (const [org, changes] of [
      [ORG, { concurrency_key: 'a' }],
      [ORG, { concurrency_key: 'b' }],
      [ORG, { deployment_id: newUuid(), concurrency_key: 'a', concurrency_limit: 1 }],
      [newUuid(), { concurrency_key: 'a', concurrency_limit: 1 }],
    ] as const)
      log.start(log.queue(org, changes), 'east');
    expect(violations(log)).toEqual([]);
  });
});

describe('when all runs have ended', () => {
  const idle = {
    gpu: 'L4' as const,
    slots: 3,
    busy_slots: 0,
    waiting: 0,
    delayed: 0,
    running: 0,
    oldest_queued_at: null,
  };
  const pool = { ...idle, starts_per_minute: 0, organisations: [], more_organisations: 0 };

  it('no slot is taken', () => {
    expect(violations(aSharedLog(), { pools: [pool] })).toEqual([]);
    expect(violations(aSharedLog(), { pools: [{ ...pool, busy_slots: 1 }] })).toHaveLength(1);
    const deployments = { deployments: [], more_deployments: 0, starts_per_minute: 0 };
    const counts = { waiting: 0, delayed: 0, running: 1, oldest_queued_at: null };
    const counted = { org_id: ORG, ...counts, ...deployments };
    expect(violations(aSharedLog(), { pools: [{ ...pool, organisations: [counted] }] })).toHaveLength(1);
  });

  it('a gateway says so', () => {
    expect(violations(aSharedLog(), { pools: undefined })).toHaveLength(1);
  });
});
