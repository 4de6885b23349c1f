import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { currentVersion, parseRunEvent, RUN_EVENT_TYPES } from '../src/run-event.ts';
import { subjectOf } from '../src/subjects.ts';
import { anEvent } from './an-event.ts';

const FOLDER = join(import.meta.dirname, 'fixtures');
const ACCEPT = 'ACCEPT_FIXTURES=1 npm test -- packages/contracts';

describe('golden events', () => {
  it.each(RUN_EVENT_TYPES)('%s has a fixture of its present version', (type) => {
    const file = join(FOLDER, `${type}.v${currentVersion(type)}.json`);
    if (!existsSync(file) && process.env.ACCEPT_FIXTURES) {
      const event = anEvent(type);
      writeFileSync(file, `${JSON.stringify({ subject: subjectOf(event), event }, null, 2)}\n`);
    }
    expect(existsSync(file), `no fixture yet; write it with: ${ACCEPT}`).toBe(true);
  });

  it.each(readdirSync(FOLDER))('%s is still read, unchanged, on its subject', (name) => {
    const golden: { subject: string; event: unknown } = JSON.parse(readFileSync(join(FOLDER, name), 'utf8'));
    const parsed = parseRunEvent(golden.event);
    expect(parsed).toEqual({ kind: 'event', event: golden.event });
    expect(parsed.kind === 'event' && subjectOf(parsed.event)).toBe(golden.subject);
  });

  it.each(readdirSync(FOLDER))('%s stays open to members of a later release', (name) => {
    const golden: { event: object } = JSON.parse(readFileSync(join(FOLDER, name), 'utf8'));
    const later = { ...golden.event, mood: 'fine' };
    expect(parseRunEvent(later)).toEqual({ kind: 'event', event: later });
  });
});
