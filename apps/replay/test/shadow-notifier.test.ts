import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SliceFact, SliceHeader } from '@runledger/contracts/slices/slice';
import { parseWebhookSubject } from '@runledger/contracts/events/subjects';
import { writeSlice } from '@runledger/testing/write-slice';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { notifiedSlice } from './fixtures/notified-slice.ts';
import { recordedOptions } from './fixtures/recorded-log.ts';
import { sampleLines, sampleOptions, shadowed } from './fixtures/sample-slice.ts';

type Line = SliceHeader | SliceFact;

const opened = new AsyncDisposableStack();
let folder: string;
beforeAll(async () => {
  folder = opened.use(await mkdtempDisposable(join(tmpdir(), 'runledger-notifier-'))).path;
});
afterAll(() => opened.disposeAsync());

const { lines, runs } = notifiedSlice();

const isFact = (line: Line): line is SliceFact => line.kind === 'fact';
const isOfNotifier = (line: Line): line is SliceFact =>
  isFact(line) && parseWebhookSubject(line.subject)?.writer === 'notifier';
const runOf = ({ subject }: SliceFact): string => subject.split('.')[2] ?? '';
const written = lines.filter(isOfNotifier);

/** What the shadow finds in the slice with each line as `change` makes it; undefined leaves it out. */
const findIn = async (change: (line: Line) => Line | undefined) => {
  const file = join(folder, 'changed.ndjson.zst');
  await writeSlice(
    file,
    lines.flatMap((line) => change(line) ?? []),
  );
  return shadowed(recordedOptions(file, 'notifier'));
};

const withData = (line: SliceFact, data: object): SliceFact => {
  const event = Object(line.event);
  return { ...line, event: { ...event, data: { ...event.data, ...data } } };
};

const attemptOf = (run_id: string, number: number, round = 1): SliceFact => {
  const found = lines.find(
    (line) => isFact(line) && line.subject.endsWith(`${run_id}.attempt.${round}.${number}`),
  );
  if (!found || !isFact(found)) throw new Error('the slice has no such attempt');
  return found;
};

describe('the sample of real services', () => {
  it('has all that a notifier concludes, attempts that failed, and deliveries that waited', async () => {
    const facts = (await sampleLines()).filter((line) => line.kind === 'fact');
    const concluded = facts.filter(({ subject }) => parseWebhookSubject(subject));
    expect(new Set(concluded.map(({ event }) => Object(event).type))).toEqual(
      new Set(['WebhookStarted', 'WebhookDelivered', 'WebhookGivenUp', 'WebhookRedeliveryRequested']),
    );
    const attempted = facts.filter(({ stream }) => stream === 'DELIVERY_ATTEMPTS');
    expect(new Set(attempted.flatMap(({ event }) => Object(event).reason ?? []))).toEqual(
      new Set(['accepted', 'connect_refused', 'gone', 'server_error']),
    );
    expect(new Set(attempted.flatMap(({ event }) => Object(event).state ?? []))).toEqual(
      new Set(['retrying', 'deferred']),
    );
  });

  it('has no decision that the notifier of today makes in another way', async () => {
    const { compared, differences } = await shadowed(await sampleOptions(undefined, ['notifier']));
    expect(differences).toEqual([]);
    expect(compared.compared).toBeGreaterThan(50);
    expect([...compared.notCompared]).toEqual([]);
  });
});

describe('a shadow of the notifier', () => {
  it('finds no difference in what the notifier concluded, deferred and sent again', async () => {
    const { compared, differences } = await findIn((line) => line);
    expect(differences).toEqual([]);
    expect([...compared.notCompared]).toEqual([]);
    // 17 attempts, 7 states between them, and what was written.
    expect(compared.compared).toBe(17 + 7 + written.length);
  });

  it.each(written)('finds that $subject was not recorded', async (fact) => {
    const { differences } = await findIn((line) => (line === fact ? undefined : line));
    const { type } = Object(fact.event);
    expect(differences).toContainEqual(
      expect.objectContaining({
        kind: 'not_recorded',
        run_id: runOf(fact),
        now: expect.objectContaining({ type }),
      }),
    );
  });

  it.each(written.filter(({ event }) => Object(event).type !== 'WebhookStarted'))(
    'finds that $subject has another number of attempts',
    async (fact) => {
      const { differences } = await findIn((line) => (line === fact ? withData(fact, { tries: 7 }) : line));
      expect(differences).toEqual([
        expect.objectContaining({
          kind: 'different',
          differs: ['tries'],
          recorded: expect.objectContaining({ position: fact.sequence }),
        }),
      ]);
    },
  );

  it('finds another reason for giving up', async () => {
    const { differences } = await findIn((line) =>
      isOfNotifier(line) && runOf(line) === runs.gone.run_id
        ? withData(line, { reason: 'tries_used_up' })
        : line,
    );
    expect(differences).toEqual([expect.objectContaining({ kind: 'different', differs: ['reason'] })]);
  });

  it('finds a retry that came before the schedule allows it', async () => {
    const retry = attemptOf(runs.later.run_id, 2);
    const started_at = attemptOf(runs.later.run_id, 1).time;
    const { differences } = await findIn((line) =>
      line === retry ? { ...retry, event: { ...Object(retry.event), started_at } } : line,
    );
    expect(differences).toEqual([expect.objectContaining({ kind: 'different', differs: ['is_due'] })]);
  });

  it('finds a next attempt at a time that the schedule does not have', async () => {
    const next_try_at = attemptOf(runs.later.run_id, 2).time;
    const { differences } = await findIn((line) =>
      isFact(line) && line.subject.endsWith(`${runs.later.run_id}.state`)
        ? { ...line, event: { ...Object(line.event), next_try_at } }
        : line,
    );
    expect(differences).toContainEqual(expect.objectContaining({ kind: 'different', differs: ['is_due'] }));
  });

  it('finds an attempt that was made although the breaker was open', async () => {
    const run = runs.behindBreaker.run_id;
    const [attempt, state] = [
      attemptOf(run, 1),
      lines.find((line) => isFact(line) && line.subject.endsWith(`${run}.state`)),
    ];
    if (!state || !isFact(state)) throw new Error('the slice has no such state');
    const { time } = state;
    const early = { ...attempt, time, event: { ...Object(attempt.event), started_at: time } };
    const { differences } = await findIn((line) =>
      line === state ? early : line === attempt ? undefined : line,
    );
    expect(differences).toContainEqual(
      expect.objectContaining({
        kind: 'not_decided',
        run_id: run,
        why: 'the delivery is deferred: the breaker of its receiver is open',
      }),
    );
  });

  it('finds a notification that was neither sent nor settled', async () => {
    const run = runs.gone.run_id;
    const { differences } = await findIn((line) =>
      isFact(line) && runOf(line) === run && !line.subject.includes('.life.') ? undefined : line,
    );
    expect(differences).toEqual([
      expect.objectContaining({
        kind: 'not_recorded',
        run_id: run,
        now: expect.objectContaining({
          type: 'DeliveryAttempt',
          members: { round: 1, try: 1, is_due: true },
        }),
      }),
    ]);
  });

  it('finds an attempt of a run that has not ended', async () => {
    const run = runs.atOnce.run_id;
    const { differences } = await findIn((line) =>
      isFact(line) && line.subject.includes(`${run}.life.ended`) ? undefined : line,
    );
    expect(differences).toContainEqual(
      expect.objectContaining({ kind: 'not_decided', run_id: run, why: 'there is nothing to send' }),
    );
  });

  it('does not compare what follows from an outcome that the slice does not have', async () => {
    const missing = attemptOf(runs.atOnce.run_id, 1);
    const { compared, differences } = await findIn((line) => (line === missing ? undefined : line));
    expect(differences).toEqual([]);
    expect([...compared.notCompared]).toEqual([
      ['the slice does not have the outcome of its last attempt', 1],
    ]);
  });

  it('does not compare notifications of runs that are older than the slice', async () => {
    const run = runs.gone.run_id;
    const { compared, differences } = await findIn((line) =>
      isFact(line) && line.subject.includes(`${run}.life.queued`) ? undefined : line,
    );
    expect(differences).toEqual([]);
    expect([...compared.notCompared]).toEqual([['the slice does not have the beginning of its run', 2]]);
  });
});
