import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { BlobRef, inlineOrBlob } from '../src/blobs.ts';

const Inputs = Type.Object(
  {
    inputs: Type.Union([Type.Object({}), Type.Null()]),
    inputs_blob: Type.Union([BlobRef, Type.Null()]),
  },
  inlineOrBlob('inputs', 'inputs_blob'),
);
const reference = { sha256: 'a'.repeat(64), bytes: 5_000 };

describe('a value that is in a record or a blob', () => {
  it.each([
    ['inline', { inputs: {}, inputs_blob: null }],
    ['a blob', { inputs: null, inputs_blob: reference }],
  ])('is %s', (_what, value) => {
    expect(Value.Check(Inputs, value)).toBe(true);
  });

  it.each([
    ['both', { inputs: {}, inputs_blob: reference }],
    ['neither', { inputs: null, inputs_blob: null }],
    ['a blob without a size', { inputs: null, inputs_blob: { sha256: reference.sha256 } }],
    ['a blob with another hash', { inputs: null, inputs_blob: { sha256: 'A'.repeat(64), bytes: 1 } }],
  ])('is not %s', (_what, value) => {
    expect(Value.Check(Inputs, value)).toBe(false);
  });
});
