import { describe, expect, it } from 'vitest';
import {
  ENFORCE_MS,
  given,
  PERIOD_MS,
  type TestCapabilities,
  type Step,
  type RequestedRun,
} from './test-bed.ts';

const executor =
  (name: string, capabilities?: TestCapabilities): Step =>
  (bed) => {
    bed.register(name, capabilities);
    bed.heartbeat(name);
  };
const queued =
  (run: string, request?: RequestedRun): Step =>
  (bed) =>
    bed.queue(run, request);
const stored: Step = (bed) => bed.settleAll();
const started =
  (run: string): Step =>
  (bed) =>
    bed.start(run);
const succeeded =
  (run: string): Step =>
  (bed) =>
    bed.succeed(run);
const cancelRequested =
  (run: string): Step =>
  (bed) =>
    bed.requestCancel(run);
const left =
  (name: string): Step =>
  (bed) =>
    bed.leave(name);
const heartbeatOf =
  (name: string): Step =>
  (bed) =>
    bed.heartbeat(name);
const noHeartbeats =
  (ms: number): Step =>
  (bed) =>
    bed.pass(ms);
const passed =
  (ms: number, ...alive: string[]): Step =>
  (bed) =>
    bed.pass(ms, { alive });
const running = (run: string, on: string, request?: RequestedRun): Step[] => [
  executor(on),
  queued(run, request),
  stored,
  started(run),
];

describe('a queued run', () => {
  it('is assigned at once to a free slot of its GPU model', () =>
    expect(given(executor('box')).when(queued('one'))).toEqual(['one is assigned to box slot 0, attempt 1']));

  it('is assigned at the first heartbeat of an executor that can take it', () =>
    expect(given(queued('one'), (bed) => bed.register('box')).when(heartbeatOf('box'))).toEqual([
      'one is assigned to box slot 0, attempt 1',
    ]));

  it('waits while the executor has registered but sent no heartbeat yet', () =>
    expect(given((bed) => bed.register('box')).when(queued('one'))).toEqual([]));

  it('waits while every slot is busy, and takes the one that is freed by a success', () =>
    expect(given(...running('one', 'box'), queued('two')).when(succeeded('one'))).toEqual([
      'two is assigned to box slot 0, attempt 1',
    ]));

  it.each<[string, RequestedRun, TestCapabilities]>([
    ['of another GPU model', { gpu: 'H100' }, {}],
    ['that does not serve its machine', { machine: 'farm' }, { machines: ['studio'] }],
    ['that does not offer its program', { program: 'train' }, {}],
  ])('is not given to an executor %s', (_why, request, capabilities) =>
    expect(given(executor('box', capabilities)).when(queued('one', request))).toEqual([]),
  );

  it.each(['farm', '01920000-0000-7000-8000-000000000005', '*'])(
    'goes to an executor that serves its machine as %s',
    (machine) =>
      expect(given(executor('box', { machines: [machine] })).when(queued('one'))).toEqual([
        'one is assigned to box slot 0, attempt 1',
      ]),
  );

  it('is not given to a draining executor', () =>
    expect(given(executor('box'), (bed) => bed.drain('box')).when(queued('one'))).toEqual([]));

  it('is never assigned after it was cancelled', () =>
    expect(given(queued('one'), cancelRequested('one')).when(executor('box'))).toEqual([]));
});

describe('first come first served', () => {
  it('gives a freed slot to the run that has waited longest', () =>
    expect(given(...running('one', 'box'), queued('two'), queued('three')).when(succeeded('one'))).toEqual([
      'two is assigned to box slot 0, attempt 1',
    ]));

  it('does not let a run that no executor can take block the runs behind it', () =>
    expect(given(queued('stuck', { program: 'train' }), queued('one')).when(executor('box'))).toEqual([
      'one is assigned to box slot 0, attempt 1',
    ]));

  it('counts across machines and programs of one GPU model', () =>
    expect(given(queued('one', { machine: 'studio' }), queued('two')).when(executor('box'))).toEqual([
      'one is assigned to box slot 0, attempt 1',
    ]));

  it('puts a requeued run in front, by its original number', () =>
    expect(
      given(
        executor('box'),
        queued('one'),
        stored,
        queued('two'),
        left('box'),
        stored, // one is requeued
      ).when(executor('other')),
    ).toEqual(['one is assigned to other slot 0, attempt 2']));

  it('fills every slot of an executor in order', () =>
    expect(
      given(queued('one'), queued('two'), queued('three')).when(
        executor('box', { gpus: ['A10G', 'H100', 'A10G'] }),
      ),
    ).toEqual(['one is assigned to box slot 0, attempt 1', 'two is assigned to box slot 2, attempt 1']));
});

describe('a slot', () => {
  it('is busy from the moment of the decision', () =>
    expect(given(executor('box'), queued('one')).when(queued('two'))).toEqual([]));

  it('is free again when the decision is refused, and the refused run waits for its fact', () =>
    expect(
      given(executor('box'), queued('one'), queued('two')).when((bed) =>
        bed.open.slice(0, 1).forEach((decision) => bed.refuse(decision)),
      ),
    ).toEqual(['two is assigned to box slot 0, attempt 1']));

  it('lets the refused run be decided again on the head that refused it', () =>
    expect(
      given(executor('box'), queued('one'), (bed) =>
        bed.open.slice(0, 1).forEach((decision) => bed.refuse(decision)),
      ).when((bed) => bed.forge('one')),
    ).toEqual(['one is assigned to box slot 0, attempt 1']));

  it('stays busy after a time-out as long as the executor lists the run', () =>
    expect(
      given(...running('one', 'box', { runTimeoutS: 10 }), queued('two'), passed(10_000, 'box')).when(
        (bed) => {
          const listed = bed.listed('box');
          bed.settleAll();
          bed.heartbeat('box', listed);
        },
      ),
    ).toEqual([]));

  it('is free after a time-out when the executor no longer lists the run', () =>
    expect(
      given(...running('one', 'box', { runTimeoutS: 10 }), queued('two'), passed(10_000, 'box'), stored).when(
        heartbeatOf('box'),
      ),
    ).toEqual(['two is assigned to box slot 0, attempt 1']));

  it('is free after a grace period, whatever the executor lists', () =>
    expect(
      given(...running('one', 'box', { runTimeoutS: 10 }), queued('two'), passed(10_000, 'box'), (bed) => {
        const listed = bed.listed('box');
        bed.settleAll();
        for (let ms = 0; ms < ENFORCE_MS - 500; ms += 500) {
          bed.heartbeat('box', listed);
          bed.tickAfter(500);
        }
        expect(bed.open).toEqual([]);
      }).when((bed) => bed.tickAfter(500)),
    ).toEqual(['two is assigned to box slot 0, attempt 1']));

  it('is not given away while the executor lists a run there that is not in the log', () =>
    expect(
      given((bed) => {
        bed.register('box');
        const [listed] = [{ slot: 0, run_id: bed.key('ghost').run_id, attempt: 1 }];
        bed.heartbeat('box', [listed]);
      }).when(queued('one')),
    ).toEqual([]));
});

describe('an executor', () => {
  it('is lost after a full period without a heartbeat', () =>
    expect(given(executor('box')).when(noHeartbeats(PERIOD_MS))).toEqual(['box is lost']));

  it('is not lost before', () =>
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

  it.each(['reconnect', 'slow_round_trip'] as const)('is given a full period anew after a %s', (cause) =>
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

  it('takes part again when it sends a heartbeat after all', () =>
    expect(
      given(executor('box'), noHeartbeats(PERIOD_MS), stored, queued('one')).when(heartbeatOf('box')),
    ).toEqual(['one is assigned to box slot 0, attempt 1']));

  it('is not declared lost again when it registers while its loss is being stored', () =>
    expect(
      given(executor('box'), noHeartbeats(PERIOD_MS), (bed) => bed.register('box')).when(
        noHeartbeats(PERIOD_MS),
      ),
    ).toEqual([]));

  it('stays when its loss could not be stored, and gets another period', () =>
    expect(
      given(executor('box'), noHeartbeats(PERIOD_MS), (bed) =>
        bed.open.forEach((decision) => bed.refuse(decision)),
      ).when(noHeartbeats(PERIOD_MS)),
    ).toEqual(['box is lost']));
});

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

  it('counts as cancelled when its cancel was requested', () =>
    expect(given(...running('one', 'box'), cancelRequested('one')).when(left('box'))).toEqual([
      'the cancel of one is enforced',
    ]));

  it('is requeued when the assignment reaches the log after the executor left', () =>
    expect(given(executor('box'), queued('one'), left('box')).when(stored)).toEqual([
      'one is requeued: executor_left',
    ]));

  it('is found by a scheduler that takes over', () =>
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
  const readAnew: Step[] = [
    ...running('one', 'box'),
    (bed) => bed.forgetFleet(),
    (bed) => bed.register('box'),
    (bed) => bed.lose('box'),
    (bed) => bed.lead(),
  ];

  it('requeues none of its runs when it sends heartbeats: it had returned to the scheduler before', () => {
    expect(given(...readAnew.slice(0, -1)).when((bed) => bed.lead())).toEqual([]);
    expect(given(...readAnew).when(passed(PERIOD_MS * 3, 'box'))).toEqual([]);
  });

  it('recovers them after a full period without a heartbeat', () =>
    expect(given(...readAnew).when(noHeartbeats(PERIOD_MS))).toEqual(['one is requeued: executor_lost']));
});

describe('a decision that could not be executed', () => {
  it('is made again, for an assignment', () =>
    expect(given(executor('box'), queued('one')).when((bed) => bed.settleFirst('failed'))).toEqual([
      'one is assigned to box slot 0, attempt 1',
    ]));

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

describe('time', () => {
  it('ends a run that waits longer than its start deadline', () =>
    expect(
      given(...running('one', 'box'), queued('two', { startDeadlineS: 10 })).when(passed(10_000, 'box')),
    ).toEqual(['two is timed out: start_deadline']));

  it('ends a run that no executor could ever take with no_capacity', () =>
    expect(
      given(executor('box'), queued('one', { gpu: 'H100', startDeadlineS: 10 })).when(passed(10_000, 'box')),
    ).toEqual(['one is timed out: no_capacity']));

  it('ends a run that its executor never began', () =>
    expect(
      given(executor('box'), queued('one', { startDeadlineS: 10 }), stored).when(passed(10_000, 'box')),
    ).toEqual(['one is timed out: start_deadline']));

  it('ends a run that executes longer than its time limit, counted from its start', () =>
    expect(
      given(
        executor('box'),
        queued('one', { runTimeoutS: 10 }),
        stored,
        passed(5_000, 'box'),
        started('one'),
      ).when(passed(10_000, 'box')),
    ).toEqual(['one is timed out: run_timeout']));

  it('counts the start deadline anew when a run is requeued', () =>
    expect(
      given(...running('one', 'box', { startDeadlineS: 10 }), passed(8_000, 'box'), left('box'), stored).when(
        noHeartbeats(9_500),
      ),
    ).toEqual([]));

  it('enforces a cancel that the executor ignores', () =>
    expect(
      given(...running('one', 'box', { runTimeoutS: 5 }), cancelRequested('one')).when(
        passed(ENFORCE_MS, 'box'),
      ),
    ).toEqual(['the cancel of one is enforced']));

  it('ends nothing before a full period after a reconnect: its executor may have finished it meanwhile', () => {
    expect(given(...running('one', 'box', { runTimeoutS: 10 })).when((bed) => bed.tickAfter(20_000))).toEqual(
      ['one is timed out: run_timeout'],
    );
    const before: Step[] = [
      ...running('one', 'box', { runTimeoutS: 10 }),
      (bed) => {
        bed.nowMs += 20_000;
        bed.reset('reconnect');
      },
    ];
    expect(given(...before).when(passed(PERIOD_MS - 500, 'box'))).toEqual([]);
    expect(given(...before).when(passed(PERIOD_MS, 'box'))).toEqual(['one is timed out: run_timeout']);
    expect(given(...before, passed(1_000, 'box'), succeeded('one')).when(passed(PERIOD_MS, 'box'))).toEqual(
      [],
    );
  });

  it('ends nothing that has ended already', () =>
    expect(
      given(...running('one', 'box', { runTimeoutS: 10 }), succeeded('one')).when(passed(60_000, 'box')),
    ).toEqual([]));
});

describe('a scheduler that stands by', () => {
  it('decides nothing, and everything once it leads', () =>
    expect(
      given(
        (bed) => bed.standBy(),
        queued('one'),
        executor('box'),
        (bed) => {
          expect(bed.open).toEqual([]);
          bed.lead();
        },
      ).when(heartbeatOf('box')),
    ).toEqual(['one is assigned to box slot 0, attempt 1']));

  it('gives up the decisions that are under way', () =>
    expect(
      given(
        executor('box'),
        queued('one'),
        (bed) => bed.standBy(),
        (bed) => bed.lead(),
      ).when(heartbeatOf('box')),
    ).toEqual(['one is assigned to box slot 0, attempt 1']));
});
