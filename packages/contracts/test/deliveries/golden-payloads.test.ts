import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import {
  webhookBody,
  WebhookPayload,
  WEBHOOK_PAYLOAD_VERSION,
  type PayloadInput,
} from '../../src/deliveries/webhook-payload.ts';
import { succeededWith, textOutputs, INPUTS, TAGGED, WARNED } from './payload-inputs.ts';

const FOLDER = join(import.meta.dirname, 'fixtures', 'webhook-payload');
const ACCEPT = 'ACCEPT_FIXTURES=1 npm test -- packages/contracts';
const LARGE = 'x'.repeat(1_000);

const SITUATIONS: Readonly<Record<string, PayloadInput>> = {
  ...INPUTS,
  outputs_lost: succeededWith([], { lost: [{ member: 'outputs', reason: 'gone' }] }),
  tagged: TAGGED,
  warned: WARNED,
  truncated: succeededWith(textOutputs('short', LARGE), { maxBytes: 1_000 }),
};

const payloadOf = (situation: string): object => {
  const input = SITUATIONS[situation];
  if (!input) throw new Error(`no test makes the situation "${situation}" of a fixture`);
  return JSON.parse(new TextDecoder().decode(webhookBody(input)));
};

const golden = (name: string): object => JSON.parse(readFileSync(join(FOLDER, name), 'utf8'));

const fixturesOfVersion = (): string[] =>
  readdirSync(FOLDER).filter((name) => name.endsWith(`.v${WEBHOOK_PAYLOAD_VERSION}.json`));

describe('golden payloads', () => {
  it.each(Object.keys(SITUATIONS))('%s has a fixture of the current version', (situation) => {
    const file = join(FOLDER, `${situation}.v${WEBHOOK_PAYLOAD_VERSION}.json`);
    if (!existsSync(file) && process.env.ACCEPT_FIXTURES) {
      writeFileSync(file, `${JSON.stringify(payloadOf(situation), null, 2)}\n`);
    }
    expect(existsSync(file), `no fixture yet; write it with: ${ACCEPT}`).toBe(true);
  });

  const present = fixturesOfVersion();

  it.each(present)('%s matches the schema, also with members of a later release', (name) => {
    expect(Value.Check(WebhookPayload, golden(name))).toBe(true);
    expect(Value.Check(WebhookPayload, { ...golden(name), mood: 'fine' })).toBe(true);
  });

  it.each(present)(
    '%s is still what a receiver gets: members are added, none is removed or changed',
    (name) => {
      const [situation = ''] = name.split('.');
      const now = payloadOf(situation);
      expect(Object.keys(now)).toEqual(expect.arrayContaining(Object.keys(golden(name))));
      expect(now).toMatchObject(golden(name));
    },
  );

  it('together contain every member of the schema', () => {
    const members = new Set(fixturesOfVersion().flatMap((name) => Object.keys(golden(name))));
    expect([...members].toSorted()).toEqual(Object.keys(WebhookPayload.properties).toSorted());
  });
});
