import { anyCharacter } from '@runledger/contracts/test/fixtures/any-character';
import { NewApiKeyRequest } from '@runledger/contracts/http/api-keys';
import { DeploymentChange, NewDeployment } from '@runledger/contracts/http/catalogue/deployments';
import { MachineChange, NewMachine } from '@runledger/contracts/http/catalogue/machines';
import { ValidationError } from '@runledger/contracts/http/problem';
import { DeploymentRunRequest } from '@runledger/contracts/http/runs/queue-run';
import { CancelRunsRequest, RerunRequest } from '@runledger/contracts/http/runs/runs';
import { RedeliverRequest } from '@runledger/contracts/http/webhooks';
import { RotateSecretRequest } from '@runledger/contracts/http/webhook-receivers';
import {
  NewWorkflowVersion,
  WorkflowVersionChange,
  NewWorkflow,
  WorkflowChange,
} from '@runledger/contracts/http/catalogue/workflows';
import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { describe, expect, it } from 'vitest';
import { inputsProblems } from '../../../src/runs/facts/check-inputs.ts';
import type { Invalid } from '../../../src/door/refusal.ts';
import { isNode, own } from '../../../src/door/compiled.ts';
import { NOT_AS_DESCRIBED } from '../../../src/door/words.decide.ts';
import { problemsOf } from '../../../src/door/problems.ts';

const bodies: Record<string, TSchema> = {
  CancelRunsRequest,
  DeploymentChange,
  DeploymentRunRequest,
  MachineChange,
  NewApiKeyRequest,
  NewDeployment,
  NewMachine,
  NewWorkflow,
  NewWorkflowVersion,
  RedeliverRequest,
  RerunRequest,
  RotateSecretRequest,
  WorkflowChange,
  WorkflowVersionChange,
};

const texts = [
  '',
  'T4',
  'queued',
  'failed,running',
  'program',
  'comfyui',
  'runs:read',
  'https://a.example/',
  '2026-01-31',
  '01920000-0000-7000-8000-000000000001',
  'x'.repeat(200),
];
const json = fc.jsonValue({ stringUnit: anyCharacter });
const scalar = fc.oneof(json, fc.constantFrom(...texts), fc.double(), fc.integer());

/** Values of about the form that a schema wants: some parts fit, and some do not. */
const like = (schema: unknown): fc.Arbitrary<unknown> => {
  const properties = own(schema, 'properties');
  const items = own(schema, 'items');
  const more = own(schema, 'additionalProperties');
  const branches = own(schema, 'anyOf');
  const words = own(schema, 'enum');
  const forms: fc.Arbitrary<unknown>[] = [scalar];
  if (Array.isArray(branches)) forms.push(...branches.map(like));
  if (Array.isArray(words)) forms.push(fc.constantFrom(...words));
  if (isNode(items)) forms.push(fc.array(like(items), { maxLength: 4 }));
  if (isNode(more)) forms.push(fc.dictionary(fc.string({ unit: anyCharacter }), like(more), { maxKeys: 4 }));
  if (isNode(properties)) {
    const members = Object.fromEntries(
      Object.entries(properties).map(([name, member]) => [name, like(member)]),
    );
    const record = fc.record(members, { requiredKeys: [] });
    forms.push(record, record, record);
  }
  return fc.oneof(...forms);
};

const leadsSomewhere = ({ loc: [, ...names], type }: Invalid, body: unknown): boolean => {
  let at = body;
  for (const [index, name] of names.entries()) {
    const isThere = Array.isArray(at)
      ? typeof name === 'number' && name < at.length
      : Object.hasOwn(Object(at), name);
    if (!isThere) return type === 'missing' && index === names.length - 1 && isNode(at);
    at = own(at, String(name));
  }
  return type !== 'missing';
};

describe.each(Object.entries(bodies))('any JSON as a %s', (_name, schema) => {
  const compiled = Compile(schema);
  const form = Compile(ValidationError);
  it('is accepted, or has a problem for each wrong location and no other', () =>
    fc.assert(
      fc.property(fc.oneof(like(schema), json), (body) => {
        const problems = problemsOf(schema, body, 'body');
        expect(problems.length === 0).toBe(compiled.Check(body));
        expect(problems.filter((problem) => !leadsSomewhere(problem, body))).toEqual([]);
        expect(new Set(problems.map(({ loc }) => JSON.stringify(loc))).size).toBe(problems.length);
        expect(problems.every((problem) => form.Check(problem))).toBe(true);
        // Every keyword of the schemas that are in use has words of its own.
        expect(problems.map(({ msg }) => msg)).not.toContain(NOT_AS_DESCRIBED.msg);
      }),
      { numRuns: casesOf(60) },
    ));

  it('may nest 100,000 levels, at any location', () => {
    for (const nested of [nest((inner) => [inner]), nest((inner) => ({ a: inner }))]) {
      const names = Object.keys(own(schema, 'properties') ?? {});
      const members = names.flatMap((name) => [
        { [name]: nested },
        { [name]: [nested] },
        { [name]: { a: nested } },
      ]);
      for (const body of [nested, ...members]) {
        expect(problemsOf(schema, body, 'body').length === 0).toBe(compiled.Check(body));
      }
    }
  });
});

const nest = (around: (inner: unknown) => unknown): unknown => {
  let value: unknown = 1;
  for (let depth = 0; depth < 100_000; depth += 1) value = around(value);
  return value;
};

describe('inputs beyond their types', () => {
  const limits = {
    RUNLEDGER_INPUTS_MAX: 256,
    RUNLEDGER_INPUTS_MAX_BYTES: 256 * 1024,
    RUNLEDGER_INPUT_NAME_MAX: 3,
  };
  const wrongIn = (inputs: unknown) => inputsProblems(inputs, limits).map(({ loc, type }) => [loc, type]);

  it('are refused when they nest 100,000 levels', () => {
    expect(wrongIn({ a: nest((inner) => [inner]), b: [1] })).toEqual([
      [['body', 'inputs', 'a'], 'json_invalid'],
    ]);
  });

  it('have names whose length counts characters, not UTF-16 units', () => {
    expect(wrongIn({ '💥💥💥': 1, abc: 1 })).toEqual([]);
    expect(wrongIn({ '💥💥💥💥': 1 })).toEqual([[['body', 'inputs', '💥💥💥', '[key]'], 'string_too_long']]);
    expect(wrongIn({ [`ab${'💥'.repeat(10_000)}`]: 1 })).toEqual([
      [['body', 'inputs', 'ab💥', '[key]'], 'string_too_long'],
    ]);
  });

  it('are left to the schema when they are not an object', () => {
    expect([undefined, null, 5, 'text', [[]]].flatMap(wrongIn)).toEqual([]);
  });
});
