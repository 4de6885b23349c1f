import type { RunEvent, RunEventOf } from '@runledger/contracts/events/run-event';
import type { ErasedContent } from '@runledger/contracts/events/run-event-data';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import { newUuid } from '@runledger/contracts/ids';
import type { SliceContent, SliceFact } from '@runledger/contracts/slices/slice';
import type { RunKey } from '@runledger/contracts/events/subjects';
import {
  anAttempt,
  aRun,
  assigned,
  cancelRequested,
  EXECUTOR,
  expired,
  outputsDeleted,
  queued,
  runEvent,
  runRequest,
  started,
  succeeded,
  timedOut,
} from '@runledger/testing/run-events';
import {
  redeliveryRequested,
  webhookDelivered,
  webhookExpired,
  webhookStarted,
} from '@runledger/testing/webhook-events';
import { describe, expect, it } from 'vitest';
import { KnownRuns } from '../src/gateway/known-runs.ts';
import { playSlice } from '../src/play-slice.ts';
import { RecordedLog, shadowOfLines, timeOf } from './fixtures/recorded-log.ts';
import { sampleOptions } from './fixtures/sample-slice.ts';

type Fact = RunEvent | WebhookEvent;
type Facts = (run: RunKey) => readonly Fact[];
type Request = Partial<RunEventOf<'RunQueued'>['data']>;

/** The run is queued at this second, as its first fact. */
const QUEUED_AT = 1;
const WITH_WEBHOOK = { webhook: 'https://receiver.invalid/' };

/** What the shadow finds in a run that is queued, and goes on as `facts` say, one a second. */
const shadowOfRun = (facts: Facts, request: Request = {}, content?: SliceContent) => {
  const log = new RecordedLog();
  const run = aRun();
  [queued(run, request), ...facts(run)].forEach((event, n) => log.fact(QUEUED_AT + n, event));
  const lines = log.lines();
  return shadowOfLines(
    lines.map((line) => (content && line.kind === 'header' ? { ...line, content } : line)),
    'gateway',
  );
};

const NOTHING: ErasedContent = { files: 0, file_bytes: 0, inputs_bytes: 0, outputs_bytes: 0, log_bytes: 0 };

const runDeleted = (
  run: RunKey,
  {
    erases = NOTHING,
    number = 1,
    attempt = 0,
  }: Partial<Record<'number' | 'attempt', number>> & {
    readonly erases?: ErasedContent;
  } = {},
): RunEvent => {
  const by = { user_id: newUuid(), key_id: newUuid() };
  const data = { ...by, erases, number, created_at: timeOf(QUEUED_AT) };
  return runEvent('RunDeleted', run, { attempt, data });
};

/** Queues another run with the settings of this one. */
const queuedAgain = (origin: RunKey, settings: Request = {}): RunEvent =>
  queued(aRun(origin.org_id), {
    origin: 'replay',
    rerun_of: origin.run_id,
    user_id: newUuid(),
    number: 7,
    inputs: { size: 1_024 },
    ...settings,
  });

const ended = (run: RunKey): RunEvent => timedOut(run, 'start_deadline');
const executing = (run: RunKey): RunEvent[] => [assigned(run), started(run)];
const attemptInLog = { ...anAttempt(), assigned_at: timeOf(QUEUED_AT + 1) };
const leftTheLog = (run: RunKey, data: Partial<RunEventOf<'RunExpired'>['data']> = {}): RunEvent =>
  expired(run, {
    request: runRequest(),
    created_at: timeOf(QUEUED_AT),
    queued_at: timeOf(QUEUED_AT),
    started_at: timeOf(QUEUED_AT + 2),
    cold_start_s: 0,
    attempt: attemptInLog,
    ...data,
  });

it('the sample of real services has no decision that gateways of today make in another way', async () => {
  const recorded: string[] = [];
  for await (const { verdicts } of playSlice(await sampleOptions(undefined, ['gateway'])))
    for (const verdict of verdicts) {
      expect(verdict).toMatchObject({ kind: 'equal' });
      recorded.push(Object(verdict).recorded.type);
    }
  expect(recorded.toSorted()).toEqual([
    ...Array.from({ length: 3 }, () => 'RunCancelRequested'),
    'RunDeleted',
    'RunOutputsDeleted',
    'RunQueued',
    'WebhookRedeliveryRequested',
  ]);
});

describe('a shadow of the gateways', () => {
  it.each<[string, number, Facts, Request]>([
    ['is cancelled before it begins', 1, (run) => [cancelRequested(run)], {}],
    ['is cancelled', 1, (run) => [...executing(run), cancelRequested(run, 1, EXECUTOR)], {}],
    ['is deleted after its outputs', 2, (run) => [ended(run), outputsDeleted(run, 0), runDeleted(run)], {}],
    [
      'is notified twice, and deleted',
      2,
      (run) => [
        ended(run),
        webhookDelivered(run),
        redeliveryRequested(run),
        webhookDelivered(run, 2),
        runDeleted(run),
      ],
      WITH_WEBHOOK,
    ],
    ['is queued again', 1, (run) => [queuedAgain(run, { priority: 3 })], { priority: 3, delay_s: 20 }],
    ['leaves the log', 1, (run) => [...executing(run), leftTheLog(run)], {}],
  ])('finds no difference in a run that %s', async (_, decisions, facts, request) => {
    const { compared, differences } = await shadowOfRun(facts, request);
    expect(differences).toEqual([]);
    expect(compared.compared).toBe(decisions);
    expect([...compared.notCompared]).toEqual([]);
  });

  it.each<[string, Facts, Request]>([
    ['of a cancel after the end', (run) => [ended(run), cancelRequested(run)], {}],
    [
      'of a second cancel',
      (run) => [...executing(run), cancelRequested(run, 1, EXECUTOR), cancelRequested(run, 1, EXECUTOR)],
      {},
    ],
    ['of a deletion before the end', (run) => [...executing(run), runDeleted(run, { attempt: 1 })], {}],
    [
      'of a deletion before the notification is settled',
      (run) => [ended(run), webhookStarted(run), runDeleted(run)],
      WITH_WEBHOOK,
    ],
    ['of deleting outputs twice', (run) => [ended(run), outputsDeleted(run, 0), outputsDeleted(run, 0)], {}],
    [
      'of deleting outputs of a deleted run',
      (run) => [ended(run), runDeleted(run), outputsDeleted(run, 0)],
      {},
    ],
    ['of a redelivery without a webhook', (run) => [ended(run), redeliveryRequested(run)], {}],
    ['of an end of a run that has ended', (run) => [...executing(run), succeeded(run), leftTheLog(run)], {}],
  ])('finds that a gateway decides nothing, %s', async (_, facts, request) => {
    const { differences } = await shadowOfRun(facts, request);
    expect(differences).toEqual([
      expect.objectContaining({ kind: 'not_decided', why: expect.stringMatching(/^the run is /) }),
    ]);
  });

  it.each<[string, string, Facts, Request]>([
    [
      'a cancel request that is addressed to nobody',
      'attempt executor_id',
      (run) => [...executing(run), cancelRequested(run)],
      {},
    ],
    ['another number of a deleted run', 'number', (run) => [ended(run), runDeleted(run, { number: 9 })], {}],
    [
      'another round',
      'round',
      (run) => [ended(run), webhookDelivered(run), redeliveryRequested(run, 3)],
      WITH_WEBHOOK,
    ],
    [
      'other settings of a run that is queued again',
      'priority',
      (run) => [queuedAgain(run)],
      { priority: 3 },
    ],
    [
      'another history of a run that left the log',
      'cold_start_s',
      (run) => [...executing(run), leftTheLog(run, { cold_start_s: 5 })],
      {},
    ],
  ])('finds %s', async (_, differs, facts, request) => {
    const { differences } = await shadowOfRun(facts, request);
    expect(differences).toEqual([
      expect.objectContaining({ kind: 'different', differs: differs.split(' ') }),
    ]);
  });

  it('compares how much a deletion erases as far as the slice has the content', async () => {
    const request = { inputs: null, inputs_blob: { sha256: 'a'.repeat(64), bytes: 5_000 } };
    const erasing = (inputs_bytes: number, content?: SliceContent) =>
      shadowOfRun(
        (run) => [ended(run), runDeleted(run, { erases: { ...NOTHING, inputs_bytes } })],
        request,
        content,
      );
    const kept = { kept: ['inputs'], masked: {} } satisfies SliceContent;
    expect((await erasing(5_000, kept)).differences).toEqual([]);
    expect((await erasing(4_000, kept)).differences).toEqual([
      expect.objectContaining({ kind: 'different', differs: ['erases'] }),
    ]);
    expect((await erasing(4_000)).differences).toEqual([]);
  });

  it.each<[string, Facts, Request]>([
    [
      'the slice does not say what the log had lost',
      (run) => [ended(run), webhookExpired(run)],
      WITH_WEBHOOK,
    ],
    [
      'the slice does not have the beginning of the run, or many others have ended since its end',
      (run) => [queuedAgain(aRun(run.org_id))],
      {},
    ],
  ])('does not compare what is unknown: %s', async (why, facts, request) => {
    const { compared, differences } = await shadowOfRun(facts, request);
    expect(differences).toEqual([]);
    expect([...compared.notCompared]).toEqual([[why, 1]]);
  });
});

it('of runs that have ended only the last ones are remembered, and all that have not', () => {
  const log = new RecordedLog();
  const open = aRun();
  log.fact(0, queued(open));
  const over = [1, 2, 3].map((s) => log.ended(s, 'good'));
  const runs = new KnownRuns(2);
  for (const line of log.lines()) if (isFact(line)) runs.take(line);
  expect([open, ...over].map(({ run_id }) => runs.get(run_id)?.life.state?.status)).toEqual([
    'queued',
    undefined,
    'timeout',
    'timeout',
  ]);
});

const isFact = (line: { readonly kind: string }): line is SliceFact => line.kind === 'fact';
