import type { Run } from '@runledger/contracts/fold/run';
import { relativeCost } from '@runledger/testing/measuring';
import { runId } from '@runledger/contracts/ids';
import { expect, it } from 'vitest';
import type { Assign, Decision } from '../../src/core/decision.ts';
import { TestBed } from '../core/test-bed.ts';
import { succeeded } from '../fixtures/succeeded-run.ts';

/** What it cost when it was measured last: see `relativeCost`. */
const COST = 8;
const SLOTS = 64;
const WAITING = 10_000;
const NOW = '2026-01-01T00:00:00.000Z';
const EVENT = '01920000-0000-7000-8000-000000000000';

/** 10,000 waiting runs behind full slots. */
const fullQueue = (): TestBed => {
  const bed = new TestBed();
  bed.register('box', { gpus: Array.from({ length: SLOTS }, () => 'A10G' as const) });
  bed.lead();
  bed.heartbeat('box');
  for (let n = 0; n < SLOTS + WAITING; n += 1) bed.queue(`run ${n}`, { deployment: n % 100 });
  return bed;
};

it('a decision with a full queue, with the facts of a run that comes and one that goes, costs less than twice what they did', () => {
  const bed = fullQueue();
  const waiting = bed.run(`run ${SLOTS + WAITING - 1}`);
  if (waiting?.status !== 'queued') throw new Error('the last run does not wait');
  const holders: Assign[] = bed.open.filter((decision) => decision.type === 'assign');
  let head = bed.sequence;
  const take = (run: Run): readonly Decision[] => {
    head += 1;
    const { org_id, run_id } = run;
    const history = { head, state: run };
    return bed.scheduling.take({
      type: 'run_fact',
      key: { org_id, run_id },
      history,
      event_id: EVENT,
      writer: 'gateway',
    });
  };
  const newRun = (): Run => ({
    ...waiting,
    run_id: runId(`01920000-0000-7000-9000-${head.toString(16).padStart(12, '0')}`),
    number: head,
  });
  /** A run is queued, and the one that has had its slot for the longest time ends. */
  const turn = (): void => {
    take(newRun());
    const holder = holders.shift();
    if (holder === undefined) throw new Error('no run holds a slot');
    holders.push(...take(succeeded(holder.run, NOW)).filter((decision) => decision.type === 'assign'));
  };
  expect(relativeCost(turn)).toBeLessThan(2 * COST);
  expect(holders).toHaveLength(SLOTS);
});
