import { readFileSync } from 'node:fs';
import { RUN_EVENTS, RUN_EVENT_TYPES } from '@runledger/contracts/events/run-event';
import { WEBHOOK_EVENTS, WEBHOOK_EVENT_TYPES } from '@runledger/contracts/events/webhook-event';
import { describe, expect, it } from 'vitest';
import { DELIVERY_RECORDS } from '../../docs/delivery-records.ts';
import { CONTRACTS } from '../../docs/message-descriptions.ts';
import { openApiPage } from '../../docs/openapi-page.ts';
import { PAGES } from '../../docs/write-pages.ts';

describe('the contracts of the services', () => {
  it.each(RUN_EVENT_TYPES)('name one writer of %s, the one in its subject', (type) => {
    const writers = CONTRACTS.filter(({ writes }) => writes.runs.includes(type));
    expect(writers.map(({ role }) => role)).toEqual([RUN_EVENTS[type].writer]);
  });

  it.each(RUN_EVENT_TYPES)('name a reader of %s', (type) => {
    expect(CONTRACTS.filter(({ reads }) => reads.runs.includes(type))).not.toEqual([]);
  });

  it.each(WEBHOOK_EVENT_TYPES)('name one writer of %s, the one in its subject', (type) => {
    const writers = CONTRACTS.filter(({ writes }) => writes.webhooks.includes(type));
    expect(writers.map(({ role }) => role)).toEqual([WEBHOOK_EVENTS[type].writer]);
  });

  it.each(WEBHOOK_EVENT_TYPES)('name a reader of %s', (type) => {
    expect(CONTRACTS.filter(({ reads }) => reads.webhooks.includes(type))).not.toEqual([]);
  });

  it('name one writer of every fact about the fleet', () => {
    const facts = ['ExecutorRegistered', 'ExecutorDraining', 'ExecutorLeft', 'ExecutorLost'] as const;
    for (const fact of facts) {
      expect(CONTRACTS.filter(({ writes }) => writes.fleet.includes(fact))).toHaveLength(1);
    }
  });
});

describe('a subject on the page of events', () => {
  it.each(DELIVERY_RECORDS)('equals the subject of the code: $subject', ({ subject, example }) => {
    // The names between `<` and `>` may have spaces, but no dots.
    const tokens = subject.split('.');
    const made = example.split('.');
    expect(made.map((token, at) => (tokens[at]?.startsWith('<') ? tokens[at] : token))).toEqual(tokens);
  });
});

/** A test of the gateway compares docs/openapi.json with what is served. Here, other tests of this process have described operations of their own. */
const COMPARED = PAGES.filter(({ made }) => made !== openApiPage);

describe('a generated page of docs', () => {
  it.each(COMPARED)('is up to date; write it with: npm run docs ($file)', ({ file, made }) => {
    expect(readFileSync(file, 'utf8')).toBe(made());
  });
});
