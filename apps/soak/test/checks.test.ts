import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { InvariantName } from '@runledger/testing/invariants';
import {
  aRun,
  assigned,
  cancelled,
  cancelRequested,
  deleted,
  EXECUTOR,
  expired,
  failed,
  givenUp,
  queued,
  started,
} from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { brokenPromises, withoutEffect } from '../src/broken-promises.ts';
import { CHECKS, violationsIn } from '../src/checks/all-checks.ts';
import type { Exchange } from '../src/clients/client-records.ts';
import type { Outage } from '../src/cluster/outages.ts';
import type { Evidence } from '../src/evidence/evidence.ts';
import { NO_ARCHIVE_TROUBLE, type ArchiveFault } from '../src/faults/archive-faults.ts';
import { foldRuns } from '../src/evidence/logged-run.ts';
import type { LimitChange } from '../src/faults/limit-changes.ts';
import { violationReport } from '../src/violation-report.ts';
import {
  arrived,
  aSoak,
  BEGUN_AT,
  EVENTS,
  exchange,
  INPUTS,
  queuedRun,
  RUN,
  second,
  shownAfter,
  stored,
  streamedFacts,
  succeededAs,
  wasQueued,
  wasShown,
} from './fixtures/a-soak.ts';

const OTHER = aRun(RUN.org_id);
const UNKNOWN = '01920000-0000-7000-8000-00000000dead';
const BEGUN = [queuedRun(), assigned(RUN), started(RUN)];
const CANCELLED = [...BEGUN, cancelRequested(RUN, 1, EXECUTOR), cancelled(RUN)];
const NO_FAULTS = { missed: [], outages: [], stops: [], unexpectedEnds: [] };

const asked = (
  answer: Exchange['answer'],
  more: Partial<Exchange> = {},
  at = 7,
): Partial<Evidence['records']> => ({
  exchanges: [exchange(at, answer, more)],
});
const refused = (status: number, kind: Exchange['kind']): Partial<Evidence['records']> =>
  asked({ kind: 'refused', status, why: 'no' }, { kind });
/** The last of these facts is stored a minute and a half later. */
const late = (events: readonly RunEvent[]): Evidence['runs'] =>
  foldRuns(
    stored(events).map((message, at) =>
      at === events.length - 1 ? { ...message, time: new Date(second(95)).toISOString() } : message,
    ),
  );
const away = (role: Outage['role']): Partial<Evidence> => ({
  faults: {
    ...NO_FAULTS,
    outages: [{ part: `${role}-1`, role, kind: 'pause', from: BEGUN_AT, to: second(80) }],
  },
});
const full = (hadEffect: boolean): LimitChange => ({
  store: 'BLOBS',
  kind: 'full',
  from: second(1),
  to: second(2),
  lost: 0,
  hadEffect,
});

/** What breaks each invariant, and nothing else that the test needs to know. */
const BROKEN: Readonly<Partial<Record<InvariantName, Evidence>>> = {
  'accepted-runs': aSoak({ records: { exchanges: [wasQueued(1.1), wasQueued(2, UNKNOWN)] } }),
  expiry: aSoak({ events: [...BEGUN, expired(RUN)] }),
  'queued-once': aSoak({ events: [...EVENTS, queued(OTHER, { inputs: INPUTS })] }),
  'reads-never-go-back': aSoak({ records: { exchanges: [wasShown(4.5, 3), wasShown(5, 2)] } }),
  archive: aSoak({ archive: { ...NO_ARCHIVE_TROUBLE, stillNamed: [RUN.org_id], kept: undefined } }),
  'one-result': aSoak({ events: [...BEGUN, succeededAs(`${RUN.run_id}.2`)] }),
  'sound-runs': aSoak({ events: [queuedRun(), givenUp(RUN, 'internal_error')] }),
  cancels: aSoak({ runs: late(CANCELLED) }),
  notifications: aSoak({ records: { received: [arrived(5, 4), arrived(6, 3)] } }),
  views: aSoak({ shown: [{ gateway: 'one', listed: [], read: [{ run: RUN.run_id, shown: null }] }] }),
  streams: aSoak({
    records: {
      streams: [{ run: RUN.run_id, facts: streamedFacts(1, 3, 4), connections: [], complete: true }],
    },
  }),
  drains: aSoak({
    records: {
      drains: [{ name: EXECUTOR.split('.')[0] ?? '', drainedAt: second(0.5), resumedAt: second(3) }],
    },
  }),
  deletions: aSoak({ events: [...EVENTS, deleted(RUN)] }),
  'input-files': aSoak({
    events: [queued(RUN, { inputs: { ...INPUTS, file: UNKNOWN } }), ...EVENTS.slice(1)],
  }),
  logs: aSoak({ logs: [{ gateway: 'one', run: RUN.run_id, status: 404, items: [] }] }),
  tenancy: aSoak({ records: refused(403, 'foreign') }),
  permissions: aSoak({
    trespasses: [
      { user: 'notifier', action: 'publish', subject: '$KV.KEYS.one', at: second(2), refused: false },
    ],
  }),
  refusals: aSoak({ records: refused(500, 'queue') }),
  'full-stores': aSoak({ events: [...BEGUN, failed(RUN, 'storage_full')] }),
  'fair-share': aSoak({
    runs: late([queuedRun(), assigned(RUN)]),
    sharing: { greedy_ids: [], modest_id: RUN.org_id, orgLimits: {}, pools: [] },
  }),
  slots: aSoak({ sharing: { greedy_ids: [], modest_id: '', orgLimits: {}, pools: undefined } }),
  'service-health': aSoak({
    faults: {
      ...NO_FAULTS,
      unexpectedEnds: [{ part: 'gateway-1', at: BEGUN_AT, how: 'ended with exit status 1' }],
    },
  }),
  limits: aSoak({
    events: [queuedRun(), queued(OTHER), assigned(RUN), assigned(OTHER, { data: { slot: 1 } })],
    sharing: { greedy_ids: [], modest_id: '', orgLimits: { [RUN.org_id]: 1 }, pools: [] },
  }),
};

const namesOf = (evidence: Evidence): string[] => violationsIn(evidence).map(({ invariant }) => invariant);

describe('a soak', () => {
  it('in which every guarantee holds violates nothing', () => {
    expect(violationsIn(aSoak())).toEqual([]);
  });

  it('has something that breaks each invariant that observations show', () => {
    expect(Object.keys(BROKEN)).toEqual(expect.arrayContaining(Object.keys(CHECKS)));
  });

  it.each(Object.entries(BROKEN))('says that %s is violated', (name, evidence) => {
    expect(namesOf(evidence)).toContain(name);
  });

  it.each([
    ['a cancel may take longer while a part that it needs is away', 'cancels', away('scheduler')],
    ['so may a run of the modest organisation', 'fair-share', away('gpu-executor')],
  ] as const)('%s', (_, name, more) => {
    const evidence = BROKEN[name];
    expect(evidence && namesOf({ ...evidence, ...more })).not.toContain(name);
    expect(evidence && namesOf({ ...evidence, ...away('notifier') })).toContain(name);
  });

  it('counts no slot for an assignment of a former leader that never began', () => {
    const inTerm = (run: typeof RUN, term: number): RunEvent => assigned(run, { data: { term } });
    const events = [queuedRun(), queued(OTHER), inTerm(RUN, 1), inTerm(OTHER, 2)];
    const orgLimits = { [RUN.org_id]: 1 };
    const soak = aSoak({ events, sharing: { greedy_ids: [], modest_id: '', orgLimits, pools: [] } });
    expect(namesOf(soak)).not.toContain('limits');
  });

  it('shows a deleted run nowhere', () => {
    const deletion = exchange(6.1, { kind: 'deleted', outcome: 'deleted' }, { kind: 'delete_run' });
    const soak = (...exchanges: readonly Exchange[]) =>
      namesOf(aSoak({ events: [...EVENTS, deleted(RUN)], records: { exchanges: [deletion, ...exchanges] } }));
    expect(soak(exchange(7, { kind: 'refused', status: 404, why: 'no' }))).not.toContain('deletions');
    expect(soak(exchange(7, { kind: 'shown', shown: shownAfter(4) }))).toContain('deletions');
  });

  it('may not read the archive of an organisation, and shows a gap, while its objects fail', () => {
    const fault = (more: Partial<ArchiveFault>): Evidence['archive'] => {
      const when = {
        from: second(6),
        to: second(9),
        wrong: 1,
        others: 1,
        missing: new Set([RUN.run_id]),
        replaced: new Set<string>(),
      };
      const faults = [{ kind: 'missing', org_ids: [RUN.org_id], ...when, ...more } as const];
      return { faults, named: [], stillNamed: [], kept: undefined };
    };
    const away = {
      kind: 'refused',
      status: 503,
      why: '{"detail":"The archive, which has the facts of older runs, cannot be read now',
    } as const;
    const gap = { kind: 'history', facts: ['4 RunSucceeded'], hasGap: true } as const;
    for (const answer of [away, gap]) {
      const seen = (more: Partial<ArchiveFault>) =>
        namesOf(aSoak({ archive: fault(more), records: asked(answer, { kind: 'history' }, 7) }));
      expect(seen({})).not.toContain('archive');
      expect(seen({ org_ids: ['another'], missing: new Set() })).toContain('archive');
    }
    const named = [{ at: second(7), org_ids: [RUN.org_id] }];
    expect(namesOf(aSoak({ archive: { ...fault({}), named } }))).not.toContain('archive');
    expect(namesOf(aSoak({ archive: { ...fault({ org_ids: [] }), named } }))).toContain('archive');
  });

  it('ends with an archive that has all facts of each run, and nothing of a deleted one', () => {
    const keeping = (
      kept: readonly number[] | 'damaged',
      events = EVENTS,
      faults: readonly ArchiveFault[] = [],
    ) => {
      const one = kept === 'damaged' ? kept : new Set(kept);
      const archive = { ...NO_ARCHIVE_TROUBLE, faults, stillNamed: [], kept: new Map([[RUN.run_id, one]]) };
      return namesOf(aSoak({ events, archive }));
    };
    expect(keeping([1, 2, 3, 4, 5])).not.toContain('archive');
    expect(keeping([1, 2, 3, 4])).toContain('archive');
    expect(keeping('damaged')).toContain('archive');
    expect(keeping([1, 2, 3, 4, 5], [...EVENTS, deleted(RUN)])).toContain('archive');
    const lost = (at: number, replaced: readonly string[]): readonly ArchiveFault[] => {
      const runs = { missing: new Set([RUN.run_id]), replaced: new Set(replaced) };
      const when = { from: second(at), to: second(9), wrong: 1, others: 1 };
      return [{ kind: 'missing', org_ids: [RUN.org_id], ...when, ...runs }];
    };
    expect(keeping([4, 5], EVENTS, lost(3.5, [RUN.run_id]))).not.toContain('archive');
    expect(keeping([4, 5], EVENTS, lost(2.5, [RUN.run_id]))).toContain('archive');
    expect(keeping([4, 5], EVENTS, lost(3.5, []))).toContain('archive');
  });

  it('reports a violation with the facts of its run and the command that repeats it', () => {
    const evidence = BROKEN['one-result'] ?? aSoak();
    const [first] = violationsIn(evidence);
    const report =
      first && violationReport(first, evidence, { begunAt: BEGUN_AT, command: 'npm run soak -- --seed 1' });
    expect(report).toMatch(/^VIOLATED one-result: .*\nRun .*\n[^]*log +3 RunStarted by [^]*--seed 1$/);
  });
});

describe('what a seed promises', () => {
  it('is broken when a store was never full, or the database lost nothing', () => {
    const promises = { limits: [full(false)], databaseLosesData: true, archive: [], brokerFaults: [] };
    expect(brokenPromises(aSoak({ promises, limits: [full(false)] }))).toEqual([
      'BLOBS full was planned, and never came true.',
      'The database was to lose its data, and kept it.',
    ]);
    expect(
      brokenPromises(aSoak({ promises: { ...promises, databaseLosesData: false }, limits: [full(true)] })),
    ).toEqual([]);
  });

  it('is broken when facts were lost for good, or a broker was never hit', () => {
    const brokerFaults = [{ kind: 'kill', victims: 'leader' }] as const;
    const promises = { limits: [], databaseLosesData: false, archive: [], brokerFaults };
    expect(brokenPromises(aSoak({ promises, unarchived: 7 }))).toEqual([
      'Of the brokers kill leader was planned, and never came true.',
      expect.stringContaining('7 messages left it'),
    ]);
  });

  it('had no effect where a fault changed nothing', () => {
    const missed = [{ part: 'gateway-1', kind: 'kill' }] as const;
    expect(withoutEffect(aSoak({ limits: [full(false)], faults: { ...NO_FAULTS, missed } }))).toEqual(
      expect.arrayContaining(['BLOBS full', 'gateway-1 kill (it was down)']),
    );
  });
});
