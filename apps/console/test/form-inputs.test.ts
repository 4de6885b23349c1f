import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inputsOf, presetOf, type InputDefinition } from '../src/deploy/form/form-inputs.ts';

const anInput = (given: Partial<InputDefinition>): InputDefinition => ({
  name: 'size',
  type: 'integer',
  required: false,
  ...given,
});

const read = (type: InputDefinition['type'], text: string | boolean): unknown =>
  inputsOf([anInput({ type })], { size: text }).inputs['size'];

describe('a form of inputs', () => {
  it('reads whole numbers, numbers, arrays, texts and ticks', () => {
    expect(read('integer', ' 12 ')).toBe(12);
    expect(JSON.stringify(read('number', '-0.5e2'))).toBe('-0.5e2');
    expect(JSON.stringify(read('integer', '+6687881544318117707'))).toBe('6687881544318117707');
    expect(['007', '.5', '-.5', '5.', '-0'].map((text) => JSON.stringify(read('number', text)))).toEqual([
      '7',
      '0.5',
      '-0.5',
      '5',
      '-0',
    ]);
    expect(read('array', '["a", 1]')).toEqual(['a', 1]);
    expect(read('string', ' as it is ')).toBe(' as it is ');
    expect(read('boolean', false)).toBe(false);
    expect(read('image', 'file-1')).toBe('file-1');
  });

  it.each([
    ['integer', '1.5', 'Enter a whole number.'],
    ['integer', 'many', 'Enter a whole number.'],
    ['number', 'NaN', 'Enter a number.'],
    ['number', ' ', 'Enter a number.'],
    ['array', '{"a": 1}', 'Enter a JSON array, such as ["a", "b"].'],
    ['array', '[', 'Enter a JSON array, such as ["a", "b"].'],
  ] as const)('says what is wrong with the %s %j', (type, text, sentence) => {
    expect(inputsOf([anInput({ type })], { size: text })).toEqual({
      inputs: {},
      problems: { size: sentence },
    });
  });

  it('keeps the files of a list in their order, and leaves an empty list as it is', () => {
    const frames = anInput({ type: 'image[]' });
    expect(inputsOf([frames], { size: ['b', 'a', 'b'] }).inputs['size']).toEqual(['b', 'a', 'b']);
    expect(inputsOf([frames], { size: [] }).inputs['size']).toEqual([]);
    expect(inputsOf([frames], { size: presetOf(frames) })).toEqual({ inputs: {}, problems: {} });
    expect(presetOf(anInput({ type: 'image[]', default: ['https://a.example/b.png'] }))).toEqual([
      'https://a.example/b.png',
    ]);
  });

  it('leaves empty fields out, so that their defaults count', () => {
    expect(inputsOf([anInput({ type: 'string' })], { size: '' })).toEqual({ inputs: {}, problems: {} });
  });

  it('gives back each default that it shows', () => {
    const presets = fc.oneof(
      fc.record({ type: fc.constant('integer' as const), default: fc.integer() }),
      fc.record({
        type: fc.constant('number' as const),
        default: fc.double({ noNaN: true, noDefaultInfinity: true }),
      }),
      fc.record({ type: fc.constant('boolean' as const), default: fc.boolean() }),
      fc.record({ type: fc.constant('string' as const), default: fc.string({ minLength: 1 }) }),
      fc.record({
        type: fc.constant('array' as const),
        default: fc.array(fc.oneof(fc.string(), fc.integer())),
      }),
    );
    fc.assert(
      fc.property(presets, (preset) => {
        const definition = anInput(preset);
        const { inputs } = inputsOf([definition], { size: presetOf(definition) });
        expect(JSON.stringify(inputs['size'])).toBe(JSON.stringify(preset.default));
      }),
    );
  });
});
