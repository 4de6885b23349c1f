import type { NewInputDefinition } from '@runledger/contracts/http/catalogue/workflows';
import type { WorkflowInput } from '@runledger/contracts/catalogue/workflow-inputs';
import type { JsonObject, JsonValue } from '@runledger/contracts/json';
import { numberOf } from '@runledger/contracts/exact-number';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  fitInputs as fitDrawn,
  wrongValue,
  type FittedInputs,
  type IntegerBounds,
  type ValueRules,
} from '../../../src/records/catalogue/input-values.decide.ts';
import { definitionProblems } from '../../../src/records/catalogue/input-definitions.decide.ts';
import { drawInteger } from '../../../src/runs/facts/deployment-queue.ts';

const fitInputs = (definitions: readonly WorkflowInput[], inputs: JsonObject): FittedInputs =>
  fitDrawn(definitions, inputs, () => 7);

const A_FILE = '01940000-0000-7000-8000-0000000000d1';
const A_URL = 'https://pictures.example/a.png';

describe('a value', () => {
  it.each<[ValueRules, JsonValue]>([
    [{ type: 'string' }, ''],
    [{ type: 'string', enum: ['a', 'b'] }, 'b'],
    [{ type: 'integer' }, 5],
    [{ type: 'integer', minimum: 5, maximum: 5 }, 5],
    [{ type: 'integer', enum: [1, 2] }, 2],
    [{ type: 'number', minimum: 0.5 }, 0.5],
    [{ type: 'integer', enum: [4] }, numberOf('4.0')],
    [{ type: 'integer', maximum: numberOf('18446744073709551615') }, numberOf('18446744073709551615')],
    [{ type: 'boolean' }, false],
    [{ type: 'array' }, [null, {}]],
    [{ type: 'array', min_items: 2, max_items: 2 }, [1, 2]],
    [{ type: 'image' }, A_FILE],
    [{ type: 'image[]' }, []],
    [{ type: 'file[]', min_items: 1 }, [A_FILE, A_URL, 'data:,x', A_FILE]],
    [{ type: 'file[]' }, Array.from({ length: 256 }, () => A_FILE)],
  ])('fits %j: %j', (rules, value) => expect(wrongValue(rules, value)).toBeUndefined());

  it.each<[ValueRules, JsonValue, string]>([
    [{ type: 'string' }, 5, 'wrong_type'],
    [{ type: 'string', enum: ['a', 'b'] }, 'A', 'not_listed'],
    [{ type: 'integer' }, 5.5, 'wrong_type'],
    [{ type: 'integer' }, '5', 'wrong_type'],
    [{ type: 'integer', minimum: 5 }, 4, 'below_minimum'],
    [
      { type: 'integer', maximum: numberOf('9007199254740993') },
      numberOf('9007199254740994'),
      'above_maximum',
    ],
    [{ type: 'integer', minimum: numberOf('9007199254740993') }, 9007199254740992, 'below_minimum'],
    [{ type: 'integer' }, numberOf('4.00000000000000000001'), 'wrong_type'],
    [{ type: 'number', maximum: 5 }, 5.001, 'above_maximum'],
    [{ type: 'number', enum: [1], maximum: 5 }, 6, 'not_listed'],
    [{ type: 'boolean' }, 0, 'wrong_type'],
    [{ type: 'array' }, {}, 'wrong_type'],
    [{ type: 'array', min_items: 1 }, [], 'too_few_items'],
    [{ type: 'image' }, 'fox.png', 'no_file'],
    [{ type: 'image' }, [A_FILE], 'one_file'],
    [{ type: 'image[]' }, A_FILE, 'file_list'],
    [{ type: 'image[]' }, 'fox.png', 'file_list'],
    [{ type: 'image[]' }, { 0: A_FILE }, 'file_list'],
    [{ type: 'image[]' }, [A_FILE, 'fox.png'], 'no_file'],
    [{ type: 'image[]' }, [[A_FILE]], 'no_file'],
    [{ type: 'image[]', min_items: 1 }, [], 'too_few_items'],
    [{ type: 'image[]', max_items: 1 }, [A_FILE, A_URL], 'too_many_items'],
    [{ type: 'image[]' }, Array.from({ length: 257 }, () => A_FILE), 'too_many_items'],
  ])('does not fit %j: %j is %s', (rules, value, kind) =>
    expect(wrongValue(rules, value)).toMatchObject({ kind }),
  );
});

describe('the definition of a list', () => {
  it.each<[Partial<NewInputDefinition>, string | null]>([
    [{ type: 'image[]', min_items: 1, max_items: 256, default: [A_URL] }, null],
    [{ type: 'image[]', default: [] }, null],
    [{ type: 'array', max_items: 1_000 }, null],
    [{ type: 'image', max_items: 2 }, 'max_items'],
    [{ type: 'string', min_items: 2 }, 'min_items'],
    [{ type: 'file[]', max_items: 257 }, 'max_items'],
    [{ type: 'file[]', min_items: 3, max_items: 2 }, 'max_items'],
    [{ type: 'file[]', default: A_URL }, 'default'],
    [{ type: 'file[]', min_items: 1, default: [] }, 'default'],
    [{ type: 'file', default: [A_URL] }, 'default'],
    [{ type: 'file[]', secret: true }, 'secret'],
    [{ type: 'file[]', minimum: 1 }, 'minimum'],
  ])('%j: what is wrong is %j', (definition, member) => {
    const problems = definitionProblems([[0, { name: 'a', type: 'file[]', ...definition }]], {});
    expect(problems.map((problem) => problem.member)).toEqual(member === null ? [] : [member]);
  });
});

const define = (definition: Partial<WorkflowInput> & { readonly name: string }): WorkflowInput => ({
  type: 'string',
  required: false,
  ...definition,
});

describe('the inputs of a run', () => {
  it('get the defaults of those that are left out, also of required ones', () => {
    const definitions = [
      define({ name: 'a', default: 'x' }),
      define({ name: 'b', required: true, default: 'y' }),
      define({ name: 'c' }),
    ];
    expect(fitInputs(definitions, { a: 'mine', d: 1 })).toEqual({
      kind: 'fitted',
      inputs: { a: 'mine', d: 1, b: 'y' },
    });
  });

  it('get a random value within its bounds where the version says so, unless they have one', () => {
    const definitions = [
      define({ name: 'seed', type: 'integer', random: true }),
      define({ name: 'small', type: 'integer', random: true, required: true, minimum: 0.5, maximum: 10 }),
      define({ name: 'own', type: 'integer', random: true }),
      define({ name: 'wide', type: 'integer', random: true, maximum: numberOf('18446744073709551615') }),
    ];
    const asked: IntegerBounds[] = [];
    const draw = (bounds: IntegerBounds): number => asked.push(bounds);
    expect(fitDrawn(definitions, { seed: null, own: 9 }, draw)).toEqual({
      kind: 'fitted',
      inputs: { seed: 1, small: 2, own: 9, wide: 3 },
    });
    expect(asked).toEqual([
      { lowest: 0, highest: Number.MAX_SAFE_INTEGER },
      { lowest: 1, highest: 10 },
      { lowest: 0, highest: Number.MAX_SAFE_INTEGER },
    ]);
  });

  it('are drawn from the whole range, with both ends', () => {
    const draws = Array.from({ length: 200 }, () => drawInteger({ lowest: -1, highest: 1 }));
    expect(new Set(draws)).toEqual(new Set([-1, 0, 1]));
    const seeds = Array.from({ length: 200 }, () => drawInteger({ lowest: 0, highest: 2 ** 53 - 1 }));
    expect(new Set(seeds).size).toBe(200);
    expect(seeds.every((seed) => Number.isSafeInteger(seed) && seed >= 0)).toBe(true);
    expect(seeds.some((seed) => seed > 2 ** 51)).toBe(true);
  });

  it.each<[Partial<NewInputDefinition>, string]>([
    [{ type: 'number', random: true }, 'random'],
    [{ type: 'integer', random: true, default: 1 }, 'default'],
    [{ type: 'integer', random: true, enum: [1, 2] }, 'enum'],
    [{ type: 'integer', random: true, minimum: 0.1, maximum: 0.9 }, 'random'],
    [{ type: 'integer', random: true, minimum: 2 ** 60 }, 'random'],
  ])('cannot be random as %j: %s', (rules, member) => {
    const definition = { name: 'seed', ...rules } as NewInputDefinition;
    expect(definitionProblems([[0, definition]], {})).toMatchObject([{ index: 0, member }]);
  });

  it('are refused with everything that is wrong, in the order of the definitions', () => {
    const definitions = [
      define({ name: 'a', required: true }),
      define({ name: 'b', type: 'integer' }),
      define({ name: 'c', type: 'number', maximum: 1 }),
    ];
    expect(fitInputs(definitions, { c: 2, b: 'x', d: null })).toEqual({
      kind: 'wrong',
      wrong: [
        { name: 'a', kind: 'missing' },
        { name: 'b', kind: 'wrong_type', type: 'integer', value: 'x' },
        { name: 'c', kind: 'above_maximum', maximum: 1 },
      ],
    });
  });

  it('may have names that mean something in JavaScript', () => {
    const names = ['__proto__', 'constructor', 'toString'];
    const missing = fitInputs(
      names.map((name) => define({ name, required: true })),
      {},
    );
    expect(missing).toMatchObject({ kind: 'wrong', wrong: names.map((name) => ({ name, kind: 'missing' })) });
    const filled = fitInputs(
      names.map((name) => define({ name, default: name })),
      {},
    );
    expect(filled.kind === 'fitted' && Object.entries(filled.inputs)).toEqual(
      names.map((name) => [name, name]),
    );
  });
});

const aName = fc.constantFrom('a', 'b', 'c', '__proto__', '0');
const aValue = fc.oneof(
  fc.constantFrom('x', 'y'),
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(0.5, -1.5),
  fc.boolean(),
  fc.constant<JsonValue>([1]),
);
const aNumber = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constant(0.5));
/** Definitions that a version can have. */
const definitionsOf = fc
  .uniqueArray(
    fc.record(
      {
        name: aName,
        type: fc.constantFrom('string', 'integer', 'number', 'boolean', 'array'),
        required: fc.boolean(),
        default: aValue,
        enum: fc.array(fc.oneof(aNumber, fc.constantFrom('x', 'y')), { minLength: 1, maxLength: 3 }),
        minimum: aNumber,
        maximum: aNumber,
      },
      { requiredKeys: ['name', 'type', 'required'] },
    ),
    { selector: ({ name }) => name },
  )
  .map((all): WorkflowInput[] =>
    all.filter((definition) => definitionProblems([[0, definition]], {}).length === 0),
  );
const someInputs = fc
  .array(fc.tuple(aName, aValue))
  .map((entries): JsonObject => Object.fromEntries(entries));

describe('any inputs with any definitions', () => {
  it('have after fitting every default, every value of the request, and nothing else', () => {
    fc.assert(
      fc.property(definitionsOf, someInputs, (definitions, inputs) => {
        const fitted = fitInputs(definitions, inputs);
        fc.pre(fitted.kind === 'fitted');
        const defaults = definitions.flatMap(({ name, default: value }): [string, JsonValue][] =>
          value === undefined ? [] : [[name, value]],
        );
        const expected = new Map([...defaults, ...Object.entries(inputs)]);
        expect(new Map(Object.entries(fitted.inputs))).toEqual(expected);
        expect(fitInputs(definitions, fitted.inputs)).toEqual(fitted);
      }),
    );
  });

  it('are refused exactly when a value does not fit or a required one is missing', () => {
    fc.assert(
      fc.property(definitionsOf, someInputs, (definitions, inputs) => {
        const wrong = definitions.filter((definition) => {
          const { name, required, default: value } = definition;
          return Object.hasOwn(inputs, name)
            ? wrongValue(definition, inputs[name] ?? null) !== undefined
            : required && value === undefined;
        });
        const fitted = fitInputs(definitions, inputs);
        expect(fitted.kind === 'wrong' ? fitted.wrong.map(({ name }) => name) : []).toEqual(
          wrong.map(({ name }) => name),
        );
      }),
    );
  });
});
