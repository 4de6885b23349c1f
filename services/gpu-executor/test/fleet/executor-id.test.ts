import { isExecutorId } from '@runledger/contracts/ids';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { newExecutorId } from '../../src/fleet/executor-id.ts';

it('an executor id is the name and what is new with every start', () => {
  expect(newExecutorId('gpu box.example', () => Buffer.from('0a1b2c3d4e5f', 'hex'))).toBe(
    'gpu-box-example.0a1b2c3d4e5f',
  );
  expect(newExecutorId('box')).not.toBe(newExecutorId('box'));
});

it('any name gives an executor id', () => {
  fc.assert(fc.property(fc.string(), (name) => isExecutorId(newExecutorId(name))));
  expect(isExecutorId(newExecutorId('x'.repeat(300)))).toBe(true);
});
