import { NewApiKeyRequest } from '@runledger/contracts/http/api-keys';
import { NewDeployment } from '@runledger/contracts/http/catalogue/deployments';
import { NewMachine } from '@runledger/contracts/http/catalogue/machines';
import { optional } from '@runledger/contracts/schemas';
import { DeploymentRunRequest } from '@runledger/contracts/http/runs/queue-run';
import { CancelRunsRequest } from '@runledger/contracts/http/runs/runs';
import { RotateSecretRequest } from '@runledger/contracts/http/webhook-receivers';
import { NewWorkflowVersion } from '@runledger/contracts/http/catalogue/workflows';
import { Runner } from '@runledger/contracts/catalogue/runners';
import { Type, type TSchema } from 'typebox';
import { describe, expect, it } from 'vitest';
import { MAX_PROBLEMS, problemsOf } from '../../../src/door/problems.ts';

const id = '01920000-0000-7000-8000-000000000001';
const problems = (schema: TSchema, value: unknown) => problemsOf(schema, value, 'body');
/** Where and what, without the words. */
const found = (schema: TSchema, value: unknown) =>
  problems(schema, value).map(({ loc, type }) => [loc.slice(1).join('.'), type]);

describe('a member that may be null', () => {
  const schema = Type.Object({ a: optional(Type.Array(optional(Type.Integer({ minimum: 1 })))) });

  it('is refused like a member that may not be null', () => {
    expect(found(schema, { a: 5 })).toEqual([['a', 'list_type']]);
    expect(found(schema, { a: [null, 0, 1, 'x'] })).toEqual([
      ['a.1', 'greater_than_equal'],
      ['a.3', 'int_type'],
    ]);
    expect(problems(schema, { a: [0] })[0]?.loc).toEqual(['body', 'a', 0]);
  });

  it('may be null, and may be left out', () => {
    expect([...problems(schema, { a: null }), ...problems(schema, {})]).toEqual([]);
  });
});

describe('a union with a tag', () => {
  const machine = (runner: unknown) => ({ name: 'a', gpu: 'T4', runner });

  it.each<[unknown, readonly (readonly string[])[]]>([
    [{ kind: 'program', program: 'render' }, []],
    [{ kind: 'comfyui' }, []],
    [{ kind: 'comfyui', url: null }, []],
    [{ kind: 'program' }, [['runner.program', 'missing']]],
    [{ kind: 'program', program: '' }, [['runner.program', 'string_too_short']]],
    [{ kind: 'comfyui', url: 5, program: 7 }, [['runner.url', 'url_parsing']]],
    [{ kind: 'shell' }, [['runner', 'union_tag_invalid']]],
    [{ kind: ['program'] }, [['runner', 'union_tag_invalid']]],
    [{}, [['runner', 'union_tag_not_found']]],
    [JSON.parse('{"__proto__": {"kind": "program"}}'), [['runner', 'union_tag_not_found']]],
    [[], [['runner', 'model_attributes_type']]],
    ['program', [['runner', 'model_attributes_type']]],
    [null, [['runner', 'model_attributes_type']]],
  ])('is checked against the branch that it names: %j', (runner, expected) => {
    expect(found(NewMachine, machine(runner))).toEqual(expected);
  });

  it('lists the expected tags', () => {
    const kinds: string[] = Runner.anyOf.map(({ properties }) => properties.kind.const);
    expect(kinds.slice(0, 2)).toEqual(['program', 'comfyui']);
    const tags = `${kinds
      .slice(0, -1)
      .map((kind) => `'${kind}'`)
      .join(', ')} or '${kinds.at(-1)}'`;
    for (const runner of [{ kind: 'shell' }, { kind: 5 }, {}])
      expect(problems(NewMachine, machine(runner))[0]?.msg).toBe(`Send ${tags} as 'kind'`);
  });
});

describe('a schema with its own words', () => {
  it('reports them for every problem inside', () => {
    expect(problems(CancelRunsRequest, { filter: { status: ['queued', 'all'] } })).toEqual([
      {
        loc: ['body', 'filter', 'status'],
        type: 'enum',
        msg: expect.stringMatching(/^Send one or several of 'not-started', 'queued', /),
      },
    ]);
  });
});

describe('an unusual name is treated as any other:', () => {
  it.each([
    'a/b',
    '~',
    '~1',
    '~0',
    `"'`,
    '\n',
    '',
    '__proto__',
    'constructor',
    'toString',
    '0',
    '-1',
    '%s',
    '[key]',
  ])('%j', (name) => {
    const body: unknown = JSON.parse(`{"deployment_id":"${id}","inputs":{${JSON.stringify(name)}:null}}`);
    expect(problems(DeploymentRunRequest, body).map(({ loc }) => loc)).toEqual([['body', 'inputs', name]]);
    // A name of JSON stays a text, also one of digits; a position is a number.
    expect(
      problems(Type.Object({ [name]: Type.Array(Type.Null()) }), JSON.parse(`{${JSON.stringify(name)}:[0]}`)),
    ).toMatchObject([{ loc: ['body', name, 0] }]);
  });

  it('does not treat members of a prototype as members', () => {
    expect(found(Type.Object({ valueOf: Type.String(), constructor: Type.String() }), {})).toEqual([
      ['valueOf', 'missing'],
      ['constructor', 'missing'],
    ]);
  });
});

describe('the list of problems', () => {
  it('is complete, in the order of the schema', () => {
    const run = {
      deployment_id: 5,
      deployment: '',
      gpu: 5,
      webhook: 5,
      inputs: { b: null, a: {}, 7: null, good: [null] },
      unknown: null,
    };
    expect(found(DeploymentRunRequest, run)).toEqual([
      ['deployment_id', 'uuid_type'],
      ['deployment', 'string_too_short'],
      ['inputs.7', 'string_type'],
      ['inputs.b', 'string_type'],
      ['inputs.a', 'string_type'],
      ['webhook', 'url_type'],
      ['gpu', 'enum'],
    ]);
    const deployment = {
      retry: { attempts: 0.5 },
      run_timeout_s: 0,
      environment: '',
      workflow_version_id: '',
    };
    expect(found(NewDeployment, deployment)).toEqual([
      ['name', 'missing'],
      ['workflow_version_id', 'uuid_parsing'],
      ['machine_id', 'missing'],
      ['environment', 'string_too_short'],
      ['run_timeout_s', 'greater_than'],
      ['retry.attempts', 'int_from_float'],
    ]);
    const version = { workflow: null, inputs: [{ name: '', type: 'text' }, null, { required: 1 }] };
    expect(found(NewWorkflowVersion, version)).toEqual([
      ['inputs.0.name', 'string_too_short'],
      ['inputs.0.type', 'enum'],
      ['inputs.1', 'model_attributes_type'],
      ['inputs.2.name', 'missing'],
      ['inputs.2.type', 'missing'],
      ['inputs.2.required', 'bool_type'],
    ]);
  });

  it('has an unknown member only when the schema allows no others', () => {
    const closed = Type.Object({ a: optional(Type.Integer()) }, { additionalProperties: false });
    expect(found(Type.Object({}), { b: 1 })).toEqual([]);
    expect(problems(closed, { b: 1, a: 'x', '': 2 })).toEqual([
      { loc: ['body', 'a'], type: 'int_type', msg: 'Send a whole number' },
      { loc: ['body', 'b'], type: 'extra_forbidden', msg: 'This is unknown here: leave it out' },
      { loc: ['body', ''], type: 'extra_forbidden', msg: 'This is unknown here: leave it out' },
    ]);
  });

  it('has one problem for each location', () => {
    const both = Type.String({ minLength: 5, pattern: '^a' });
    expect(found(both, 'b')).toEqual([['', 'string_too_short']]);
    expect(found(RotateSecretRequest, { overlap_s: '-1' })).toEqual([['overlap_s', 'float_type']]);
  });

  it('has only the length of a list that is too long, and first the items of one that is too short', () => {
    const few = Type.Array(Type.Integer(), { minItems: 2, maxItems: 3 });
    expect(found(few, ['x', 1, 2, 'y'])).toEqual([['', 'too_long']]);
    expect(found(few, ['x'])).toEqual([['0', 'int_type']]);
    expect(found(NewApiKeyRequest, { name: 'a', scopes: [] })).toEqual([['scopes', 'too_short']]);
  });

  it('covers each of 256 inputs', () => {
    const inputs = Object.fromEntries(Array.from({ length: 256 }, (_, index) => [`input-${index}`, null]));
    const all = problems(DeploymentRunRequest, { deployment_id: id, inputs });
    expect(all.map(({ loc }) => loc[2])).toEqual(Object.keys(inputs));
    expect(new Set(all.map(({ msg }) => msg)).size).toBe(1);
  });

  it('has a limit', () => {
    const inputs = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`input-${index}`, null]));
    const all = problems(DeploymentRunRequest, { deployment_id: 5, inputs });
    expect(all).toHaveLength(MAX_PROBLEMS);
    expect(new Set(all.map(({ type }) => type))).toEqual(new Set(['uuid_type', 'string_type']));
  });

  it('has a general problem for unknown keywords', () => {
    const even = Type.Object({
      a: Type.Integer({ multipleOf: 2 }),
      b: Type.Record(Type.String(), Type.Integer()),
    });
    expect(found(even, { a: 3, b: { c: 1 } })).toEqual([['a', 'value_error']]);
    expect(found(even, { a: 2, b: { c: 'x' } })).toEqual([['b', 'value_error']]);
  });
});
