import fc from 'fast-check';
import { Compile } from 'typebox/compile';
import { describe, expect, it } from 'vitest';
import { GpuModel, gpuModel, parseGpuModel, GpuName } from '../src/gpu.ts';

const model = Compile(GpuModel);
const requested = Compile(GpuName);
const aName = fc.oneof(
  fc.string(),
  fc.string({ unit: 'grapheme' }),
  fc.stringMatching(/^[A-Za-z0-9._ -]{1,45}$/),
);

describe('a GPU model', () => {
  it.each([
    ['RTX4090', 'RTX4090'],
    ['rtx4090', 'RTX4090'],
    ['a100-80gb', 'A100-80GB'],
    ['My_card.v2', 'MY_CARD.V2'],
    ['9', '9'],
  ])('of the name %s is %s', (name, expected) => expect(parseGpuModel(name)).toBe(expected));

  it.each(['', ' RTX4090', 'RTX 4090', '-A', '.A', 'A*', 'A>', 'A\n', 'é', 'A'.repeat(41)])(
    'is not %j',
    (name) => {
      expect(parseGpuModel(name)).toBeUndefined();
      expect(requested.Check(name)).toBe(false);
      expect(() => gpuModel(name)).toThrow('is not a GPU model');
    },
  );

  it('is what every name that a request may have gives, and is its own name', () => {
    fc.assert(
      fc.property(aName, (name) => {
        const parsed = parseGpuModel(name);
        expect(requested.Check(name) ? model.Check(parsed) : true).toBe(true);
        expect(parsed && parseGpuModel(parsed)).toBe(parsed);
      }),
    );
  });
});
