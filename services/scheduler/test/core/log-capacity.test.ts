import { attemptsLimit, NEW_ATTEMPT_BYTES, reservedBytes } from '@runledger/contracts/fold/log-capacity';
import { describe, expect, it } from 'vitest';
import {
  cancelRequested,
  executor,
  heartbeatOf,
  left,
  logSize,
  passed,
  queued,
  running,
  started,
  stored,
  succeeded,
} from './steps.ts';
import { ENFORCE_MS, given, TestBed, type Step } from './test-bed.ts';

const LIMIT = 8_000_000;
const full = logSize(LIMIT, LIMIT);
/** The log has room for so many attempts, beside what these runs have reserved. */
const roomFor = (attempts: number, live: number, executing = 0): Step =>
  logSize(attemptsLimit(LIMIT) - reservedBytes({ live, executing }) - attempts * NEW_ATTEMPT_BYTES, LIMIT);
const threeSlots = executor('box', { gpus: ['A10G', 'A10G', 'A10G'] });

describe('a log without room for an attempt', () => {
  it('makes a run wait, with this reason', () => {
    const bed = new TestBed();
    bed.lead();
    for (const step of [threeSlots, full, queued('one')]) step(bed);
    expect(bed.last).toEqual([]);
    const { queries } = bed.scheduling;
    expect(queries.queuePosition(bed.key('one'))).toEqual({ ahead: 0, capacity: 'storage_full' });
    expect(queries.isShortOfCapacity()).toBe(true);
    roomFor(1, 1)(bed);
    expect(queries.isShortOfCapacity()).toBe(false);
    expect(bed.last).toMatchObject([{ type: 'assign' }]);
    queued('two', { gpu: 'H100' })(bed);
    expect(queries.queuePosition(bed.key('two'))).toMatchObject({ capacity: 'no_gpu' });
  });

  it('assigns the waiting runs in turn when there is room again', () =>
    expect(
      given(threeSlots, full, queued('one'), queued('two'), queued('three')).when(roomFor(2, 3)),
    ).toEqual(['one is assigned to box slot 0, attempt 1', 'two is assigned to box slot 1, attempt 1']));

  it('counts assignments that are being stored, and executing attempts', () => {
    const before = [threeSlots, roomFor(1, 2), queued('one')];
    expect(given(...before).when(queued('two'))).toEqual([]);
    expect(given(...before, stored, started('one')).when(queued('two'))).toEqual([]);
    expect(
      given(...before, stored, queued('two'), started('one'), succeeded('one')).when(roomFor(1, 1)),
    ).toEqual(['two is assigned to box slot 1, attempt 1']);
    expect(given(...before, stored, queued('two')).when(roomFor(0, 2, 1))).toEqual([]);
    expect(given(...before, stored, queued('two')).when(roomFor(1, 2, 1))).toEqual([
      'two is assigned to box slot 1, attempt 1',
    ]);
  });

  it('keeps no run waiting that has no slot either', () => {
    const bed = new TestBed();
    bed.lead();
    for (const step of [full, queued('one')]) step(bed);
    expect(bed.scheduling.queries.isShortOfCapacity()).toBe(false);
  });

  it('ends a run that had no room until its start deadline', () =>
    expect(
      given(threeSlots, full, queued('one', { startDeadlineS: 10 })).when(passed(10_000, 'box')),
    ).toEqual(['one is timed out: storage_full']));

  it('delays no end, no requeue and no enforced cancel', () => {
    expect(
      given(...running('one', 'box', { runTimeoutS: 10 }), full).when(passed(10_000 + ENFORCE_MS, 'box')),
    ).toEqual(['one is timed out: run_timeout']);
    expect(given(...running('one', 'box'), full).when(left('box'))).toEqual([
      'one is requeued: executor_left',
    ]);
    expect(
      given(...running('one', 'box'), full, cancelRequested('one')).when(passed(ENFORCE_MS, 'box')),
    ).toEqual(['the cancel of one is enforced']);
  });

  it('cannot be a log without a limit, or one whose size is not known yet', () => {
    expect(given(threeSlots, logSize(LIMIT, -1)).when(queued('one'))).toHaveLength(1);
    expect(given(threeSlots, heartbeatOf('box')).when(queued('one'))).toHaveLength(1);
  });
});
