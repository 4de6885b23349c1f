import { describe, expect, it } from 'vitest';
import {
  executor,
  expired,
  queued,
  stored,
  cancelRequested,
  left,
  noHeartbeats,
  passed,
  running,
} from './steps.ts';
import { ENFORCE_MS, given, PERIOD_MS, type Step } from './test-bed.ts';

describe('a run whose executor left or is lost', () => {
  it('is requeued at once when the executor left', () =>
    expect(given(...running('one', 'box')).when(left('box'))).toEqual(['one is requeued: executor_left']));

  it('is requeued when the loss is in the log', () =>
    expect(given(...running('one', 'box'), noHeartbeats(PERIOD_MS)).when(stored)).toEqual([
      'one is requeued: executor_lost',
    ]));

  it('is given up after its last attempt', () =>
    expect(given(...running('one', 'box', { maxAttempts: 1 }), noHeartbeats(PERIOD_MS)).when(stored)).toEqual(
      ['one is given up: executor_lost'],
    ));

  it('is cancelled when its cancel was requested', () =>
    expect(given(...running('one', 'box'), cancelRequested('one')).when(left('box'))).toEqual([
      'the cancel of one is enforced',
    ]));

  it('is requeued when the assignment reaches the log after the executor left', () =>
    expect(given(executor('box'), queued('one'), left('box')).when(stored)).toEqual([
      'one is requeued: executor_left',
    ]));

  it('is recovered by a scheduler that takes over', () =>
    expect(
      given(...running('one', 'box'), (bed) => bed.standBy(), left('box')).when((bed) => bed.lead()),
    ).toEqual(['one is requeued: executor_left']));

  it('is requeued after a full period when no fact of its executor is known', () => {
    const unknown: Step[] = [...running('one', 'box'), (bed) => bed.forgetFleet()];
    expect(given(...unknown).when((bed) => bed.lead())).toEqual([]);
    expect(given(...unknown, (bed) => bed.lead()).when(noHeartbeats(PERIOD_MS - 500))).toEqual([]);
    expect(given(...unknown, (bed) => bed.lead()).when(noHeartbeats(PERIOD_MS))).toEqual([
      'one is requeued: executor_lost',
    ]);
  });
});

describe('a scheduler that takes over and reads that an executor was once lost', () => {
  const readAgain: Step[] = [
    ...running('one', 'box'),
    (bed) => bed.forgetFleet(),
    (bed) => bed.register('box'),
    (bed) => bed.lose('box'),
    (bed) => bed.lead(),
  ];

  it('requeues none of its runs when it sends heartbeats: it had returned to the previous leader', () => {
    expect(given(...readAgain.slice(0, -1)).when((bed) => bed.lead())).toEqual([]);
    expect(given(...readAgain).when(passed(PERIOD_MS * 3, 'box'))).toEqual([]);
  });

  it('requeues them after a full period without a heartbeat', () =>
    expect(given(...readAgain).when(noHeartbeats(PERIOD_MS))).toEqual(['one is requeued: executor_lost']));
});

describe('a decision that could not be executed', () => {
  it('is made again, for an assignment', () =>
    expect(given(executor('box'), queued('one')).when((bed) => bed.settleFirst('failed'))).toEqual([
      'one is assigned to box slot 0, attempt 1',
    ]));

  it('lets others have its slot, because it may fail again', () =>
    expect(
      given(executor('box'), queued('one'), queued('two')).when((bed) => bed.settleFirst('failed')),
    ).toEqual(['two is assigned to box slot 0, attempt 1']));

  it('is made again, for a recovery', () =>
    expect(given(...running('one', 'box'), left('box')).when((bed) => bed.settleFirst('failed'))).toEqual([
      'one is requeued: executor_left',
    ]));

  it('is made again, for a deadline', () =>
    expect(
      given(queued('one', { startDeadlineS: 60 }), noHeartbeats(61_000), (bed) =>
        bed.settleFirst('failed'),
      ).when(noHeartbeats(500)),
    ).toEqual(['one is timed out: no_capacity']));

  it('frees the slot when the log no longer holds the run', () =>
    expect(
      given(executor('box'), queued('one'), (bed) => bed.settleFirst('expired')).when(queued('two')),
    ).toEqual(['two is assigned to box slot 0, attempt 1']));
});

describe('a run that outlives the log', () => {
  const full: Step[] = [...running('one', 'box'), queued('two')];
  const idle: Step = (bed) => bed.heartbeat('box');

  it('frees its slot once its executor has stopped it', () => {
    expect(given(...full).when(expired('one'))).toEqual([]);
    expect(given(...full, expired('one')).when(idle)).toEqual(['two is assigned to box slot 0, attempt 1']);
  });

  it('frees its slot after the grace period when its executor still lists it', () =>
    expect(given(...full, expired('one')).when(passed(ENFORCE_MS + 1_000, 'box'))).toEqual([
      'two is assigned to box slot 0, attempt 1',
    ]));

  it('is dropped when a decision on it comes too late, and frees its slot in the same way', () => {
    const late: Step[] = [...full, cancelRequested('one'), passed(ENFORCE_MS, 'box')];
    const forgotten: Step[] = [...late, (bed) => bed.settleFirst('expired')];
    expect(given(...late).when((bed) => bed.settleFirst('expired'))).toEqual([]);
    expect(given(...forgotten).when(idle)).toEqual(['two is assigned to box slot 0, attempt 1']);
  });
});
