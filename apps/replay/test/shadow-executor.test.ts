import type { RunEvent, RunEventOf } from '@runledger/contracts/events/run-event';
import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import type { RunKey } from '@runledger/contracts/events/subjects';
import {
  aRun,
  assigned,
  cancelled,
  cancelRequested,
  EXECUTOR,
  failed,
  OTHER_EXECUTOR,
  queued,
  runEvent,
  started,
  succeeded,
  timedOut,
  uploading,
} from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { RecordedLog, shadowOfLines } from './fixtures/recorded-log.ts';
import { sampleLines, sampleOptions, shadowed } from './fixtures/sample-slice.ts';

const shadowOf = (log: RecordedLog) => shadowOfLines(log.lines(), 'gpu-executor');

type Facts = (run: RunKey) => readonly RunEvent[];
type Assignment = Partial<RunEventOf<'RunAssigned'>['data']>;

/** What the shadow finds in a run that is assigned, and goes on as `facts` say. */
const shadowOfRun = (facts: Facts, assignment: Assignment = {}) => {
  const log = new RecordedLog();
  const run = aRun();
  const all = [queued(run), assigned(run, { data: assignment }), ...facts(run)];
  all.forEach((event, n) => log.fact(1 + n, event));
  return shadowOf(log);
};

const attemptFailed = (
  run: RunKey,
  retry_after_s: number,
  { error = errorOf('crashed', ''), attempt = 1, ...more }: AttemptFailure = {},
): RunEvent => {
  const data = { error, retry_after_s, ...more };
  return runEvent('RunAttemptFailed', run, { attempt, executor: EXECUTOR, data });
};

interface AttemptFailure {
  readonly error?: AttemptError;
  readonly attempt?: number;
  readonly is_void?: true;
}

const VOID = { is_void: true, error: errorOf('not_runnable', '') } as const;
const ON_CRASH = { retry_on: ['crashed'] } satisfies Assignment;

describe('the sample of real services', () => {
  it('has no decision that executors of today make in another way', async () => {
    const { compared, differences } = await shadowed(await sampleOptions(undefined, ['gpu-executor']));
    const stored = (await sampleLines()).filter(
      (line) => line.kind === 'fact' && /\.life\.[a-z_]+\.executor\./.test(line.subject),
    );
    expect(differences).toEqual([]);
    expect(compared.compared).toBe(stored.length);
    expect(stored.length).toBeGreaterThan(90);
    expect([...compared.notCompared]).toEqual([]);
  });
});

describe('a shadow of the executors', () => {
  it.each<[string, Facts, Assignment]>([
    ['succeeds after it stored files', (run) => [started(run), uploading(run), succeeded(run)], {}],
    ['fails', (run) => [started(run), failed(run)], ON_CRASH],
    ['fails before it begins', (run) => [failed(run, 'not_runnable')], {}],
    ['fails, and may be tried again', (run) => [started(run), attemptFailed(run, 1.5)], ON_CRASH],
    [
      'finds a store full, and may be tried again',
      (run) => [
        started(run),
        uploading(run),
        attemptFailed(run, 1.5, { error: errorOf('storage_full', '') }),
      ],
      { retry_on: ['storage_full'] },
    ],
    ['is cancelled', (run) => [started(run), cancelRequested(run, 1, EXECUTOR), cancelled(run)], {}],
    ['is cancelled before it begins', (run) => [cancelRequested(run, 1, EXECUTOR), cancelled(run)], {}],
    ['is ended by the scheduler', (run) => [started(run), timedOut(run, 'run_timeout', 1, EXECUTOR)], {}],
  ])('finds no difference in an attempt that %s', async (_, facts, assignment) => {
    const { compared, differences } = await shadowOfRun(facts, assignment);
    expect(differences).toEqual([]);
    expect(compared.compared).toBeGreaterThan(0);
    expect([...compared.notCompared]).toEqual([]);
  });

  it('finds another end than cancelled after a cancel request, and goes on with what was recorded', async () => {
    const { compared, differences } = await shadowOfRun((run) => [
      started(run),
      cancelRequested(run, 1, EXECUTOR),
      succeeded(run),
      cancelled(run),
    ]);
    expect(differences).toEqual([
      expect.objectContaining({
        kind: 'different',
        differs: ['type'],
        recorded: expect.objectContaining({ type: 'RunSucceeded' }),
        now: expect.objectContaining({ type: 'RunCancelled' }),
      }),
    ]);
    expect(compared.compared).toBe(3);
  });

  it.each<[string, Facts, Assignment, string, string]>([
    [
      'a run that failed although another attempt was due',
      (run) => [failed(run, 'crashed')],
      ON_CRASH,
      'RunFailed',
      'RunAttemptFailed',
    ],
    [
      'another attempt that the deployment does not have',
      (run) => [attemptFailed(run, 1.5)],
      {},
      'RunAttemptFailed',
      'RunFailed',
    ],
    [
      'another attempt after an error that is the same each time',
      (run) => [attemptFailed(run, 1.5, { error: errorOf('crashed', '', { retryable: false }) })],
      ON_CRASH,
      'RunAttemptFailed',
      'RunFailed',
    ],
  ])('finds %s', async (_, facts, assignment, recorded, now) => {
    const { differences } = await shadowOfRun(facts, assignment);
    expect(differences).toEqual([
      expect.objectContaining({
        kind: 'different',
        differs: ['type'],
        recorded: expect.objectContaining({ type: recorded }),
        now: expect.objectContaining({ type: now }),
      }),
    ]);
  });

  it('finds a delay that chance cannot have made', async () => {
    for (const delay of [1, 1.703, 2])
      expect((await shadowOfRun((run) => [attemptFailed(run, delay)], ON_CRASH)).differences).toEqual([]);
    for (const delay of [0.999, 2.001])
      expect((await shadowOfRun((run) => [attemptFailed(run, delay)], ON_CRASH)).differences).toEqual([
        expect.objectContaining({
          kind: 'different',
          differs: ['retry_after_s'],
          recorded: expect.objectContaining({ members: expect.objectContaining({ retry_after_s: delay }) }),
          now: expect.objectContaining({
            members: expect.objectContaining({ retry_after_s: { from: 1, to: 2 } }),
          }),
        }),
      ]);
  });

  it.each<[string, Facts]>([
    ['began after a cancel request', (run) => [cancelRequested(run, 1, EXECUTOR), started(run)]],
    ['began twice', (run) => [started(run), started(run)]],
    ['stores files before it began', (run) => [uploading(run)]],
    ['was cancelled although nobody requested it', (run) => [started(run), cancelled(run)]],
    ['was over', (run) => [started(run), succeeded(run), failed(run)]],
    ['is the one of another executor', (run) => [started(run, 1, OTHER_EXECUTOR)]],
    ['was not assigned yet', (run) => [started(run, 2)]],
  ])('finds that nothing is decided for an attempt that %s', async (_, facts) => {
    const { differences } = await shadowOfRun(facts);
    expect(differences).toEqual([
      expect.objectContaining({ kind: 'not_decided', why: expect.stringMatching(/attempt/) }),
    ]);
  });

  it('does not compare an attempt that was assigned before the slice', async () => {
    const log = new RecordedLog();
    const run = aRun();
    log.fact(1, started(run));
    log.fact(2, succeeded(run));
    const { compared, differences } = await shadowOf(log);
    expect(differences).toEqual([]);
    expect([...compared.notCompared]).toEqual([['the slice does not have the assignment of its attempt', 2]]);
  });

  it('does not compare what a bug of the executor may have ended', async () => {
    const { compared, differences } = await shadowOfRun((run) => [failed(run, 'internal_error')], {
      retry_on: ['internal_error'],
    });
    expect(differences).toEqual([]);
    expect([...compared.notCompared]).toEqual([
      ['the slice does not say whether a bug of the executor ended the attempt', 1],
    ]);
  });
});

describe('an assignment of a former leader', () => {
  /** An executor, perhaps registered again after the second scheduler began to lead, gets a run from the first. */
  const formerly = (facts: Facts, { terms = 2, registersAgain = false } = {}) => {
    const log = new RecordedLog();
    const term = log.term(1);
    log.registered(2, EXECUTOR);
    if (terms > 1) log.term(3);
    if (registersAgain) log.registered(4, EXECUTOR);
    const run = aRun();
    const all = [queued(run), assigned(run, { data: { term, ...ON_CRASH } }), ...facts(run)];
    all.forEach((event, n) => log.fact(5 + n, event));
    return shadowOf(log);
  };
  const givenBack: Facts = (run) => [attemptFailed(run, 0, VOID)];
  const executed: Facts = (run) => [started(run), succeeded(run)];

  it('is given back by an executor that registered since', async () => {
    const returned = await formerly(givenBack, { registersAgain: true });
    expect(returned.differences).toEqual([]);
    expect(returned.compared.compared).toBe(1);
    const { differences } = await formerly(executed, { registersAgain: true });
    expect(differences).toEqual([
      expect.objectContaining({
        kind: 'different',
        differs: ['type'],
        recorded: expect.objectContaining({ type: 'RunStarted' }),
        now: expect.objectContaining({ type: 'RunAttemptFailed' }),
      }),
    ]);
  });

  it('is void or not for the others, as the record shows: the slice does not have what they are told', async () => {
    expect((await formerly(givenBack)).differences).toEqual([]);
    expect((await formerly(executed)).differences).toEqual([]);
  });

  it('is not void as long as no other one leads', async () => {
    expect((await formerly(executed, { terms: 1, registersAgain: true })).differences).toEqual([]);
    expect((await formerly(givenBack, { terms: 1, registersAgain: true })).differences).toEqual([
      expect.objectContaining({
        kind: 'not_decided',
        why: 'the attempt is started, no cancel was requested, and its assignment is not void',
      }),
    ]);
  });

  it('is queued again at once', async () => {
    const { differences } = await formerly((run) => [attemptFailed(run, 3, VOID)]);
    expect(differences).toEqual([expect.objectContaining({ kind: 'different', differs: ['retry_after_s'] })]);
  });
});
