import { aRun, assigned, queued } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { recentRequests } from '../src/follow-runs.ts';

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

  it('are kept for the first and for the last ones, when more wait than there is room for', () => {
    const requests = recentRequests({ first: 2, last: 2 });
    const textsOf = (numbers: readonly number[]) =>
      numbers.map((number) => requests.inputsOf(number)?.inputs?.['text']);
    for (const number of [1, 2, 3, 4, 5]) requests.take(aRequest(`${number}`), number);
    expect(textsOf([1, 2, 3, 4, 5])).toEqual(['1', '2', undefined, '4', '5']);
    requests.take(assigned(aRun()), 1);
    requests.take(assigned(aRun()), 4);
    for (const number of [6, 7]) requests.take(aRequest(`${number}`), number);
    expect(textsOf([1, 2, 4, 5, 6, 7])).toEqual([undefined, '2', undefined, '5', '6', '7']);
  });
});
