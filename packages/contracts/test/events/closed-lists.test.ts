import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RUN_EVENTS } from '../../src/events/run-event.ts';
import { WEBHOOK_EVENTS } from '../../src/events/webhook-event.ts';

/** The closed lists of each version of each event. One is added with a version, and never changed. */
const RECORDED = join(import.meta.dirname, 'closed-lists.json');
const ACCEPT = 'ACCEPT_FIXTURES=1 npm test -- packages/contracts';

const EVENTS = { ...RUN_EVENTS, ...WEBHOOK_EVENTS };

/** Each value that a member may have, by its place. */
const listsIn = (schema: unknown, place = ''): Record<string, unknown> => {
  if (typeof schema !== 'object' || schema === null) return {};
  return Object.assign(
    {},
    ...Object.entries(schema).map(([name, member]) =>
      name === 'enum' || name === 'const' ? { [place]: member } : listsIn(member, `${place}/${name}`),
    ),
  );
};

describe('a reader refuses a value that is not in a closed list: a new value needs a new version of', () => {
  it.each(Object.entries(EVENTS))('%s', (type, { schema }) => {
    const recorded: Record<string, unknown> = JSON.parse(readFileSync(RECORDED, 'utf8'));
    const name = `${type}.v${schema.properties.version.const}`;
    const lists = listsIn(schema.properties.data.properties);
    if (!recorded[name] && process.env['ACCEPT_FIXTURES']) {
      recorded[name] = lists;
      writeFileSync(RECORDED, `${JSON.stringify(recorded, null, 2)}\n`);
    }
    expect(recorded[name], `no lists yet; write them with: ${ACCEPT}`).toBeDefined();
    expect(lists).toEqual(recorded[name]);
  });
});
