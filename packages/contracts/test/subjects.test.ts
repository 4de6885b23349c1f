import { describe, expect, it } from 'vitest';
import { RUN_EVENTS, RUN_EVENT_TYPES } from '../src/run-event.ts';
import { addressedTo, lifecycleOf, parseLifecycleSubject, subjectOf } from '../src/subjects.ts';
import { anEvent, EXECUTOR, ORG, RUN } from './an-event.ts';

const matches = (filter: string, subject: string): boolean => {
  const pattern = filter.split('.').map((token) => (token === '*' ? '[^.]+' : token === '>' ? '.+' : token));
  return new RegExp(`^${pattern.join('\\.')}$`).test(subject);
};

describe('the subject of an event', () => {
  it.each(RUN_EVENT_TYPES)('of %s tells run, fact, writer, attempt and executor', (type) => {
    const event = anEvent(type);
    const subject = subjectOf(event);
    expect(matches(lifecycleOf({ org_id: ORG, run_id: RUN }), subject)).toBe(true);
    expect(parseLifecycleSubject(subject)).toEqual({
      org_id: ORG,
      run_id: RUN,
      fact: RUN_EVENTS[type].fact,
      writer: RUN_EVENTS[type].writer,
      attempt: event.attempt,
      executor_id: event.executor_id,
    });
  });

  it('reaches the executor that it concerns', () => {
    for (const type of ['RunAssigned', 'RunCancelRequested', 'RunRequeued', 'RunTimedOut'] as const) {
      expect(matches(addressedTo(EXECUTOR), subjectOf(anEvent(type))), type).toBe(true);
    }
    expect(matches(addressedTo(EXECUTOR), subjectOf(anEvent('RunQueued')))).toBe(false);
  });

  it('is of a lifecycle fact only when every token is right', () => {
    for (const wrong of [
      `runs.${ORG}.${RUN}.webhook.sent.notifier.1`,
      `runs.${ORG}.not-a-run.life.queued.gateway.0.none`,
      `runs.${ORG.toUpperCase()}.${RUN}.life.queued.gateway.0.none`,
      `runs.${ORG}.${RUN}.life.queued.stranger.0.none`,
      `runs.${ORG}.${RUN}.life.queued.gateway.x.none`,
      `runs.${ORG}.${RUN}.life.queued.gateway.0.none.more`,
      `activity.${ORG}.${RUN}.1.${EXECUTOR}.progress`,
      '',
    ]) {
      expect(parseLifecycleSubject(wrong), wrong).toBeUndefined();
    }
  });
});
