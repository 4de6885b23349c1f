import { describe, expect, it } from 'vitest';
import type { ExecutorState, ExecutorsRequest } from '@runledger/contracts/requests/executors';
import { executor } from './steps.ts';
import { OPERATOR, ORG, TestBed, versionOf } from './test-bed.ts';

const ALL: ExecutorsRequest = { name: null, after: null, limit: 200 };
const statesOf = (bed: TestBed, question: Partial<ExecutorsRequest> = {}): ExecutorState[] =>
  bed.scheduling.queries.executors({ ...ALL, ...question }).executors;

describe('the state of executors', () => {
  it('includes their registration, what is loaded in their slots, their runs and why these are there, and their last heartbeat', () => {
    const bed = new TestBed();
    bed.lead();
    bed.register('box', { gpus: ['A10G', 'H100'], machines: ['farm'] });
    bed.heartbeat('box', [], [1]);
    bed.queue('one', { version: 1 });
    const slots = (): ExecutorState['slots'] | undefined => statesOf(bed)[0]?.slots;
    // The assignment is not stored yet.
    expect(slots()?.map(({ run }) => run)).toEqual([null, null]);
    bed.settleAll();
    const started = bed.run('one');
    expect(statesOf(bed)).toEqual([
      {
        executor_id: 'box.0a1b2c3d4e5f',
        name: 'box',
        state: 'ready',
        drain: null,
        slots: [
          {
            slot: 0,
            gpu: 'A10G',
            loaded_workflow_version_id: versionOf(1),
            run: {
              ...bed.key('one'),
              attempt: 1,
              assigned_at: started?.attempt?.assigned_at,
              placement: { candidates: 1, choice: 'warm', waited_s: 0 },
            },
          },
          { slot: 1, gpu: 'H100', loaded_workflow_version_id: null, run: null },
        ],
        machines: [`${ORG}/farm`],
        machine_count: 1,
        programs: ['render'],
        program_count: 1,
        labels: [],
        isolation: 'weak',
        isolation_gaps: ['keep keys in the kernel'],
        limits: 'rlimits',
        software_version: '0.1.0',
        registered_at: '2026-01-01T00:00:00.000Z',
        last_heartbeat_at: 'heartbeat 1',
      },
    ]);
  });

  it('is unresponsive until the next heartbeat', () => {
    const bed = new TestBed();
    const state = (): string | undefined => statesOf(bed)[0]?.state;
    bed.register('box');
    expect(state()).toBe('unresponsive');
    bed.heartbeat('box');
    expect(state()).toBe('ready');
    bed.pass(3_500);
    expect(state()).toBe('unresponsive');
    bed.heartbeat('box');
    expect(state()).toBe('ready');
    bed.drain('box');
    expect(state()).toBe('draining');
    bed.pass(3_500);
    expect(state()).toBe('unresponsive');
  });

  it('includes who drained their name, also without an executor', () => {
    const bed = new TestBed();
    const drain = { requested_at: '2026-01-01T00:00:00.000Z', requested_by: OPERATOR };
    bed.requestDrain('box');
    expect(statesOf(bed)).toMatchObject([
      { executor_id: null, name: 'box', state: 'absent', slots: [], drain },
    ]);
    executor('box')(bed);
    expect(statesOf(bed)).toMatchObject([{ executor_id: 'box.0a1b2c3d4e5f', state: 'draining', drain }]);
    bed.requestResume('box');
    expect(statesOf(bed)).toMatchObject([{ state: 'ready', drain: null }]);
    bed.leave('box');
    expect(statesOf(bed)).toEqual([]);
  });

  it('is paged, by name and then by id', () => {
    const bed = new TestBed();
    for (const name of ['c', 'a', 'b']) bed.register(name);
    bed.registerAs('a', 'a.000000000000');
    bed.requestDrain('aa');
    const seen: (string | null)[] = [];
    let after: ExecutorsRequest['after'] = null;
    for (let pages = 1; ; pages += 1) {
      const { executors, more } = bed.scheduling.queries.executors({ name: null, after, limit: 2 });
      seen.push(...executors.map(({ executor_id }) => executor_id));
      const last = executors.at(-1);
      after = last ? { name: last.name, executor_id: last.executor_id } : null;
      if (more) continue;
      expect(pages).toBe(3);
      break;
    }
    expect(seen).toEqual(['a.000000000000', 'a.0a1b2c3d4e5f', null, 'b.0a1b2c3d4e5f', 'c.0a1b2c3d4e5f']);
    expect(statesOf(bed, { name: 'a' }).map(({ executor_id }) => executor_id)).toEqual([
      'a.000000000000',
      'a.0a1b2c3d4e5f',
    ]);
    expect(statesOf(bed, { name: 'unknown' })).toEqual([]);
  });
});

describe('the wait reason of a run', () => {
  it('includes counts of executors and slots', () => {
    const bed = new TestBed();
    bed.lead();
    for (const name of ['a', 'b', 'c']) executor(name)(bed);
    bed.register('other', { programs: ['train'] });
    bed.queue('one');
    bed.settleAll();
    const on = bed.run('one')?.attempt?.executor_id ?? '';
    for (const name of ['a', 'b', 'c']) if (bed.id(name) !== on) bed.requestDrain(name);
    bed.queue('two');
    bed.queue('three');
    expect(bed.scheduling.queries.waitReason(bed.key('three'))).toEqual({
      ahead: 1,
      capacity: 'busy',
      eta: null,
      no_eta: 'not_busy',
      gpu: 'A10G',
      executors: { serving: 1, busy_slots: 1, free_slots: 0, draining: 2 },
    });
    expect(bed.scheduling.queries.waitReason(bed.key('one'))).toBeUndefined();
  });
});
