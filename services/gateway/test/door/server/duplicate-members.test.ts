import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { duplicateMember } from '../../../src/door/json-body.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

describe('the first member that an object has twice', () => {
  it.each([
    ['{"a":1,"a":1}', ['a']],
    ['{"a":1,"\\u0061":1}', ['a']],
    ['{"":1,"":1}', ['']],
    ['{"__proto__":1,"__proto__":1}', ['__proto__']],
    ['{"a":{"b":[1,{"c":2},{"d":"}","e" : 1,\n"e"\t:2}]}}', ['a', 'b', 2, 'e']],
    ['[[],{"a":"a\\":","a":1}]', [1, 'a']],
    ['{"a":{"x":1},"b":{"x":1},"c":{"x":2,"y":{},"x":3}}', ['c', 'x']],
  ])('of %s is at %j', (json, path) => {
    expect(duplicateMember(json)).toEqual(path);
  });

  it.each([
    '1',
    '"a"',
    '[]',
    '{}',
    '{"a":{"a":{"a":[{"a":1},{"a":"a"}]}}}',
    '["{\\"a\\":1,\\"a\\":1}"]',
    '{"a":"b","b":"a"}',
  ])('of %s does not exist', (json) => expect(duplicateMember(json)).toBeUndefined());

  it('is never found in what JSON.stringify writes, and always when one is added', () => {
    const key = fc.string({ unit: 'grapheme', maxLength: 5 });
    fc.assert(
      fc.property(fc.dictionary(key, fc.jsonValue()), key, (members, name) => {
        const json = JSON.stringify(members, null, 1);
        expect(duplicateMember(json)).toBeUndefined();
        const rest = json.slice(1).trim();
        const twice = `{${JSON.stringify(name)}:[],${JSON.stringify(name)}:{}${rest === '}' ? '' : ','}${rest}`;
        expect(duplicateMember(`[${twice}]`)).toEqual([0, name]);
      }),
    );
  });
});

describe('a body with a member twice', () => {
  let bed: TestBed;
  let refusing: TestGateway;
  let lenient: TestGateway;
  beforeAll(async () => {
    bed = await openTestBed();
    lenient = await bed.gateway();
    refusing = await bed.gateway({ environment: { RUNLEDGER_JSON_DUPLICATES: 'refused' } });
  });
  afterAll(() => bed[Symbol.asyncDispose]());

  const queue = ({ api }: TestGateway, inputs: string) =>
    call(`${api}/run/deployment/queue`, bed.tenant.key, {
      method: 'POST',
      body: `{"deployment_id":"${bed.tenant.deployment.id}","inputs":${inputs}}`,
      headers: { 'content-type': 'application/json' },
    });
  const TWICE = '{"seed":1,"list":[{"x":1}],"seed":2}';

  it('has its last value by default', async () => {
    const { status, body } = await queue(lenient, TWICE);
    expect(status).toBe(200);
    const run = await call(`${lenient.api}/run/${body.run_id}?include=inputs`, bed.tenant.key);
    expect(run.body.workflow_inputs).toEqual({ seed: 2, list: [{ x: 1 }] });
  });

  it('is refused where the installation says so, and the refusal names the member', async () => {
    const { status, body } = await queue(refusing, TWICE);
    expect([status, body]).toEqual([
      400,
      aRefusal('duplicate_member', 'The body has the member body.inputs.seed twice. Send it once'),
    ]);
    expect((await queue(refusing, '{"seed":1,"list":[{"seed":1}]}')).status).toBe(200);
    const long = 'n'.repeat(10_000);
    const refused = await queue(refusing, `{"${long}":1,"${long}":1}`);
    expect([refused.status, refused.body.detail.length < 400]).toEqual([400, true]);
  });
});
