import { newUuid } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { describe, expect, it } from 'vitest';
import { fairShare } from '../../src/checks/fair-share.ts';
import type { Outage } from '../../src/cluster/outages.ts';
import type { Evidence } from '../../src/evidence/evidence.ts';
import { aSoak, second } from '../fixtures/a-soak.ts';
import { aSharedLog, type SharedLog } from '../fixtures/shared-slots.ts';

const [GREEDY, OTHER, MODEST] = [newUuid(), newUuid(), newUuid()];

const violations = (log: SharedLog, more: Partial<Evidence> = {}) =>
  fairShare(
    aSoak({
      runs: log.runs(),
      sharing: { greedy_ids: [GREEDY, OTHER], modest_id: MODEST, orgLimits: {}, pools: [] },
      ...more,
    }),
  );
const away = (role: Outage['role'], from: number, to: number): Partial<Evidence> => ({
  faults: {
    outages: [{ part: `${role}-1`, role, kind: 'kill', from: second(from), to: second(to) }],
    missed: [],
    stops: [],
    unexpectedEnds: [],
  },
});

/** Three slots, held by others that have more runs, when the modest one queues its run (12). */
const busy = () => {
  const log = aSharedLog();
  const own = ['east', 'west', 'north'].map((executor, at) => {
    const run = log.queue(at === 2 ? OTHER : GREEDY);
    log.start(run, executor);
    return run;
  });
  const [next, others] = [log.queue(GREEDY), log.queue(OTHER)];
  const modest = log.queue(MODEST);
  return { log, own, next, others, modest };
};

describe('an organisation that holds no slot', () => {
  it('gets the next slot that is free, with a single run after a burst', () => {
    const { log, own, next, modest } = busy();
    if (own[0]) log.end(own[0]);
    log.start(modest, 'east');
    if (own[1]) log.end(own[1]);
    log.start(next, 'west');
    expect(violations(log)).toEqual([]);
  });

  it('is not passed by one that holds some', () => {
    const { log, own, next, modest } = busy();
    if (own[0]) log.end(own[0]);
    log.start(next, 'east');
    if (own[1]) log.end(own[1]);
    log.start(modest, 'west');
    const message = expect.stringMatching(/went to .* whose organisation held 1 of 3 slots\.$/);
    expect(violations(log)).toMatchObject([{ run: modest.run_id, message }]);
    // Decisions may be stored in another order while a scheduler or a broker is away.
    expect(violations(log, away('scheduler', 12, 13))).toEqual([]);
    expect(violations(log, away('gpu-executor', 12, 13))).toHaveLength(1);
  });

  it('may have got its slot before another one, although the log has the two in the other order', () => {
    const assignedLate = (lateS: number) => {
      const { log, own, next, others, modest } = busy();
      log.cancel(others);
      if (own[0]) log.end(own[0]);
      if (own[2]) log.end(own[2]);
      log.start(next, 'north');
      // Its request may have to be read first.
      log.start(modest, 'east', lateS);
      return violations(log);
    };
    expect(assignedLate(2)).toEqual([]);
    expect(assignedLate(1)).toHaveLength(1);
  });

  it('may be passed by one that holds none, and in a slot that was free before', () => {
    const { log, own, others, next, modest } = busy();
    if (own[2]) log.end(own[2]);
    log.start(others, 'north');
    log.start(next, 'south');
    if (own[1]) log.end(own[1]);
    log.start(modest, 'west');
    expect(violations(log)).toEqual([]);
  });

  it('is one of the greedy ones too, unless a run of it left the queue, which may have been given a slot', () => {
    const passed = (leaves: boolean) => {
      const { log, own, next, others, modest } = busy();
      if (own[0]) log.end(own[0]);
      log.start(modest, 'east');
      if (own[2]) log.end(own[2]);
      const last = log.queue(OTHER);
      if (leaves) log.cancel(others);
      log.end(modest);
      log.start(next, 'east');
      log.queue(GREEDY);
      log.start(last, 'north');
      return violations(log).map(({ run }) => [run, last.run_id]);
    };
    const [[run, expected] = []] = passed(false);
    expect(run).toBe(expected);
    expect(passed(true)).toEqual([]);
  });

  it('is passed by two runs of each other one at most, also where fewer slots are than organisations', () => {
    const passedBy = (count: number) => {
      const log = aSharedLog();
      let last = log.queue(OTHER);
      log.start(last, 'east');
      log.queue(GREEDY);
      const modest = log.queue(MODEST);
      for (let at = 0; at < count; at += 1) {
        log.end(last);
        last = log.queue(OTHER);
        log.start(last, 'east');
      }
      log.end(last);
      log.start(modest, 'east');
      return violations(log);
    };
    expect(passedBy(2)).toEqual([]);
    expect(passedBy(3)).toMatchObject([{ message: expect.stringContaining('3 runs of') as unknown }]);
  });

  it('starts soon after the end of the other one, unless something is away', () => {
    const { log, own, modest } = busy();
    if (own[0]) log.end(own[0]);
    log.wait(40);
    log.start(modest, 'east');
    expect(violations(log)).toMatchObject([
      { run: modest.run_id, message: expect.stringContaining('41.0 s after') as unknown },
    ]);
    expect(violations(log, away('gpu-executor', 15, 30))).toEqual([]);
    const full = { store: 'RUNS', kind: 'full', from: second(15), to: second(30) } as const;
    expect(violations(log, { limits: [{ ...full, lost: 0, hadEffect: true }] })).toEqual([]);
  });

  it('waits for none with a run that the log has lost, but with its other runs', () => {
    const passedWith = (another: boolean) => {
      const { log, own, modest } = busy();
      const second = another ? log.queue(MODEST) : undefined;
      for (let at = 0; at < 3; at += 1) {
        if (own[at]) log.end(own[at] as RunKey);
        const next = log.queue(GREEDY);
        log.start(next, 'east');
        own.splice(at + 1, 0, next);
      }
      log.wait(40);
      log.expire(modest);
      if (second) log.start(second, 'west');
      return violations(log).map(({ run }) => [run, second?.run_id]);
    };
    expect(passedWith(false)).toEqual([]);
    const [[run, expected] = []] = passedWith(true);
    expect(run).toBe(expected);
  });
});
