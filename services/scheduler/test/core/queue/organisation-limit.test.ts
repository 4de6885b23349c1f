import { describe, expect, it } from 'vitest';
import { executor, queued } from '../steps.ts';
import { orgOf, TestBed } from '../test-bed.ts';

const [LIMITED, OTHER] = [orgOf(1), orgOf(2)];

/** An executor for each GPU model, and an organisation that may hold two slots. */
const fleet = (...gpus: readonly ('A10G' | 'H100')[]) => {
  const bed = new TestBed(new Map([[LIMITED, { limit: 2 }]]));
  bed.lead();
  executor('box', { gpus })(bed);
  const executing = (): string[] =>
    ['one', 'two', 'three', 'four', 'other'].filter((name) => bed.run(name)?.status === 'started');
  const end = (name: string): void => {
    bed.start(name);
    bed.succeed(name);
    bed.settleAll();
  };
  const queue = (name: string, request: object = {}): void => {
    queued(name, { org: LIMITED, ...request })(bed);
    bed.settleAll();
  };
  return { bed, executing, end, queue };
};

describe('an organisation with a limit', () => {
  it('holds no more slots than that, also while others are free', () => {
    const { executing, queue } = fleet('A10G', 'A10G', 'A10G');
    for (const [n, name] of ['one', 'two', 'three'].entries()) queue(name, { deployment: n });
    expect(executing()).toEqual(['one', 'two']);
    queue('other', { org: OTHER });
    expect(executing()).toEqual(['one', 'two', 'other']);
  });

  it('counts the slots of all GPU models, and has the next run in any slot that was free', () => {
    const { executing, end, queue } = fleet('A10G', 'A10G', 'H100');
    for (const name of ['one', 'two']) queue(name);
    queue('three', { gpu: 'H100', deployment: 1 });
    queue('four', { gpu: 'H100', deployment: 2 });
    expect(executing()).toEqual(['one', 'two']);
    end('one');
    expect(executing()).toEqual(['two', 'three']);
    end('two');
    expect(executing()).toEqual(['three']);
    end('three');
    expect(executing()).toEqual(['four']);
  });

  it('counts again after a new leader has read the log, and says why its runs wait', () => {
    const { bed, executing, queue } = fleet('A10G', 'A10G', 'A10G');
    for (const name of ['one', 'two']) queue(name);
    queue('three', { startDeadlineS: 15 });
    bed.forgetFleet();
    bed.lead();
    executor('box', { gpus: ['A10G', 'A10G', 'A10G'] })(bed);
    expect(executing()).toEqual(['one', 'two']);
    expect(bed.scheduling.queries.waitReason(bed.key('three'))).toMatchObject({
      capacity: 'organisation_limit',
      executors: { free_slots: 1 },
    });
    bed.pass(30_000, { alive: ['box'] });
    expect(bed.last).toMatchObject([
      { type: 'time_out', message: expect.stringContaining('RUNLEDGER_ORG_LIMITS') as string },
    ]);
  });
});
