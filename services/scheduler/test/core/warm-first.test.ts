import { describe, expect, it } from 'vitest';
import {
  drained,
  executor,
  left,
  loaded,
  passed,
  prepared,
  queued,
  started,
  stored,
  succeeded,
  noHeartbeats,
} from './steps.ts';
import { given, TestBed, type Step } from './test-bed.ts';

const onBox = (run: string) => [`${run} is assigned to box slot 0, attempt 1`];
const onDen = (run: string) => [`${run} is assigned to den slot 0, attempt 1`];
/** The box has version 1 loaded and executes it; the den has nothing loaded. */
const boxIsBusy: Step[] = [
  executor('box'),
  queued('busy', { version: 1 }),
  stored,
  started('busy'),
  loaded('box', 1),
  executor('den'),
];
const patient = { version: 1, warmWaitS: 30 };

describe('a run', () => {
  it('gets a free slot that has its version loaded before all others', () => {
    const fleet = [executor('den'), executor('box'), loaded('box', 1)];
    expect(given(...fleet).when(queued('one', { version: 1 }))).toEqual(onBox('one'));
    expect(given(...fleet).when(queued('one', { version: 2 }))).toEqual(onDen('one'));
  });

  it('gets the warm slot of a model that it prefers less', () => {
    const fleet = [executor('box', { gpus: ['L4'] }), loaded('box', 1), executor('den')];
    const fallbacks = [{ gpu: 'L4', after_s: 0 }] as const;
    expect(given(...fleet).when(queued('one', { version: 1, fallbacks }))).toEqual(onBox('one'));
  });

  it('takes a cold slot at once when its deployment does not wait for warm ones', () =>
    expect(given(...boxIsBusy).when(queued('one', { version: 1 }))).toEqual(onDen('one')));

  it('waits for the busy slot that has its version loaded', () => {
    expect(given(...boxIsBusy).when(queued('one', patient))).toEqual([]);
    expect(given(...boxIsBusy, queued('one', patient)).when(succeeded('busy'))).toEqual(onBox('one'));
  });

  it('takes a free slot with its version also behind one that it leaves to others', () => {
    const fleet = [executor('box', { gpus: ['A10G', 'A10G', 'A10G'] }), loaded('box', 1, 2, 1)];
    const first = queued('first', { version: 1 });
    expect(given(...fleet, first).when(queued('one', patient))).toEqual([
      'one is assigned to box slot 2, attempt 1',
    ]);
  });

  it.each([1, 2])(
    'that was queued again gets its warm slot before a later one of its deployment, of version %i, gets a cold one',
    (version) => {
      const one = { version: 1, warmWaitS: 2, concurrencyLimit: 1, deployment: 0, maxAttempts: 3 };
      const held = [executor('den'), queued('held', one), stored, started('held')];
      const fleet = [executor('box', { gpus: ['A10G', 'A10G', 'A10G'] }), loaded('box', null, 1, 1)];
      const busy = [queued('busy', { version: 1, deployment: 1 }), stored, started('busy')];
      const second = [queued('second', { ...one, version }), passed(3_000, 'den', 'box')];
      expect(given(...held, ...fleet, ...busy, ...second, left('den')).when(stored)).toEqual([
        'held is assigned to box slot 2, attempt 2',
      ]);
    },
  );

  it('waits no longer than its warm wait, and then takes any slot', () => {
    const waiting = [...boxIsBusy, queued('one', patient)];
    expect(given(...waiting).when(passed(29_500, 'box', 'den'))).toEqual([]);
    expect(given(...waiting).when(passed(30_500, 'box', 'den'))).toEqual(onDen('one'));
  });

  it('waits no longer than that for an executor that is frozen and not lost yet', () => {
    const waiting = [...boxIsBusy, queued('one', { version: 1, warmWaitS: 3 })];
    expect(given(...waiting).when(passed(2_500, 'den'))).toEqual([]);
    expect(given(...waiting).when(passed(3_500, 'den'))).toEqual(onDen('one'));
  });

  it('waits no longer than that either while a slow broker puts its loss off', () => {
    const slow: Step[] = [passed(5_500, 'den'), (bed) => bed.reset('slow_round_trip')];
    const waiting = [...boxIsBusy, queued('one', patient), ...slow, ...slow, ...slow, ...slow, ...slow];
    expect(given(...waiting).when(passed(2_000, 'den'))).toEqual([]);
    expect(given(...waiting).when(passed(3_000, 'den'))).toEqual(onDen('one'));
  });

  it('does not wait when no busy executor has its version', () => {
    expect(given(...boxIsBusy).when(queued('one', { ...patient, version: 2 }))).toEqual(onDen('one'));
    expect(given(...boxIsBusy, drained('box')).when(queued('one', patient))).toEqual(onDen('one'));
  });

  it.each<[string, Step]>([
    ['says that it has it no more', loaded('box', null)],
    ['has another version', loaded('box', 2)],
    ['is drained', drained('box')],
    ['leaves', left('box')],
    ['is lost', passed(6_500, 'den')],
  ])('stops waiting when the executor with its version %s', (_what, step) => {
    const decisions = given(...boxIsBusy, queued('one', patient), queued('two', patient)).when(step);
    expect(decisions).toContain(onDen('one')[0]);
  });

  it('leaves the free slot to others meanwhile, also to those of its deployment', () => {
    const waiting = [...boxIsBusy, queued('one', patient)];
    expect(given(...waiting).when(queued('other', { version: 2 }))).toEqual(onDen('other'));
    expect(given(...waiting).when(queued('hasty', { version: 1 }))).toEqual(onDen('hasty'));
  });

  it('takes a slot as soon as an executor says that it has its version', () =>
    expect(given(...boxIsBusy, queued('one', patient)).when(loaded('den', 1))).toEqual(onDen('one')));

  it('waits again from the beginning after it was queued again, and in no queue position is it forgotten', () => {
    const bed = new TestBed();
    bed.lead();
    for (const step of [...boxIsBusy, queued('one', patient)]) step(bed);
    expect(bed.scheduling.queries.queuePosition(bed.key('one'))).toEqual({ ahead: 0, capacity: 'warm' });
    queued('other', { version: 2 })(bed);
    expect(bed.scheduling.queries.queuePosition(bed.key('one'))?.capacity).toBe('busy');
  });

  it('says in its placement that it is warm, and how long it left free slots to others', () => {
    const bed = new TestBed();
    bed.lead();
    const steps = [
      ...boxIsBusy,
      queued('one', patient),
      passed(12_000, 'box', 'den'),
      succeeded('busy'),
      stored,
    ];
    for (const step of steps) step(bed);
    expect(bed.run('one')?.attempt?.placement).toEqual({
      candidates: 2,
      choice: 'warm',
      waited_s: 12,
      warm_wait_s: 12,
    });
  });

  it('has waited for no negative time when the clock was set back meanwhile', () => {
    const setBack: Step = (bed) => {
      bed.nowMs -= 5_000;
      bed.tickAfter(500);
    };
    const bed = new TestBed();
    bed.lead();
    for (const step of [...boxIsBusy, queued('one', patient), setBack, succeeded('busy'), stored]) step(bed);
    expect(bed.run('one')?.attempt?.placement).toMatchObject({ choice: 'warm', warm_wait_s: 0 });
  });

  it('does not wait for an executor that sends no heartbeats', () =>
    expect(given(...boxIsBusy, queued('one', patient)).when(noHeartbeats(7_000))).not.toContain(
      onBox('one')[0],
    ));
});

describe('a run whose version an executor has prepared', () => {
  it('gets a loaded slot before a prepared one, and that before a cold one', () => {
    const fleet = [executor('den'), executor('box'), prepared('box', 1)];
    expect(given(...fleet).when(queued('one', { version: 1 }))).toEqual(onBox('one'));
    expect(given(...fleet, loaded('den', 1)).when(queued('one', { version: 1 }))).toEqual(onDen('one'));
    expect(given(...fleet).when(queued('one', { version: 2 }))).toEqual(onDen('one'));
  });

  /** The box has prepared version 1 and executes something; the den is cold. */
  const preparedIsBusy: Step[] = [
    executor('box'),
    queued('busy', { version: 2 }),
    stored,
    started('busy'),
    prepared('box', 1),
    executor('den'),
  ];

  it('waits for the prepared slot that is busy, within its warm wait', () => {
    expect(given(...preparedIsBusy).when(queued('one', { version: 1 }))).toEqual(onDen('one'));
    const waiting = [...preparedIsBusy, queued('one', patient)];
    expect(given(...preparedIsBusy).when(queued('one', patient))).toEqual([]);
    expect(given(...waiting).when(succeeded('busy'))).toEqual(onBox('one'));
    expect(given(...waiting).when(passed(29_500, 'box', 'den'))).toEqual([]);
    expect(given(...waiting).when(passed(30_500, 'box', 'den'))).toEqual(onDen('one'));
  });

  it.each<[string, Step]>([
    ['has it no more', prepared('box')],
    ['is drained', drained('box')],
    ['is lost', passed(6_500, 'den')],
  ])('stops waiting when that executor %s', (_what, step) =>
    expect(given(...preparedIsBusy, queued('one', patient)).when(step)).toContain(onDen('one')[0]),
  );

  it('takes a free prepared slot while the slot that has it loaded is busy only if it does not wait', () => {
    const fleet = [...boxIsBusy, prepared('den', 1)];
    expect(given(...fleet).when(queued('one', { version: 1 }))).toEqual(onDen('one'));
    expect(given(...fleet).when(queued('one', patient))).toEqual([]);
  });
});
