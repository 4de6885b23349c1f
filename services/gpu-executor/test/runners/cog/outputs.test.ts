import { parseJson } from '@runledger/contracts/json';
import { describe, expect, it } from 'vitest';
import { namesInOrder, readOutputs } from '../../../src/runners/cog/outputs.decide.ts';
import { fileMark } from '../../../src/runners/cog/split-answer.decide.ts';

const FILES = { nonce: 'n0nce', types: ['image/png', 'image/jpeg', 'application/x-none', ''] };
const file = (number: number): string => fileMark(FILES.nonce, number);

const read = (output: unknown, names: ReadonlyMap<number, string> = new Map()): unknown => {
  const { data, files } = readOutputs(output, FILES, names);
  return { data, files: files.map(({ number, path: place }) => [number, place.join('/')]) };
};

describe('the output of a prediction', () => {
  it.each([
    ['nothing', null, {}, []],
    ['a text', 'hello', { text: ['hello'] }, []],
    ['a number', 7, { json: ['7'] }, []],
    ['values of several types', ['a', 1, null], { json: ['"a"', '1', 'null'] }, []],
    ['a member without a value', { caption: null, json: { a: 1 } }, { json: ['{"a":1}'] }, []],
    [
      'numbers that no double holds',
      parseJson('[18446744073709551615, {"seed": 9007199254740993, "cfg": 4.0}]'),
      { json: ['18446744073709551615', '{"seed":9007199254740993,"cfg":4.0}'] },
      [],
    ],
    ['the parts of an iterator', ['a', 'b'], { text: ['a', 'b'] }, []],
    [
      'URLs',
      ['https://x.example/1.png', 'see https://x.example'],
      { urls: ['https://x.example/1.png'], text: ['see https://x.example'] },
      [],
    ],
    ['a file', file(0), {}, [[0, 'output.png']]],
    [
      'a list of files',
      [file(0), file(1)],
      {},
      [
        [0, 'output.0.png'],
        [1, 'output.1.jpg'],
      ],
    ],
    [
      'an object',
      { caption: 'cat', seed: 7, mask: file(0) },
      { caption: ['cat'], seed: ['7'] },
      [[0, 'mask.png']],
    ],
    [
      'files in objects',
      { masks: { left: file(0), right: [file(1)] } },
      {},
      [
        [0, 'masks/left.png'],
        [1, 'masks/right.0.jpg'],
      ],
    ],
    ['other JSON', { boxes: [{ x: 1, crop: file(0) }] }, { boxes: ['{"x":1}'] }, [[0, 'boxes.0/crop.png']]],
    [
      'a type without an extension',
      [file(2), file(3)],
      {},
      [
        [2, 'output.0.none'],
        [3, 'output.1'],
      ],
    ],
    [
      'names that are no file names',
      { '../a b': file(0), '.._a_b': file(0) },
      {},
      [
        [0, '__a_b.png'],
        [0, '__a_b-2.png'],
      ],
    ],
  ])('is %s', (_what, output, data, files) => {
    expect(read(output)).toEqual({ data, files });
  });

  it.each([
    ['alone', file(0), ['fox.jpeg'], ['fox.jpeg']],
    ['in a list, without its texts', ['a', file(0), 7, file(1)], ['z.png', 'a.jpg'], ['z.png', 'a.jpg']],
    ['twice', [file(0), file(1)], ['x.tar.gz', 'X.tar.gz'], ['x.tar.gz', 'X.tar-2.gz']],
    ['of no file', [file(0), file(1)], ['a\u202Eb.png', '..'], ['a_b.png', 'file']],
    ['of more files than there are', file(0), ['a.png', 'b.png'], ['a.png']],
    ['of some alone: nobody knows of which', [file(0), file(1)], ['a.png'], ['output.0.png', 'output.1.jpg']],
    [
      'of none in an object',
      { mask: file(0), more: [file(1)] },
      ['a.png', 'b.png'],
      ['mask.png', 'more.0.jpg'],
    ],
    ['of none in a list of objects', [{ mask: file(0) }, file(1)], ['b.jpg'], ['output.0/mask.png', 'b.jpg']],
  ])('has the names that its model gave, %s', (_what, output, names, places) => {
    expect(read(output, namesInOrder(output, FILES, names))).toMatchObject({
      files: places.map((place, number) => [number, place]),
    });
  });

  it.each([
    ['of one alone', { weights: file(1), mask: file(0) }, ['weights.jpg', 'lora.safetensors']],
    ['below others', { 'a/b': { left: file(0) }, c: [file(1)] }, ['a_b/lora.safetensors', 'c.0.jpg']],
    ['in a list of objects', [{ mask: file(0) }], ['output.0/lora.safetensors']],
  ])('has the name that is known of a file, %s', (_what, output, places) => {
    const { files } = readOutputs(output, FILES, new Map([[0, 'lora.safetensors']]));
    expect(files.map(({ path: place }) => place.join('/')).toSorted()).toEqual(places.toSorted());
  });
});
