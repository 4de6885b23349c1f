import { describe, expect, it } from 'vitest';
import { runFilterIn, withMember } from '../src/runs/run-filter.ts';

describe('the filter in an address', () => {
  it('is read with one value or several', () => {
    expect(runFilterIn({ status: 'failed', tag: ['a', 'b'], gpu: 'A10G' })).toEqual({
      status: ['failed'],
      tag: ['a', 'b'],
      gpu: 'A10G',
    });
    expect(runFilterIn({ search: 4711 })).toEqual({ search: '4711' });
  });

  it('is without what the API would refuse', () => {
    expect(
      runFilterIn({
        status: ['failed', 'nonsense'],
        deployment_id: 'x',
        tag: [1, ''],
        unknown: 'y',
        search: '',
      }),
    ).toEqual({ status: ['failed'] });
  });

  it('loses a member that becomes empty', () => {
    expect(withMember({ status: ['failed'], gpu: 'A10G' }, 'status', [])).toEqual({ gpu: 'A10G' });
    expect(withMember({}, 'gpu', 'H100')).toEqual({ gpu: 'H100' });
  });
});
