import { describe, expect, it } from 'vitest';
import { executor, queued, stored, heartbeatOf, noHeartbeats, passed } from './steps.ts';
import { given, PERIOD_MS } from './test-bed.ts';

describe('an executor', () => {
  it('is lost after a full period without a heartbeat', () =>
    expect(given(executor('box')).when(noHeartbeats(PERIOD_MS))).toEqual(['box is lost']));

  it('is not lost before a full period', () =>
    expect(given(executor('box')).when(noHeartbeats(PERIOD_MS - 500))).toEqual([]));

  it('is declared lost once', () =>
    expect(given(executor('box'), noHeartbeats(PERIOD_MS)).when(noHeartbeats(PERIOD_MS))).toEqual([]));

  it('is not lost while it sends heartbeats', () =>
    expect(given(executor('box')).when(passed(10 * PERIOD_MS, 'box'))).toEqual([]));

  it('does not count a heartbeat that is received again', () =>
    expect(
      given(executor('box'), noHeartbeats(PERIOD_MS - 500), (bed) => bed.repeatHeartbeat('box')).when(
        noHeartbeats(500),
      ),
    ).toEqual(['box is lost']));

  it.each(['reconnect', 'slow_round_trip'] as const)('gets another full period after a %s', (cause) =>
    expect(
      given(executor('box'), noHeartbeats(PERIOD_MS - 500), (bed) => bed.reset(cause)).when(
        noHeartbeats(PERIOD_MS - 500),
      ),
    ).toEqual([]),
  );

  it('gets another full period when the scheduler itself was paused', () =>
    expect(
      given(executor('box'), (bed) => bed.tickAfter(10 * PERIOD_MS)).when(noHeartbeats(PERIOD_MS - 500)),
    ).toEqual([]));

  it('gets another full period from a scheduler that takes over', () =>
    expect(
      given(
        executor('box'),
        noHeartbeats(PERIOD_MS - 500),
        (bed) => bed.standBy(),
        (bed) => bed.lead(),
      ).when(noHeartbeats(PERIOD_MS - 500)),
    ).toEqual([]));

  it('gets no runs after a reconnect before its next heartbeat', () =>
    expect(given(executor('box'), (bed) => bed.reset('reconnect')).when(queued('one'))).toEqual([]));

  it('gets runs again after a loss when it sends a heartbeat', () =>
    expect(
      given(executor('box'), noHeartbeats(PERIOD_MS), stored, queued('one')).when(heartbeatOf('box')),
    ).toEqual(['one is assigned to box slot 0, attempt 1']));

  it('is not declared lost again when it registers while its loss is being stored', () =>
    expect(
      given(executor('box'), noHeartbeats(PERIOD_MS), (bed) => bed.register('box')).when(
        noHeartbeats(PERIOD_MS),
      ),
    ).toEqual([]));

  it('gets another period when its loss could not be stored', () =>
    expect(
      given(executor('box'), noHeartbeats(PERIOD_MS), (bed) =>
        bed.open.forEach((decision) => bed.refuse(decision)),
      ).when(noHeartbeats(PERIOD_MS)),
    ).toEqual(['box is lost']));
});
