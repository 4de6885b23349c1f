import { WARNING_HEADER, IGNORED_MEMBERS_HEADER } from '@runledger/contracts/http/headers';
import { expect, it } from 'vitest';
import { aFakeService, json } from '../fixtures/fake-service.ts';

const warningsOf = async (header: string, value: string, status = 200): Promise<string[]> => {
  const warnings: string[] = [];
  const answer = json({ id: 'r1', detail: 'no' }, status, { [header]: value });
  const { client } = aFakeService([answer], { onWarning: (sentence) => warnings.push(sentence), retries: 0 });
  await client.runs.get('r1').catch(() => undefined);
  return warnings;
};

it('onWarning is told what the service ignored in a request, also in one that it refused', async () => {
  const sentences = ['unknown body member "x"; did you mean "y"?', 'unknown query parameter "z"'];
  const said = [`${sentences[0]} The service ignored it.`, `${sentences[1]}. The service ignored it.`];
  expect(await warningsOf(WARNING_HEADER, sentences.join(', '))).toEqual(said);
  expect(await warningsOf(WARNING_HEADER, sentences.join(', '), 422)).toEqual(said);
});

it('onWarning is told what an earlier release ignored', async () => {
  expect(await warningsOf(IGNORED_MEMBERS_HEADER, 'inputz, retry.attemps')).toEqual([
    'the service does not know these members of the request, and ignored them: inputz, retry.attemps. It may be of an earlier release.',
  ]);
});
