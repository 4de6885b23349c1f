import { aRun, assigned, queued } from '@runledger/testing/events/run-events';
import { describe, expect, it } from 'vitest';
import { recentRequests } from '../../src/log/recent-requests.ts';

const aRequest = (text: string) => queued(aRun(), { inputs: { text } });

describe('the requests of runs that wait', () => {
  it('are kept until the next fact of their run', () => {
    const requests = recentRequests();
    const [key, other] = [aRun(), aRequest('other')];
    requests.take(queued(key, { inputs: { text: 'a' } }), 1);
    requests.take(other, 2);
    expect(requests.inputsOf(1)).toMatchObject({ inputs: { text: 'a' }, inputs_blob: null });
    requests.take(assigned(key), 1);
    expect(requests.inputsOf(1)).toBeUndefined();
    expect(requests.inputsOf(2)).toMatchObject({ inputs: { text: 'other' } });
  });

  it('are kept for the first ones only, when more wait than there is room for', () => {
    const requests = recentRequests(2);
    for (const number of [1, 2, 3]) requests.take(aRequest(`${number}`), number);
    expect([1, 2, 3].map((number) => requests.inputsOf(number)?.inputs)).toEqual([
      { text: '1' },
      { text: '2' },
      undefined,
    ]);
    requests.take(assigned(aRun()), 1);
    requests.take(aRequest('4'), 4);
    expect(requests.inputsOf(4)?.inputs).toEqual({ text: '4' });
  });
});
