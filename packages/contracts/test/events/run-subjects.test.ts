import { describe, expect, it } from 'vitest';
import { executorName } from '../../src/ids.ts';
import { followsEnd, RUN_EVENTS, RUN_EVENT_TYPES } from '../../src/events/run-event.ts';
import {
  executorFilter,
  ALL_LIFECYCLES,
  ALL_REDELIVERY_REQUESTS,
  ALL_WEBHOOKS,
  lifecycleFilter,
  parseLifecycleSubject,
  parseWebhookSubject,
  runOfSubject,
  runFilter,
  runEventSubject,
  attemptSubjects,
  webhookFilter,
  webhookEventSubject,
  matchesFilter,
} from '../../src/events/subjects.ts';
import {
  ALL_PROGRESS,
  parseProgressSubject,
  progressFilter,
  progressSubject,
} from '../../src/events/progress.ts';
import { WEBHOOK_EVENTS, WEBHOOK_EVENT_TYPES } from '../../src/events/webhook-event.ts';
import { anEvent, EXECUTOR, ORG, RUN } from '../fixtures/run-events.ts';
import { aWebhookEvent } from '../fixtures/webhook-events.ts';

const KEY = { org_id: ORG, run_id: RUN };
const ANOTHER = '01920000-0000-7000-8000-0000000000ff';

describe('the subject of an event', () => {
  it.each(RUN_EVENT_TYPES)('of %s contains run, fact, writer, attempt and executor', (type) => {
    const event = anEvent(type);
    const subject = runEventSubject(event);
    expect(matchesFilter(lifecycleFilter({ org_id: ORG, run_id: RUN }), subject)).toBe(true);
    expect(parseLifecycleSubject(subject)).toEqual({
      org_id: ORG,
      run_id: RUN,
      fact: RUN_EVENTS[type].fact,
      writer: RUN_EVENTS[type].writer,
      attempt: event.attempt,
      executor_id: event.executor_id,
    });
  });

  it('matches the filter of the executor that it concerns', () => {
    for (const type of ['RunAssigned', 'RunCancelRequested', 'RunRequeued', 'RunTimedOut'] as const) {
      expect(matchesFilter(executorFilter(EXECUTOR), runEventSubject(anEvent(type))), type).toBe(true);
    }
    expect(matchesFilter(executorFilter(EXECUTOR), runEventSubject(anEvent('RunQueued')))).toBe(false);
  });

  it('contains the name of the executor as a token, so that the broker can permit a name its own subjects', () => {
    const own = `runs.*.*.life.*.executor.*.${executorName(EXECUTOR)}.*`;
    expect(matchesFilter(own, runEventSubject(anEvent('RunStarted')))).toBe(true);
    expect(matchesFilter(own, runEventSubject(anEvent('RunAssigned')))).toBe(false);
  });

  it('is among those that the executor of its attempt may read', () => {
    const types = RUN_EVENT_TYPES.filter(
      (type) => type !== 'RunQueued' && type !== 'RunAssigned' && !followsEnd(RUN_EVENTS[type].fact),
    );
    const subjects = attemptSubjects({ ...KEY, attempt: 1, executor_id: EXECUTOR });
    expect(new Set(subjects)).toEqual(new Set(types.map((type) => runEventSubject(anEvent(type)))));
    for (const subject of subjects)
      expect(matchesFilter(executorFilter(EXECUTOR), subject), subject).toBe(true);
  });

  it('is parsed as one of a lifecycle fact only if every token is valid', () => {
    for (const wrong of [
      `runs.${ORG}.${RUN}.webhook.sent.notifier.1`,
      `runs.${ORG}.not-a-run.life.queued.gateway.0.none`,
      `runs.${ORG.toUpperCase()}.${RUN}.life.queued.gateway.0.none`,
      `runs.${ORG}.${RUN}.life.queued.stranger.0.none`,
      `runs.${ORG}.${RUN}.life.queued.gateway.x.none`,
      `runs.${ORG}.${RUN}.life.queued.gateway.0`,
      `runs.${ORG}.${RUN}.life.queued.gateway.0.`,
      `runs.${ORG}.${RUN}.life.queued.gateway.0.box.`,
      `runs.${ORG}.${RUN}.life.queued.gateway.0.box.0a1b2c3d4e5f.more`,
      `activity.${ORG}.${RUN}.1.${EXECUTOR}.progress`,
      '',
    ]) {
      expect(parseLifecycleSubject(wrong), wrong).toBeUndefined();
    }
  });
});

describe('the subject of a webhook event', () => {
  it.each(WEBHOOK_EVENT_TYPES)('of %s contains run, fact, writer and round', (type) => {
    const subject = webhookEventSubject(aWebhookEvent(type, 3));
    expect(parseWebhookSubject(subject)).toEqual({
      org_id: ORG,
      run_id: RUN,
      fact: WEBHOOK_EVENTS[type].fact,
      writer: WEBHOOK_EVENTS[type].writer,
      round: 3,
    });
  });

  it.each(WEBHOOK_EVENT_TYPES)(
    'of %s lies under the webhook filter of its run, and not under the lifecycle filter',
    (type) => {
      const subject = webhookEventSubject(aWebhookEvent(type));
      for (const filter of [webhookFilter(KEY), runFilter(KEY), ALL_WEBHOOKS]) {
        expect(matchesFilter(filter, subject), filter).toBe(true);
      }
      for (const filter of [lifecycleFilter(KEY), ALL_LIFECYCLES, `runs.${ORG}.${ANOTHER}.>`]) {
        expect(matchesFilter(filter, subject), filter).toBe(false);
      }
      expect(parseLifecycleSubject(subject)).toBeUndefined();
    },
  );

  it('of a lifecycle event matches no filter of webhook facts', () => {
    for (const filter of [webhookFilter(KEY), ALL_WEBHOOKS]) {
      expect(matchesFilter(filter, runEventSubject(anEvent('RunQueued'))), filter).toBe(false);
    }
    expect(matchesFilter(runFilter(KEY), runEventSubject(anEvent('RunQueued')))).toBe(true);
    expect(matchesFilter(ALL_LIFECYCLES, runEventSubject(anEvent('RunQueued')))).toBe(true);
  });

  it('matches the filter of redelivery requests only for a redelivery request', () => {
    const asked = WEBHOOK_EVENT_TYPES.filter((type) =>
      matchesFilter(ALL_REDELIVERY_REQUESTS, webhookEventSubject(aWebhookEvent(type))),
    );
    expect(asked).toEqual(['WebhookRedeliveryRequested']);
  });

  it('is parsed as one of a webhook fact only if every token is valid', () => {
    for (const wrong of [
      runEventSubject(anEvent('RunQueued')),
      `runs.${ORG}.not-a-run.webhook.started.notifier.1`,
      `runs.${ORG.toUpperCase()}.${RUN}.webhook.started.notifier.1`,
      `runs.${ORG}.${RUN}.webhook.started.stranger.1`,
      `runs.${ORG}.${RUN}.webhook.started.notifier`,
      `runs.${ORG}.${RUN}.webhook.started.notifier.x`,
      `runs.${ORG}.${RUN}.webhook.started.notifier.1234567`,
      `runs.${ORG}.${RUN}.webhook.started.notifier.1.more`,
      `runs.${ORG}.${RUN}.webhook..notifier.1`,
      `delivery_attempts.${ORG}.${RUN}.webhook.started.notifier.1`,
      '',
    ]) {
      expect(parseWebhookSubject(wrong), wrong).toBeUndefined();
    }
  });
});

describe('the subject of progress', () => {
  it('contains run, attempt and executor', () => {
    const subject = progressSubject(KEY, 12, EXECUTOR);
    expect(matchesFilter(progressFilter(KEY), subject)).toBe(true);
    expect(matchesFilter(ALL_PROGRESS, subject)).toBe(true);
    expect(parseProgressSubject(subject)).toEqual({
      org_id: ORG,
      run_id: RUN,
      attempt: 12,
      executor_id: EXECUTOR,
    });
  });

  it('is parsed only if every token is valid', () => {
    for (const wrong of [
      `activity.${ORG}.${RUN}.1.${EXECUTOR}`,
      `activity.${ORG}.${RUN}.1.${EXECUTOR}.`,
      `activity.${ORG}.${RUN}.1.${EXECUTOR}.progress.more`,
      `activity.${ORG}.${RUN}.1.none.progress`,
      `activity.${ORG}.${RUN}.x.${EXECUTOR}.progress`,
      `activity.${ORG}.not-a-run.1.${EXECUTOR}.progress`,
      `activity.not-an-org.${RUN}.1.${EXECUTOR}.progress`,
      `runs.${ORG}.${RUN}.1.${EXECUTOR}.progress`,
      '',
    ]) {
      expect(parseProgressSubject(wrong), wrong).toBeUndefined();
    }
  });
});

describe('the run of a message', () => {
  it('is found in every subject of RUNS, also in an invalid one', () => {
    for (const subject of [
      runEventSubject(anEvent('RunQueued')),
      webhookEventSubject(aWebhookEvent('WebhookStarted')),
      `runs.${ORG}.${RUN}.nonsense`,
    ]) {
      expect(runOfSubject(subject), subject).toEqual(KEY);
    }
  });

  it('is not found in other subjects', () => {
    for (const subject of [`runs.${ORG}`, `runs.x.${RUN}.life`, `activity.${ORG}.${RUN}.1`, 'runs', '']) {
      expect(runOfSubject(subject), subject).toBeUndefined();
    }
  });
});
