import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { currentVersion, parseRunEvent, RUN_EVENT_TYPES, RUN_EVENTS } from '../../src/events/run-event.ts';
import { runEventSubject } from '../../src/events/subjects.ts';
import { FleetEvent } from '../../src/events/fleet-event.ts';
import { anEvent } from '../fixtures/run-events.ts';

/** A folder for each writer. */
const FOLDER = join(import.meta.dirname, 'fixtures', 'runs');
const fixtures = readdirSync(FOLDER, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ parentPath, name }) => relative(FOLDER, join(parentPath, name)));
const FLEET_FOLDER = join(import.meta.dirname, 'fixtures', 'fleet');
const ACCEPT = 'ACCEPT_FIXTURES=1 npm test -- packages/contracts';

const aboutExecutor = {
  version: 1,
  event_id: '01920000-0000-7000-8000-000000000101',
  executor_id: 'box.0a1b2c3d4e5f',
  time: '2026-01-01T00:00:00.000Z',
} as const;

const aboutName = {
  version: 1,
  event_id: '01920000-0000-7000-8000-000000000102',
  executor_name: 'box',
  requested_by: '01920000-0000-7000-8000-000000000103',
  time: '2026-01-01T00:00:00.000Z',
} as const;

const FLEET_EVENTS: readonly FleetEvent[] = [
  {
    ...aboutExecutor,
    type: 'ExecutorRegistered',
    slots: [{ slot: 0, gpu: 'A10G' }],
    machines: ['*'],
    dedicated: { render: ['01920000-0000-7000-8000-00000000000a'] },
    programs: ['render-image'],
    public_key: 'MCowBQYDK2VwAyEA',
    isolation: 'weak',
    isolation_gaps: ['have the user of programs of another organisation'],
    limits: 'cgroup',
    software_version: '0.1.0',
  },
  { ...aboutExecutor, type: 'ExecutorDraining' },
  { ...aboutExecutor, type: 'ExecutorLeft' },
  { ...aboutExecutor, type: 'ExecutorLost', message: 'no beat for 6 s' },
  { ...aboutName, type: 'ExecutorDrainRequested' },
  { ...aboutName, type: 'ExecutorResumeRequested' },
];

describe('golden facts of the fleet', () => {
  it.each(FLEET_EVENTS)('$type has a fixture of its current version', (event) => {
    const file = join(FLEET_FOLDER, `${event.type}.v${event.version}.json`);
    if (!existsSync(file) && process.env.ACCEPT_FIXTURES) {
      writeFileSync(file, `${JSON.stringify(event, null, 2)}\n`);
    }
    expect(existsSync(file), `no fixture yet; write it with: ${ACCEPT}`).toBe(true);
  });

  it.each(readdirSync(FLEET_FOLDER))('%s is still parsed, also with members of a later release', (name) => {
    const golden: object = JSON.parse(readFileSync(join(FLEET_FOLDER, name), 'utf8'));
    expect(Value.Check(FleetEvent, golden)).toBe(true);
    expect(Value.Check(FleetEvent, { ...golden, mood: 'fine' })).toBe(true);
  });
});

describe('golden events', () => {
  it.each(RUN_EVENT_TYPES)('%s has a fixture of its current version', (type) => {
    const file = join(FOLDER, RUN_EVENTS[type].writer, `${type}.v${currentVersion(type)}.json`);
    if (!existsSync(file) && process.env.ACCEPT_FIXTURES) {
      const event = anEvent(type);
      writeFileSync(file, `${JSON.stringify({ subject: runEventSubject(event), event }, null, 2)}\n`);
    }
    expect(existsSync(file), `no fixture yet; write it with: ${ACCEPT}`).toBe(true);
  });

  it.each(fixtures)('%s is still parsed, unchanged, under its subject', (name) => {
    const golden: { subject: string; event: unknown } = JSON.parse(readFileSync(join(FOLDER, name), 'utf8'));
    const parsed = parseRunEvent(golden.event);
    expect(parsed).toHaveProperty('event', golden.event);
    expect(parsed.kind === 'event' && runEventSubject(parsed.event)).toBe(golden.subject);
  });

  it.each(fixtures)('%s is parsed with additional members of a later release', (name) => {
    const golden: { event: object } = JSON.parse(readFileSync(join(FOLDER, name), 'utf8'));
    const later = { ...golden.event, mood: 'fine' };
    expect(parseRunEvent(later)).toHaveProperty('event', later);
  });
});
