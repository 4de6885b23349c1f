import { describe, expect, it } from 'vitest';
import {
  deliveryAttemptsOfRun,
  deliveryAttemptSubject,
  deliveryStateSubject,
  runOfDeliverySubject,
  withoutPath,
  withoutQuery,
} from '../../src/deliveries/delivery-attempts.ts';
import { ORG, RUN } from '../fixtures/run-events.ts';
import { matchesFilter } from '../../src/events/subjects.ts';

describe('the subjects of delivery attempts', () => {
  const key = { org_id: ORG, run_id: RUN };

  it('are one for each attempt of the final notification, and one for all intermediate notifications', () => {
    expect(deliveryAttemptSubject(key, { notification: 'final', round: 2, try: 13 })).toBe(
      `delivery_attempts.${ORG}.${RUN}.attempt.2.13`,
    );
    expect(deliveryAttemptSubject(key, { notification: 'intermediate', round: 1, try: 1 })).toBe(
      deliveryAttemptSubject(key, { notification: 'intermediate', round: 1, try: 2 }),
    );
  });

  it('lie under the subject of the run, and name the run', () => {
    for (const subject of [
      deliveryAttemptSubject(key, { notification: 'final', round: 1, try: 1 }),
      deliveryAttemptSubject(key, { notification: 'intermediate', round: 1, try: 1 }),
      deliveryStateSubject(key),
    ]) {
      expect(matchesFilter(deliveryAttemptsOfRun(key), subject), subject).toBe(true);
      expect(runOfDeliverySubject(subject), subject).toEqual(key);
    }
  });

  it('of another form name no run', () => {
    for (const wrong of [
      `delivery_attempts.${ORG}`,
      `delivery_attempts.x.${RUN}.state`,
      `runs.${ORG}.${RUN}.life`,
      '',
    ]) {
      expect(runOfDeliverySubject(wrong), wrong).toBeUndefined();
    }
  });
});

describe('a callback address for people', () => {
  it.each([
    ['https://example.com/done', 'https://example.com/done'],
    ['https://example.com/done?token=secret', 'https://example.com/done?[hidden]'],
    ['https://example.com/done?a=1?b=2', 'https://example.com/done?[hidden]'],
    ['https://example.com/?', 'https://example.com/?[hidden]'],
  ])('%s is shown as %s', (url, shown) => {
    expect(withoutQuery(url)).toBe(shown);
  });

  it.each([
    ['https://example.com', 'https://example.com'],
    ['https://example.com:8443/', 'https://example.com:8443/'],
    ['http://[::1]:9000', 'http://[::1]:9000'],
    ['https://example.com/hooks/T0/secret', 'https://example.com/[hidden]'],
    ['https://example.com/?token=secret', 'https://example.com/[hidden]'],
    ['https://example.com/?', 'https://example.com/[hidden]'],
    ['https://example.com:8443/a?b=secret', 'https://example.com:8443/[hidden]'],
    ['https://user:secret@example.com/', 'https://example.com/[hidden]'],
    ['https://example.com/#secret', 'https://example.com/[hidden]'],
    ['no URL, but a secret', '[hidden]'],
  ])('%s is shown to those who may not see its path as %s', (url, shown) => {
    expect(withoutPath(url)).toBe(shown);
  });
});
