import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { readChain } from '@runledger/contracts/fold/read-chain';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { WEBHOOK_CHAIN } from '@runledger/contracts/fold/webhook';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import {
  lifecycleFilter,
  runEventSubject,
  webhookFilter,
  webhookEventSubject,
  type RunKey,
} from '@runledger/contracts/events/subjects';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import { describe, expect, it } from 'vitest';
import { projectRuns, runsIn } from '../../src/views/fold-run.decide.ts';
import type { StoredView } from '../../src/views/run-view.ts';
import type { RunState } from '@runledger/contracts/fold/run';
import { anOutput } from '../fixtures/runs/an-output.ts';
import { timeOf } from '../fixtures/runs/folded-runs.ts';
import {
  aRun,
  assigned,
  deleted,
  expired,
  outputsDeleted,
  queued,
  started,
  succeeded,
} from '@runledger/testing/run-events';
import {
  redeliveryRequested,
  webhookDelivered,
  webhookExpired,
  webhookGivenUp,
  webhookStarted,
} from '@runledger/testing/webhook-events';

const stored = (
  key: RunKey,
  event: RunEvent,
  sequence: number,
  expected: number,
  changes: Partial<StoredMessage> = {},
): StoredMessage => ({
  subject: runEventSubject(event),
  sequence,
  time: timeOf(sequence),
  fence: lifecycleFilter(key),
  expectedSequence: expected,
  body: event,
  ...changes,
});
const webhookMessage = (
  key: RunKey,
  event: WebhookEvent,
  sequence: number,
  expected: number,
  changes: Partial<StoredMessage> = {},
): StoredMessage => ({
  subject: webhookEventSubject(event),
  sequence,
  time: timeOf(sequence),
  fence: webhookFilter(key),
  expectedSequence: expected,
  body: event,
  ...changes,
});
const project = (present: readonly StoredView[], messages: readonly StoredMessage[]) => {
  const projected = projectRuns(present, messages);
  if (projected.kind !== 'projected') throw new Error(projected.kind);
  return projected;
};

const [one, other] = [aRun(), aRun()];
const messages = [
  stored(one, queued(one), 1, 0),
  stored(other, queued(other), 2, 0),
  stored(one, assigned(one), 3, 1),
  stored(other, assigned(other), 4, 2),
  stored(one, started(one), 5, 3),
  stored(one, succeeded(one), 6, 5),
  webhookMessage(one, webhookStarted(one), 7, 0),
  webhookMessage(one, webhookGivenUp(one), 8, 7),
  webhookMessage(one, redeliveryRequested(one), 9, 8),
];
const ofOne = (chain: string) =>
  messages.filter(({ subject }) => subject.includes(`${one.run_id}.${chain}.`));

describe('a projection of runs', () => {
  it('is the fold of each run, for any batches', () => {
    const whole = readChain(RUN_CHAIN, ofOne('life'));
    const webhook = readChain(WEBHOOK_CHAIN, ofOne('webhook'));
    if (whole.kind !== 'whole' || webhook.kind !== 'whole') throw new Error(whole.kind);
    const { head, state: run } = whole.history;
    const expected = { head, run, webhook: webhook.history };
    expect(expected.webhook).toMatchObject({ head: 9, state: { status: 'running', round: 2 } });
    for (let cut = 0; cut <= messages.length; cut += 1) {
      const first = project([], messages.slice(0, cut));
      const second = project(first.views, messages.slice(cut));
      const views = new Map([...first.views, ...second.views].map((view) => [view.run.run_id, view]));
      expect(views.get(one.run_id)).toEqual(expected);
      expect(views.get(other.run_id)).toMatchObject({ head: 4, run: { status: 'started' } });
    }
  });

  it('has the same views when a batch is repeated', () => {
    const { views } = project([], messages);
    expect(project(views, messages)).toMatchObject({ views, refused: [], gaps: [] });
  });

  it('lists the runs of a batch, each once', () => {
    expect(runsIn(messages)).toEqual([one, other]);
  });

  it('refuses a forged fact and counts it as the head, as the broker does', () => {
    const forged = stored(one, assigned(one), 3, 1, { fence: 'runs.>' });
    const { views, refused } = project([], [...messages.slice(0, 1), forged]);
    expect(views).toMatchObject([{ head: 3, run: { status: 'queued' } }]);
    expect(refused).toEqual([{ message: forged, why: expect.stringContaining('fenced on') }]);
  });

  it('refuses a subject of another form', () => {
    const odd = stored(one, queued(one), 1, 0, { subject: 'runs.a.b.life.queued' });
    expect(project([], [odd]).refused).toHaveLength(1);
  });

  it('reports a run with a gap, and does not change its view', () => {
    const { views, gaps } = project([], [...messages.slice(0, 2), ...messages.slice(4)]);
    expect(views.map(({ run }) => run.run_id)).toEqual([other.run_id]);
    // The last message: what is read instead has to have all of them.
    expect(gaps).toEqual([{ key: one, message: messages.at(-1) }]);
  });

  it('reports a gap when an unknown run is deleted behind other facts, which say what to erase', () => {
    const deletion = stored(other, deleted(other), 9, 6);
    expect(project([], [deletion])).toMatchObject({ views: [], gaps: [{ key: other, message: deletion }] });
    const alone = stored(other, deleted(other), 9, 0);
    expect(project([], [alone])).toMatchObject({ views: [{ run: { status: 'deleted' } }], gaps: [] });
  });

  it('reports a gap when webhook facts belong to an unknown run, or miss one', () => {
    const [first, second] = [
      webhookMessage(other, webhookStarted(other), 7, 0),
      webhookMessage(one, webhookGivenUp(one), 8, 7),
    ];
    expect(project([], [first])).toMatchObject({ views: [], gaps: [{ key: other, message: first }] });
    const { views } = project([], messages.slice(0, 6));
    expect(project(views, [second])).toMatchObject({ views: [], gaps: [{ key: one, message: second }] });
  });

  it('refuses a forged webhook fact, also an impossible one', () => {
    const { views } = project([], messages.slice(0, 6));
    for (const forged of [
      webhookMessage(one, webhookStarted(one), 7, 0, { fence: lifecycleFilter(one) }),
      webhookMessage(one, webhookDelivered(one, 4), 7, 0),
      webhookMessage(one, webhookStarted(one), 7, 0, {
        subject: `${webhookEventSubject(webhookStarted(one))}9`,
      }),
    ]) {
      const { views: after, refused, gaps } = project(views, [forged]);
      expect([refused.map(({ message }) => message), gaps]).toEqual([[forged], []]);
      expect(after).toMatchObject([{ head: 6, webhook: { head: 7, state: undefined } }]);
    }
  });

  it('stops at a webhook fact in a version that it does not know', () => {
    const newer = webhookMessage(one, webhookStarted(one), 7, 0, {
      body: { ...webhookStarted(one), version: 2 },
    });
    expect(projectRuns([], [...messages.slice(0, 6), newer])).toMatchObject({
      kind: 'newer_version',
      type: 'WebhookStarted',
      sequence: 7,
    });
  });

  it('refuses a version that no executor may use', () => {
    const before = [stored(one, queued(one), 1, 0), stored(one, assigned(one), 2, 1)];
    const newer = stored(one, { ...started(one), version: 2 }, 3, 2);
    const { views: after, refused } = project([], [...before, newer]);
    expect(refused).toMatchObject([{ message: newer, why: expect.stringContaining('version 2') as unknown }]);
    expect(after).toMatchObject([{ head: 3 }]);
  });

  it('stops at a version that it does not know', () => {
    const newer = stored(one, { ...queued(one), version: 2 }, 1, 0);
    expect(projectRuns([], [newer])).toMatchObject({ kind: 'newer_version', version: 2, sequence: 1 });
  });
});

describe('a view of another log', () => {
  const ended = project([], messages.slice(0, 6)).views.filter(({ run }) => run.run_id === one.run_id);
  const reset = (view: StoredView): StoredView => ({
    ...view,
    head: 0,
    webhook: { ...view.webhook, head: 0 },
  });

  it('is derived again when the log has its run', () => {
    const { views } = project([], messages);
    const again = views.map(reset);
    expect(project(again, messages.slice(0, 1)).views).toMatchObject([
      { head: 1, run: { status: 'queued' }, webhook: { head: 0, state: undefined } },
    ]);
    expect(project(again, messages).views).toEqual(views);
    const log = [stored(one, expired(one), 11, 7), webhookMessage(one, webhookStarted(one), 12, 0)];
    expect(project(again, log)).toMatchObject({
      views: [{ head: 11, run: { end_reason: 'log_expired' }, webhook: { head: 12, state: { round: 1 } } }],
      refused: [],
      gaps: [],
    });
  });

  it('goes on with the deletion of its outputs', () => {
    const { views, gaps } = project(ended.map(reset), [stored(one, outputsDeleted(one), 9, 0)]);
    expect(views).toMatchObject([{ head: 9, run: { status: 'success', outputs: [], deleted_outputs: {} } }]);
    expect(gaps).toEqual([]);
    const again = views.map(reset);
    expect(project(again, [stored(one, outputsDeleted(one), 9, 0)])).toMatchObject({
      views: [],
      refused: [],
    });
  });

  it('has a gap before a webhook fact while its run is not derived again', () => {
    const delivered = webhookMessage(one, webhookDelivered(one), 9, 0);
    expect(project(ended.map(reset), [delivered])).toMatchObject({
      views: [],
      gaps: [{ message: delivered }],
    });
  });

  it('goes on with the deletion of its run, and knows the files', () => {
    const withFiles = ended.map((view) => ({
      ...view,
      run: { ...view.run, outputs: [anOutput] } as RunState,
    }));
    const { views } = project(withFiles.map(reset), [stored(one, deleted(one), 9, 0)]);
    expect(views).toMatchObject([{ head: 9, run: { status: 'deleted', to_erase: { outputs: [anOutput] } } }]);
  });

  it('goes on with the deletion of its run behind the end of its notification', () => {
    const end = webhookMessage(one, webhookExpired(one), 9, 0);
    const { views } = project(ended.map(reset), [end]);
    // A view with an earlier head of either chain would be taken for a stale one.
    for (const present of [views, ended.map(reset)])
      expect(project(present, [end, stored(one, deleted(one), 10, 6)]).views).toMatchObject([
        { head: 10, run: { status: 'deleted' }, webhook: { head: 9, state: { status: 'failed' } } },
      ]);
  });

  it.each([0, 7])('goes on with the end of its notification, behind %i', (expectedSequence) => {
    for (const before of [undefined, webhookStarted(one)]) {
      const known = before ? project(ended, [webhookMessage(one, before, 7, 0)]).views : ended;
      const end = webhookMessage(one, webhookExpired(one), 9, expectedSequence);
      expect(project(known.map(reset), [end])).toMatchObject({
        views: [{ head: 0, run: { status: 'success' }, webhook: { head: 9, state: { status: 'failed' } } }],
        refused: [],
        gaps: [],
      });
    }
  });
});
