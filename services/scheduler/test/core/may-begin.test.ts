import { expect, it } from 'vitest';
import { TestBed } from './test-bed.ts';

it('registered and lost executors may begin runs, and not those that left or were replaced by another process', () => {
  const bed = new TestBed();
  bed.registerAs('old', 'a.000000000001');
  bed.lose('old');
  bed.registerAs('new', 'a.000000000002');
  bed.registerAs('left', 'b.000000000001');
  bed.leave('left');
  bed.registerAs('lost', 'c.000000000001');
  bed.lose('lost');
  bed.registerAs('idle', 'd.000000000001');
  expect(bed.scheduling.mayBegin().toSorted()).toEqual([
    'a.000000000002',
    'c.000000000001',
    'd.000000000001',
  ]);
});
