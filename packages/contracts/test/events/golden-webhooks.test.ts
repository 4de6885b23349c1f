import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { webhookEventSubject } from '../../src/events/subjects.ts';
import { parseWebhookEvent, WEBHOOK_EVENTS, WEBHOOK_EVENT_TYPES } from '../../src/events/webhook-event.ts';
import { aWebhookEvent } from '../fixtures/webhook-events.ts';

const FOLDER = join(import.meta.dirname, 'fixtures', 'webhooks');
const ACCEPT = 'ACCEPT_FIXTURES=1 npm test -- packages/contracts';

const golden = (name: string): { subject: string; event: object } =>
  JSON.parse(readFileSync(join(FOLDER, name), 'utf8'));

describe('golden webhook events', () => {
  it.each(WEBHOOK_EVENT_TYPES)('%s has a fixture of its current version', (type) => {
    const version = WEBHOOK_EVENTS[type].schema.properties.version.const;
    const file = join(FOLDER, `${type}.v${version}.json`);
    if (!existsSync(file) && process.env.ACCEPT_FIXTURES) {
      const event = aWebhookEvent(type);
      writeFileSync(file, `${JSON.stringify({ subject: webhookEventSubject(event), event }, null, 2)}\n`);
    }
    expect(existsSync(file), `no fixture yet; write it with: ${ACCEPT}`).toBe(true);
  });

  it.each(readdirSync(FOLDER))('%s is still parsed, unchanged, under its subject', (name) => {
    const { subject, event } = golden(name);
    const parsed = parseWebhookEvent(event);
    expect(parsed).toHaveProperty('event', event);
    expect(parsed.kind === 'event' && webhookEventSubject(parsed.event)).toBe(subject);
  });

  it.each(readdirSync(FOLDER))('%s is parsed with additional members of a later release', (name) => {
    const later = { ...golden(name).event, mood: 'fine' };
    expect(parseWebhookEvent(later)).toHaveProperty('event', later);
  });
});
