import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { lifecycleFilter, runEventSubject, webhookEventSubject } from '@runledger/contracts/events/subjects';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import * as run from '@runledger/testing/run-events';
import * as webhook from '@runledger/testing/webhook-events';
import { describe, expect, it } from 'vitest';
import { runNotice } from '../src/webhook-targets.ts';

const key = run.aRun();

const message = (subject: string, body: unknown): StoredMessage => ({
  subject,
  sequence: 7,
  time: '2026-01-01T00:00:00.000Z',
  fence: lifecycleFilter(key),
  expectedSequence: 0,
  body,
});
const stored = (event: RunEvent): StoredMessage => message(runEventSubject(event), event);
const storedWebhook = (event: WebhookEvent): StoredMessage => message(webhookEventSubject(event), event);

describe('a message of RUNS', () => {
  it('names the webhook when a run was queued', () => {
    const wanting = run.queued(key, { webhook: 'https://a.example/hook', webhook_intermediate_status: true });
    expect(runNotice(stored(wanting))).toEqual({
      type: 'run_changed',
      key,
      target: {
        origin: 'https://a.example',
        intermediate: true,
        oldestFactAt: Date.parse('2026-01-01T00:00:00.000Z'),
      },
    });
    expect(runNotice(stored(run.queued(key)))).toEqual({ type: 'run_changed', key, target: null });
  });

  it('names the webhook of a run that outlived the log, and when that was written', () => {
    const request = run.runRequest({ webhook: 'https://a.example/hook' });
    const { target } = { target: undefined, ...runNotice(stored(run.expired(key, { request }))) };
    expect(target).toMatchObject({
      origin: 'https://a.example',
      oldestFactAt: Date.parse('2026-01-01T00:00:00.000Z'),
    });
  });

  it.each([undefined, 'nonsense', {}, { ...run.queued(key), version: 99 }])(
    'names no webhook when the content is %j',
    (body) => {
      expect(runNotice({ ...stored(run.queued(key)), body })).toEqual({ type: 'run_changed', key });
    },
  );

  it.each([
    ['not the first of its run', { expectedSequence: 3 }],
    ['not fenced', { fence: null }],
    ['fenced on another run', { fence: lifecycleFilter(run.aRun()) }],
    [
      'stored under the subject of an executor',
      { subject: `runs.${key.org_id}.${key.run_id}.life.queued.executor.1.${run.EXECUTOR}` },
    ],
  ])('names no webhook when it is forged, since it is %s', (_, forged) => {
    const wanting = stored(run.queued(key, { webhook: 'https://a.example/hook' }));
    expect(runNotice({ ...wanting, ...forged })).toEqual({ type: 'run_changed', key });
  });

  it.each([
    run.assigned(key),
    run.started(key),
    run.uploading(key),
    run.requeued(key),
    run.cancelRequested(key, 1, run.EXECUTOR),
  ])('reports a change when it is $type of an attempt', (event) => {
    expect(runNotice(stored(event))).toEqual({ type: 'run_changed', key });
  });

  it.each([
    run.succeeded(key),
    run.failed(key),
    run.cancelled(key),
    run.timedOut(key, 'start_deadline'),
    run.givenUp(key, 'executor_lost'),
    run.cancelRequested(key),
  ])('reports the end when it is $type', (event) => {
    expect(runNotice(stored(event))).toEqual({ type: 'run_ended', key });
  });

  it('reports a requested redelivery, and its round', () => {
    expect(runNotice(storedWebhook(webhook.redeliveryRequested(key, 3)))).toEqual({
      type: 'redelivery_requested',
      key,
      round: 3,
    });
  });

  it.each([webhook.webhookStarted(key), webhook.webhookDelivered(key), webhook.webhookGivenUp(key)])(
    "is ignored when it is the notifier's own $type",
    (event) => {
      expect(runNotice(storedWebhook(event))).toBeUndefined();
    },
  );

  it.each(['', 'runs', 'runs.a.b.life.ended.executor.1.none', 'fleet.box.lost', 'runs.>'])(
    'is ignored under the subject %j',
    (subject) => {
      expect(runNotice(message(subject, run.succeeded(key)))).toBeUndefined();
    },
  );
});
