import { describe, expect, it } from 'vitest';
import { executor, queued, stored, heartbeatOf, passed, running } from './steps.ts';
import { ENFORCE_MS, given } from './test-bed.ts';

describe('a slot', () => {
  it('is busy from the decision on', () =>
    expect(given(executor('box'), queued('one')).when(queued('two'))).toEqual([]));

  it('is free again after a refused decision; the refused run waits for its next fact', () =>
    expect(
      given(executor('box'), queued('one'), queued('two')).when((bed) =>
        bed.open.slice(0, 1).forEach((decision) => bed.refuse(decision)),
      ),
    ).toEqual(['two is assigned to box slot 0, attempt 1']));

  it('takes the refused run after its head has moved', () =>
    expect(
      given(executor('box'), queued('one'), (bed) =>
        bed.open.slice(0, 1).forEach((decision) => bed.refuse(decision)),
      ).when((bed) => bed.forge('one')),
    ).toEqual(['one is assigned to box slot 0, attempt 1']));

  it('stays busy after a timeout while the executor lists the run', () =>
    expect(
      given(
        ...running('one', 'box', { runTimeoutS: 10 }),
        queued('two'),
        passed(10_000 + ENFORCE_MS, 'box'),
      ).when((bed) => {
        const listed = bed.listed('box');
        bed.settleAll();
        bed.heartbeat('box', listed);
      }),
    ).toEqual([]));

  it('is free after a timeout when the executor no longer lists the run', () =>
    expect(
      given(
        ...running('one', 'box', { runTimeoutS: 10 }),
        queued('two'),
        passed(10_000 + ENFORCE_MS, 'box'),
        stored,
      ).when(heartbeatOf('box')),
    ).toEqual(['two is assigned to box slot 0, attempt 1']));

  it('is free after the grace period, even if the executor lists a run', () =>
    expect(
      given(
        ...running('one', 'box', { runTimeoutS: 10 }),
        queued('two'),
        passed(10_000 + ENFORCE_MS, 'box'),
        (bed) => {
          const listed = bed.listed('box');
          bed.settleAll();
          for (let ms = 0; ms < ENFORCE_MS - 500; ms += 500) {
            bed.heartbeat('box', listed);
            bed.tickAfter(500);
          }
          expect(bed.open).toEqual([]);
        },
      ).when((bed) => bed.tickAfter(500)),
    ).toEqual(['two is assigned to box slot 0, attempt 1']));

  it('stays busy while the executor lists a run there that is not in the log', () =>
    expect(
      given((bed) => {
        bed.register('box');
        const [listed] = [{ slot: 0, run_id: bed.key('ghost').run_id, attempt: 1 }];
        bed.heartbeat('box', [listed]);
      }).when(queued('one')),
    ).toEqual([]));
});
