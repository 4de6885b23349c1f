import { describe, expect, it } from 'vitest';
import { attemptFailed, cancelRequested, passed, queued, running } from './steps.ts';
import { given } from './test-bed.ts';

describe('a run whose attempt failed', () => {
  const failed = [...running('one', 'box', { startDeadlineS: 10 }), attemptFailed('one', 4)];

  it('is assigned again only after its wait', () => {
    expect(given(...failed).when(passed(3_500, 'box'))).toEqual([]);
    expect(given(...failed).when(passed(4_500, 'box'))).toEqual([expect.stringContaining('one')]);
  });

  it('holds no slot while it waits', () => {
    expect(given(...failed).when(queued('two'))).toEqual([expect.stringContaining('two')]);
  });

  it('is assigned at the tick at which another one is assigned again too', () => {
    const both = [
      ...running('one', 'box'),
      ...running('two', 'den'),
      attemptFailed('two', 4.1),
      attemptFailed('one', 4.2),
    ];
    expect(given(...both).when(passed(4_500, 'box', 'den'))).toEqual([
      expect.stringContaining('one'),
      expect.stringContaining('two'),
    ]);
  });

  it('is not assigned after a cancel', () => {
    expect(given(...failed, cancelRequested('one')).when(passed(4_500, 'box'))).toEqual([]);
  });
});
