import { isExecutorId } from '@runledger/contracts/ids';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { newExecutorId } from '../src/fleet-presence.ts';

it('makes an executor id of the name and a boot id', () => {
  expect(newExecutorId('gpu box.example', () => Buffer.from('0a1b2c3d4e5f', 'hex'))).toBe(
    'gpu-box-example.0a1b2c3d4e5f',
  );
  expect(newExecutorId('box')).not.toBe(newExecutorId('box'));
});

it('makes a valid executor id of any name', () => {
  fc.assert(fc.property(fc.string(), (name) => isExecutorId(newExecutorId(name))));
  expect(isExecutorId(newExecutorId('x'.repeat(300)))).toBe(true);
});
